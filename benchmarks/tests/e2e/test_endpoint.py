"""Claude Code on an endpoint that somebody else runs: what it costs is what was served, whatever was served."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, check_witness, needs_agent
from swetrials.records.outcome import OutcomeKind
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.scenario import Fault
from swetrials.store.documents import load_document
from swetrials.store.results import TrialFolder

pytestmark = [pytest.mark.slow, needs_agent("claude")]

KEY, PRICED, UNPRICED = "key-of-the-endpoint", "claude-opus-4-5", "made-up-1"
SCENARIO = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)


@contextmanager
def endpoint(model: str, scenario: Scenario = SCENARIO) -> Iterator[RehearsalServer]:
    """Serve a model on loopback, as a gateway would."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(scenario, model=model)) as server,
    ):
        yield server


def words(server: RehearsalServer, model: str, *more: str) -> list[str]:
    route = ["--provider", "endpoint", "--endpoint", server.base_url, "--model", model]
    return ["run", *route, "--dataset", str(QUICKSTART), "--skip-probe", *more]


@pytest.mark.parametrize("hour", [False, True], ids=["5 minutes", "1 hour"])
def test_the_figures_are_what_was_served_and_tell_how_long_caches_are_kept(tmp_path: Path, hour: bool) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": KEY})
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"env": {"ENABLE_PROMPT_CACHING_1H": str(int(hour))}}))
    with endpoint(PRICED) as server:
        tasks = ["--tasks", "word-tally", "--tasks", "temperature-table"]
        done = place.run(*words(server, PRICED, "--settings-file", str(settings), *tasks))
        assert done.returncode == 0, done.stdout + done.stderr
        served = {
            task: [request.usage for request in server.requests if request.script == f"task_id: {task}"]
            for task in place.records()
        }
        assert {request.api_key for request in server.requests} == {KEY}
    for task, record in place.records().items():
        truth = served[task][0]
        for usage in served[task][1:]:
            truth += usage
        told = record.usage
        check_witness(told.reported, truth)
        check_witness(told.metered, truth)
        assert (told.source, told.headline) == ("metered", told.metered)
        written = told.headline.usage
        assert truth.cache_read and truth.cache_write and truth.fresh_input and truth.output
        assert (written.cache_write_5m, written.cache_write_1h) == (
            (0, truth.cache_write) if hour else (truth.cache_write, 0)
        )
        assert [line.bucket for line in record.cost.lines if line.bucket.startswith("cache_write")] == [
            "cache_write_1h" if hour else "cache_write_5m"
        ]
        assert record.findings == ()


SAID = {
    "input_tokens": 3_000,
    "cache_read_input_tokens": 50_000,
    "cache_creation_input_tokens": 0,
    "output_tokens": 4_000,
}
"""0.14 dollars of Claude Opus."""


@pytest.mark.parametrize(
    ("model", "besides", "dollars", "status", "codes"),
    [
        ("claude-opus-4-5", {"server_tool_use": {"web_search_requests": 50}}, 0.50, "complete", {"server_tools"}),
        ("claude-opus-4-6", {"speed": "fast"}, 0.84, "complete", set()),
        ("claude-opus-4-7", {"speed": "fast"}, 0.14, "lower_bound", {"cost_disagrees"}),
        ("claude-opus-4-6", {"service_tier": "priority"}, 0.14, "lower_bound", set()),
    ],
    ids=["searches", "fast", "fast without a price", "priority"],
)
def test_what_an_answer_says_of_its_price_is_on_the_bill(
    tmp_path: Path, model: str, besides: dict[str, object], dollars: float, status: str, codes: set[str]
) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": KEY})
    told = {"usage_as": {**SAID, **besides}, "usage_at_start_as": {**SAID, **besides}}
    scripts = [
        script.model_copy(update={"steps": (script.steps[0].model_copy(update=told), *script.steps[1:])})
        for script in SCENARIO.scripts
    ]
    with endpoint(model, SCENARIO.model_copy(update={"scripts": tuple(scripts)})) as server:
        done = place.run(*words(server, model, "--tasks", "word-tally"))
    assert done.returncode == 0, done.stdout + done.stderr
    [record] = place.records().values()
    cost = record.cost
    special = [line.amount_usd for line in cost.lines if line.terms] + [use.amount_usd for use in cost.uses]
    assert sum(amount or 0 for amount in special) == pytest.approx(dollars)
    assert cost.status == status
    assert {finding.code for finding in record.findings} == codes
    if status == "complete":  # the agent knows these prices, too
        assert cost.amount_usd == pytest.approx(cost.reported_usd)


def test_a_model_without_a_price_has_no_cost_and_is_named(tmp_path: Path) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": KEY})
    with endpoint(UNPRICED) as server:
        done = place.run(*words(server, UNPRICED, "--tasks", "word-tally"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"unknown; no price is known for {UNPRICED}" in done.stdout
    [record] = place.records().values()
    assert (record.total_cost_usd, record.cost.amount_usd, record.cost.status) == (None, None, "unknown")
    assert UNPRICED in record.cost.note
    scope = place.results / UNPRICED / "claude-code" / "swe3" / "quickstart"
    assert UNPRICED in json.loads((scope / "run-summary.json").read_text())["cost"]["note"]
    assert f"no price is known for {UNPRICED}" in (scope / "run-summary.md").read_text()

    with endpoint(PRICED) as server:
        assert place.run(*words(server, PRICED, "--tasks", "word-tally")).returncode == 0
    priced = TrialFolder(place.results / PRICED / "claude-code" / "swe3" / "quickstart" / "word-tally").metrics()
    assert priced.cost.amount_usd and priced.cost.source.startswith("genai-prices")
    told = place.command("cost", str(place.results)).stdout
    assert f"2 trials: at least ${priced.cost.amount_usd:,.4f}; no price for 1 of them" in told
    assert f"no price is known for {UNPRICED}" in told


def test_a_price_of_ones_own_says_so_and_a_trial_of_unknown_cost_makes_the_sum_an_at_least(tmp_path: Path) -> None:
    hung = Fault(kind=FaultKind.HANG_BEFORE_HEADERS)
    scripts = [
        script.model_copy(update={"fault": hung}) if script.when == "task_id: slugify-unicode" else script
        for script in SCENARIO.scripts
    ]
    half = SCENARIO.model_copy(update={"scripts": tuple(scripts)})
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": KEY})
    with endpoint(PRICED, half) as server:
        tasks = ["--tasks", "word-tally", "--tasks", "slugify-unicode"]
        limits = ["--idle-timeout-seconds", "15", "--max-retries", "0"]
        done = place.run(*words(server, PRICED, *tasks, *limits))
    assert done.returncode == 1, done.stdout + done.stderr
    records = place.records()
    assert records["slugify-unicode"].outcome.kind is OutcomeKind.PROVIDER_ERROR
    assert records["slugify-unicode"].cost.amount_usd is None
    amount = records["word-tally"].cost.amount_usd
    assert amount
    scope = place.results / PRICED / "claude-code" / "swe3" / "quickstart"
    assert f"at least ${amount:,.4f}" in (scope / "run-summary.md").read_text()
    assert f"at least ${amount:,.4f}" in done.stdout
    assert f"2 trials: at least ${amount:,.4f}" in place.command("cost", str(scope)).stdout

    prices = tmp_path / "pricing.yaml"
    prices.write_text(
        f'schema_version: "1.0"\ntokens:\n  - {{models: [{PRICED}], providers: [endpoint], fresh_input: 1,\n'
        "     cache_read: 1, cache_write_5m: 1, output: 1, source: our contract, date: 2026-12}\n"
    )
    again = place.command("cost", str(scope), "--reprice", "--prices", str(prices))
    assert again.returncode == 0, again.stdout + again.stderr
    record = place.records()["word-tally"]
    assert record.cost.source.endswith("pricing.yaml (our contract)")
    assert record.cost.amount_usd == pytest.approx((record.usage.headline.usage.total or 0) / 1e6)
    assert record.usage == records["word-tally"].usage
