"""``swetrials cost``: a figure explained, and records at other prices with everything else untouched."""

from pathlib import Path

import orjson
import pytest

from swetrials.cli.cost import explain, reprice_folder
from swetrials.errors import UsageError
from swetrials.pricing.book import PriceBook
from swetrials.pricing.hardware import Rent
from swetrials.records.cost import Cost
from swetrials.records.metrics import AttemptRecord, Metrics, Provenance, TimeSplit, TrialIdentity
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.requests import BilledPart, PriceTerms, RequestsBlock
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.store.documents import DocumentError
from swetrials.store.files import RecordError, write_record
from swetrials.store.project import find_project

BOOK = PriceBook.load(find_project().root / "config" / "pricing.yaml")
USAGE = Usage(fresh_input=1_000_000, cache_read=0, cache_write=0, output=1_000_000)
REPORT = UsageReport(usage=USAGE, completeness="complete")
FAST = BilledPart(
    model="claude-opus-5",
    terms=PriceTerms(speed="fast", server_tools={"web_search_requests": 50}),
    calls=1,
    usage=REPORT,
)
OTHER_PRICES = """\
schema_version: "1.0"
tokens:
  - {models: [claude-opus-5], providers: [endpoint], fresh_input: 1, output: 2, source: contract, date: 2026-12}
"""


def priced(model: str, provider: str, completeness: str = "complete") -> Cost:
    report = UsageReport.model_validate({"usage": USAGE, "completeness": completeness})
    cost = BOOK.token_cost(report, model, provider, None)
    return cost.model_copy(update={"reported_usd": 99.0})


def block(by_model: dict[str, Usage]) -> UsageBlock:
    report = UsageReport(usage=USAGE, completeness="complete")
    return UsageBlock(headline=report, source="metered", metered=report, by_model=by_model)


def attempt(number: int, cost: Cost, by_model: dict[str, Usage]) -> AttemptRecord:
    return AttemptRecord(
        id=f"a{number}",
        number=number,
        reason="first" if number == 1 else "topup",
        started_at="2026-11-29T10:00:00+00:00",
        ended_at="2026-11-29T10:01:40+00:00",
        outcome=Outcome.of(OutcomeKind.COMPLETED),
        usage=block(by_model),
        cost=cost,
        time=TimeSplit(wall_seconds=100),
    )


def record(folder: Path, model: str, provider: str, *parts: Cost, by_model: dict[str, Usage] | None = None) -> Path:
    """Write the record of a trial with one attempt for each cost, and return its file."""
    attempts = tuple(attempt(number, cost, by_model or {}) for number, cost in enumerate(parts, 1))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    metrics = Metrics(
        task=folder.name,
        repo="https://example.com/x.git",
        ref="main",
        complexity="low",
        model=model,
        model_slug="m",
        agent="claude-code",
        skill="swe3",
        provider=provider,
        run_started_at="2026-11-29T10:00:00+00:00",
        total_cost_usd=total.amount_usd,
        trial=TrialIdentity(id="t", scope="s", dataset="d", dataset_sha256="0", task_sha256="0", rehearsal=False),
        usage=block(by_model or {}),
        cost=total,
        cost_winning_attempt=parts[-1],
        outcome=Outcome.of(OutcomeKind.COMPLETED),
        attempts=attempts,
        provenance=Provenance(
            harness_version="0",
            skill_sha256="0",
            prompt_sha256="0",
            sandbox="none",
            permission_mode="default",
            python_version="3",
            platform="x",
        ),
    )
    write_record(folder / "metrics.json", metrics)
    return folder / "metrics.json"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three trials: one priced with a top-up, one of a model nobody knows, one free."""
    opus = priced("claude-opus-5", "endpoint")
    record(tmp_path / "priced", "claude-opus-5", "endpoint", opus, opus)
    record(tmp_path / "strange", "nobodys-model", "bedrock", priced("nobodys-model", "bedrock"))
    record(tmp_path / "free", "rehearsal", "rehearsal", Cost(amount_usd=0, basis="free", status="complete"))
    return tmp_path


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(OTHER_PRICES, encoding="utf-8")
    return path


def test_a_figure_is_explained_line_by_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(tree / "priced", as_json=False) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "tokens: 2,000,000, complete, witness: metered" in text
    assert "attempt 2 (topup, completed): 2,000,000, complete, witness: metered" in text
    line = "claude-opus-5 output 1,000,000 x $25 / 1M = $ 25.0000 genai-prices 0.2.3 (anthropic), 2026-11-10"
    assert text.count(line) == 2
    assert "reported by the agent: $99.0000 (never used as the cost)" in text
    assert "= $60.0000 (metered, complete; genai-prices 0.2.3 (anthropic), 2026-11-10)" in text


def test_a_total_with_an_unknown_part_is_an_at_least(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(tree, as_json=False) == 0
    out = capsys.readouterr().out
    assert "no price is known for nobodys-model (provider bedrock)" in out
    *_, total, remedy = out.splitlines()
    assert total == "3 trials: at least $60.0000; no price for 1 of them"
    assert remedy == f"what has no price wants a row in config/pricing.yaml; then: swetrials cost {tree} --reprice"


def test_the_explanation_as_json(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(tree, as_json=True) == 0
    data = orjson.loads(capsys.readouterr().out)
    assert [trial["trial"] for trial in data["trials"]] == ["free", "priced", "strange"]
    assert [trial["cost"]["amount_usd"] for trial in data["trials"]] == [0, 60, None]
    assert (data["total"]["amount_usd"], data["total"]["status"]) == (60, "lower_bound")


def without_costs(path: Path) -> bytes:
    """Return a record's bytes as they are once its costs are taken out."""
    data = orjson.loads(path.read_bytes())
    for name in ("cost", "cost_winning_attempt", "total_cost_usd"):
        del data[name]
    for attempt in data["attempts"]:
        del attempt["cost"]
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def test_other_prices_change_costs_and_nothing_else(
    tree: Path, prices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted(tree.glob("*/metrics.json"))
    before = {path: without_costs(path) for path in files}
    untouched = {path: path.read_bytes() for path in files if path.parent.name != "priced"}

    assert reprice_folder(tree, prices, None, as_json=False) == 0

    assert {path: without_costs(path) for path in files} == before
    assert {path: path.read_bytes() for path in untouched} == untouched
    data = orjson.loads((tree / "priced" / "metrics.json").read_bytes())
    assert data["total_cost_usd"] == data["cost"]["amount_usd"] == 6
    assert data["cost_winning_attempt"]["amount_usd"] == data["attempts"][0]["cost"]["amount_usd"] == 3
    assert data["cost"]["reported_usd"] == 198
    assert data["cost"]["price_date"] == "2026-12"
    assert sorted(path.name for path in (tree / "priced").iterdir()) == ["metrics.json"]
    out = capsys.readouterr().out
    assert "priced: $60.0000 -> $6.0000 (metered, complete;" in out
    assert "1 of 3 trials changed: at least $60.0000 -> at least $6.0000" in out


def test_pricing_twice_alike_changes_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tree / "priced" / "metrics.json"
    before = path.read_bytes()
    assert reprice_folder(tree, None, None, as_json=False) == 0
    assert path.read_bytes() == before
    assert "0 of 3 trials changed" in capsys.readouterr().out


def test_subagents_on_another_model_keep_their_rates(tmp_path: Path, prices: Path) -> None:
    haiku = Usage(fresh_input=600_000, cache_read=0, cache_write=0, output=0)
    old = priced("claude-opus-5", "endpoint")
    path = record(tmp_path / "mixed", "claude-opus-5", "endpoint", old, by_model={"claude-haiku-4-5": haiku})
    prices.write_text(OTHER_PRICES.replace("[claude-opus-5]", "[claude-opus-5, claude-haiku-4-5]"), encoding="utf-8")

    assert reprice_folder(tmp_path, prices, None, as_json=False) == 0

    lines = orjson.loads(path.read_bytes())["cost"]["lines"]
    assert [(line["model"], line["bucket"], line["tokens"]) for line in lines] == [
        ("claude-haiku-4-5", "fresh_input", 600_000),
        ("claude-opus-5", "fresh_input", 400_000),
        ("claude-opus-5", "output", 1_000_000),
    ]


def test_a_self_hosted_trial_is_priced_by_its_machine_alone(tmp_path: Path) -> None:
    path = record(tmp_path / "own", "qwen3-coder-30b", "vllm", Cost(note="no price"))
    before = path.read_bytes()
    assert reprice_folder(tmp_path, None, None, as_json=False) == 0
    assert path.read_bytes() == before

    rent = Rent(dollars_per_hour=36, share_of_box=0.5, concurrency=4, tokens_per_second=40_000)
    assert reprice_folder(tmp_path, None, rent, as_json=False) == 0

    cost = orjson.loads(path.read_bytes())["cost"]
    assert (cost["basis"], cost["amount_usd"], cost["high_usd"]) == ("hardware", 0.25, 0.5)
    # The throughput is in the record now, and other rates need it no more.
    assert reprice_folder(tmp_path, None, Rent(72, 0.5, 4), as_json=False) == 0
    assert orjson.loads(path.read_bytes())["cost"]["amount_usd"] == 0.5


def test_the_stale_summary_is_named(tree: Path, prices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "run-summary.json").write_text("{}")
    reprice_folder(tree, prices, None, as_json=False)
    assert f"swetrials summarize --folder {tree}" in capsys.readouterr().out


def test_nothing_is_written_when_one_record_cannot_be_read(tree: Path, prices: Path) -> None:
    before = (tree / "priced" / "metrics.json").read_bytes()
    (tree / "strange" / "metrics.json").write_text("{")
    with pytest.raises(RecordError, match="strange"):
        reprice_folder(tree, prices, None, as_json=False)
    assert (tree / "priced" / "metrics.json").read_bytes() == before


def test_what_the_answers_said_of_their_price_is_shown_and_priced_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(tmp_path / "fast", "claude-opus-5", "endpoint", Cost())
    data = orjson.loads(path.read_bytes())
    data["attempts"][0]["requests"] = RequestsBlock(usage=REPORT, parts=(FAST,)).model_dump(mode="json")
    path.write_bytes(orjson.dumps(data))

    assert reprice_folder(tmp_path, None, None, as_json=False) == 0

    cost = orjson.loads(path.read_bytes())["attempts"][0]["cost"]
    assert (cost["amount_usd"], cost["status"]) == (10 + 50 + 0.5, "complete")
    explain(tmp_path, as_json=False)
    text = " ".join(capsys.readouterr().out.split())
    assert "claude-opus-5 (speed fast) output 1,000,000 x $50 / 1M = $ 50.0000" in text
    assert "claude-opus-5 web_search_requests 50 uses x $10 / 1,000 = $ 0.5000 genai-prices" in text


def test_a_range_is_shown_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = Cost(amount_usd=0.0075, basis="metered", status="lower_bound", low_usd=0.0075, high_usd=0.03)
    record(tmp_path / "open", "gpt-5", "endpoint", cost)
    assert explain(tmp_path, as_json=False) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 trial: $0.0075 to $0.0300"


def test_bad_input_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such folder; name a results folder"):
        explain(tmp_path / "nowhere", as_json=False)
    with pytest.raises(DocumentError, match="no such file"):
        reprice_folder(tree, tmp_path / "none.yaml", None, as_json=False)
