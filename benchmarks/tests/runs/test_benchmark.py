"""Running a plan: every check before anything is spent, and the record that decides what runs again."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from hosting.server import Answer, Server, json_answer, models, plain
from kinds import first_is_quick
from runs.prepared_runs import QUICK, K, Watcher, bench_of, earlier, finished, run, yard_beside
from swetrials.errors import UsageError
from swetrials.pricing.book import PriceBook
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.cost import Cost
from swetrials.records.dataset import Verify
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.limits import Limits
from swetrials.records.lock import JudgePin, RunLock
from swetrials.records.metrics import Metrics
from swetrials.runs.benchmark import PreflightError, RunOptions, run_plan
from swetrials.runs.preflight import probe
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.results import TRASH, TrialFolder
from trials.stand_in import SAID, SECRET, WHOLE, Yard

AS_GIVEN: dict[str, Any] = {"timeout_seconds": 30, "allowed_tools": ("Read",)}
"""The limits that a yard sets."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.answer = models("some-model")
    yield server
    server.close()


@pytest.fixture
def yard(tmp_path: Path, server: Server) -> Yard:
    return yard_beside(server, tmp_path)


def test_a_sound_run_passes_every_check_and_its_probe(yard: Yard) -> None:
    watcher = Watcher()
    result = run(bench_of(yard), RunOptions(), watcher)
    assert [record.outcome.kind for record in result.made] == [K.COMPLETED]
    names = {check.name for check in watcher.checks}
    assert names >= {
        "agent",
        "git",
        "environment",
        "disk",
        "settings",
        "dataset",
        "repository",
        "endpoint",
        "model",
        "probe",
    }
    assert {check.name: check.status for check in watcher.checks}["probe"] == "ok"
    assert watcher.failed() == {}


Spoil = Callable[[Yard, Server], dict[str, Any]]


def _no_repository(yard: Yard, server: Server) -> dict[str, Any]:
    (yard.root / "upstream").rename(yard.root / "gone")
    return {}


def _no_ref(yard: Yard, server: Server) -> dict[str, Any]:
    yard.write_dataset(ref="v9")
    return {}


def _key_refused(yard: Yard, server: Server) -> dict[str, Any]:
    server.answer = plain(401, b"no", "text/plain")
    return {}


def _no_agent(yard: Yard, server: Server) -> dict[str, Any]:
    (yard.root / "project" / ".tools" / "stand-in" / "sh").unlink()
    return {}


def _earlier_trial(yard: Yard, server: Server) -> dict[str, Any]:
    earlier(yard, "task-1", finished(yard, "task-1"))
    return {}


@pytest.mark.parametrize(
    ("spoil", "name", "told"),
    [
        (_no_repository, "repository", "task-1"),
        (_no_ref, "repository", "v9"),
        (_key_refused, "endpoint", "SWETRIALS_API_KEY"),
        (_no_agent, "agent", "swetrials agents install stand-in"),
        (_earlier_trial, "results", "--resume"),
        (lambda yard, server: {"model": "another"}, "model", "some-model"),
        (lambda yard, server: {"settings_file": str(yard.root / "absent.json")}, "settings", "absent.json"),
    ],
)
def test_a_failed_check_ends_it_before_anything_is_spent(
    yard: Yard, server: Server, spoil: Spoil, name: str, told: str
) -> None:
    prepared = bench_of(yard, **spoil(yard, server))
    before = {path for path in yard.results.rglob("*") if path.is_file()}
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(prepared, RunOptions(), watcher)
    assert list(watcher.failed()) == [name]
    assert told in watcher.failed()[name].detail + watcher.failed()[name].fix
    assert watcher.failed()[name].fix
    assert watcher.seen == []
    assert {path for path in yard.results.rglob("*") if path.is_file() and path.name != ".lock"} == before


def test_a_limit_that_is_not_kept_is_told_before_anything_is_spent(yard: Yard) -> None:
    watcher, prepared = Watcher(), bench_of(yard)
    limited = EnvironmentSpec(network="open", memory_gb=2)
    dataset = replace(yard.dataset(), dataset=yard.dataset().dataset.model_copy(update={"environment": limited}))
    run(replace(prepared, plan=replace(prepared.plan, dataset=dataset)), QUICK, watcher)
    told = {check.name: check for check in watcher.checks}["limits"]
    assert told.status == "warning" and "host cannot hold commands to the dataset's memory_gb" in told.detail


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'unknown option' >&2; exit 2", "unknown option"),
        ('cat "$RECORDED/err429.jsonl"', "rate_limited"),
        (f"echo 'bad key {SECRET}' >&2; exit 1", "[redacted]"),
    ],
)
def test_a_probe_that_fails_ends_it(yard: Yard, script: str, told: str) -> None:
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard, script), RunOptions(), watcher)
    assert list(watcher.failed()) == ["probe"]
    assert told in watcher.failed()["probe"].detail
    assert SECRET not in watcher.failed()["probe"].detail
    assert watcher.seen == []


def test_an_agent_whose_shell_is_not_proved_is_not_probed(yard: Yard) -> None:
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard, f"echo 'bad key {SECRET}' >&2; exit 1", allowed_tools=["Bash"]), RunOptions(), watcher)
    assert list(watcher.failed()) == ["shell"]
    assert watcher.failed()["shell"].detail.endswith("exit code 1: bad key [redacted]")
    assert "probe" not in {check.name for check in watcher.checks}


def test_a_route_is_proved_by_an_answer_that_calls_a_tool(yard: Yard) -> None:
    # With one turn the agent ends at its limit. The probe leaves no artifacts, so the trial itself is not of interest.
    script = 'cat "$RECORDED/maxturns.jsonl"'
    watcher = Watcher()
    run(bench_of(yard, script), RunOptions(), watcher)
    [found] = [check for check in watcher.checks if check.name == "probe"]
    assert found.status == "ok", found.detail


CALLING = 'curl -s "$ROUTE/v1/messages" -d "{}" > answer.json\n'


def says(model: str, **usage: int) -> Answer:
    """Answer a call as a model of this name, and tell everybody else that some-model is served."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        whole = {"type": "message", "model": model, "stop_reason": "end_turn", "content": [], "usage": usage}
        (json_answer(whole) if handler.command == "POST" else models("some-model"))(handler)

    return answer


def probed(prepared: PreparedRun) -> Check:
    async def go() -> Check:
        async with prepared.provider.open(prepared.config) as hosting:
            return await probe(prepared, prepared.context(hosting, keep_checkouts=False))

    return anyio.run(go)


@pytest.mark.parametrize("served", ["some-model", "another-model"])
def test_the_probe_tells_which_model_answered(yard: Yard, server: Server, served: str) -> None:
    server.answer = says(served, input_tokens=30, output_tokens=4)
    check = probed(bench_of(yard, CALLING + SAID, meter=True))
    if served == "some-model":
        assert (check.status, check.detail[:19]) == ("ok", "some-model answered")
    else:
        told = "some-model was asked for, and the answers are from another-model"
        assert (check.status, check.detail) == ("warning", told)
        assert "--model" in check.fix


def test_an_answer_that_the_agent_alone_tells_of_proves_nothing_where_there_is_a_meter(
    yard: Yard, server: Server
) -> None:
    check = probed(bench_of(yard, SAID, meter=True))
    told = "the agent says that it was answered, and the meter saw no answer of a model"
    assert (check.status, check.detail[: len(told)]) == ("failed", told)
    server.answer = says("some-model", input_tokens=30, output_tokens=0)
    assert probed(bench_of(yard, CALLING + SAID, meter=True)).status == "failed"


def test_without_a_meter_the_probe_does_not_say_who_answered(yard: Yard) -> None:
    check = probed(bench_of(yard, SAID, meter=False))
    assert (check.status, check.detail[:37]) == ("ok", "answered, by which model nobody saw, ")


def test_what_a_failed_probe_has_cost_is_what_the_meter_saw(yard: Yard, server: Server) -> None:
    failing = f'{CALLING}cat "$RECORDED/err429.jsonl"'
    zeros = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    server.answer = says("some-model", input_tokens=30_000, output_tokens=4, **zeros)
    check = probed(bench_of(yard, failing, meter=True))
    assert check.status == "failed"
    assert check.detail.endswith("; the probe was billed: 30,004 tokens")
    server.answer = says("some-model", input_tokens=30_000)
    assert probed(bench_of(yard, failing, meter=True)).detail.endswith("billed: at least 30,000 tokens")


def test_a_pre_flight_that_made_a_billed_call_does_not_say_that_nothing_was_spent(yard: Yard) -> None:
    with pytest.raises(PreflightError, match="nothing was spent but for a billed probe"):
        run(bench_of(yard, 'cat "$RECORDED/err429.jsonl"'), RunOptions())
    with pytest.raises(PreflightError, match=r"nothing was run, nothing was spent$"):
        run(bench_of(yard, model="another"), RunOptions())


AGAIN: dict[str, Callable[[Yard, str], Metrics | bytes | None]] = {
    "no-record": lambda yard, task: None,
    "torn": lambda yard, task: orjson.dumps(finished(yard, task).model_dump(mode="json"))[:-40],
    "foreign": lambda yard, task: b'{"accuracy": 0.93}',
    "interrupted": lambda yard, task: finished(yard, task, K.INTERRUPTED),
    "rate-limited": lambda yard, task: finished(yard, task, K.RATE_LIMITED),
    "no-checkout": lambda yard, task: finished(yard, task, K.CHECKOUT_FAILED),
    "idle": lambda yard, task: finished(yard, task, K.IDLE),
    "not-begun": lambda yard, task: finished(yard, task, K.BUDGET_SPENT),
    "failed-of-another-version": lambda yard, task: finished(yard, task, K.RATE_LIMITED, task_sha256="of before"),
}
STAYS: dict[str, K] = {
    "completed": K.COMPLETED,
    "left-out": K.INCOMPLETE_ARTIFACTS,
    "turn-limit": K.TURN_LIMIT,
    "crashed": K.AGENT_CRASHED,
}


def test_resuming_repeats_no_finished_trial_and_skips_no_failed_one(tmp_path: Path, yard: Yard) -> None:
    yard.tasks = (*AGAIN, *STAYS, "never-begun")
    yard.write_dataset()
    for task, record in AGAIN.items():
        earlier(yard, task, record(yard, task))
    kept = {task: earlier(yard, task, finished(yard, task, kind)) for task, kind in STAYS.items()}
    before = {task: folder.metrics_file.read_bytes() for task, folder in kept.items()}
    watcher = Watcher()

    result = run(bench_of(yard, concurrency=4), replace(QUICK, resume=True), watcher)

    assert watcher.ran() == {*AGAIN, "never-begun"}
    assert {task: folder.metrics_file.read_bytes() for task, folder in kept.items()} == before
    assert all((folder.path / "lld.md").read_text() == "earlier work\n" for folder in kept.values())
    assert {record.task for record in result.kept} == set(STAYS)
    assert {record.task: record.outcome.kind for record in result.made} == dict.fromkeys(watcher.ran(), K.COMPLETED)
    trashed = {path.parent.name for path in (yard.results / TRASH).rglob("lld.md")}
    assert trashed == set(AGAIN)
    assert [check.detail for check in watcher.checks if check.name == "results"] == [
        f"resuming: {len(STAYS)} finished trials stay, {len(AGAIN) + 1} to run"
    ]


def test_yes_moves_everything_out_of_the_way(yard: Yard) -> None:
    folder = earlier(yard, "task-1", finished(yard, "task-1"))
    watcher = Watcher()
    run(bench_of(yard), replace(QUICK, yes=True), watcher)
    assert watcher.ran() == {"task-1"}
    assert (folder.path / "lld.md").read_text() == "# lld\n"
    (trashed,) = (yard.results / TRASH).rglob("lld.md")
    assert trashed.read_text() == "earlier work\n"
    assert TrialFolder(trashed.parent).metrics().outcome.kind is K.COMPLETED


@first_is_quick(
    ("changes", "named"),
    [
        ({"provider": "rehearsal"}, "provider"),
        ({"dataset": "another"}, "dataset"),
        ({"task_sha256": "worded otherwise"}, "task_sha256"),
        ({"skill_sha256": "another wording of the skill"}, "skill_sha256"),
        ({"model": "vendor.some-model"}, "model"),
        ({"agent_version": "0.9"}, "agent_version"),
        ({"limits": Limits.of(RunnerConfig(max_turns=3, **AS_GIVEN), None)}, "another max_turns)"),
        ({"limits": Limits.of(RunnerConfig(**AS_GIVEN), "s")}, "another settings_sha256)"),
    ],
)
def test_a_finished_trial_of_another_run_is_neither_kept_nor_cleared_by_a_resume(
    yard: Yard, changes: dict[str, Any], named: str
) -> None:
    folder = earlier(yard, "task-1", finished(yard, "task-1", **changes))
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard), replace(QUICK, resume=True), watcher)
    assert list(watcher.failed()) == ["results"]
    assert named in watcher.failed()["results"].detail
    assert folder.metrics_file.exists()

    run(bench_of(yard), replace(QUICK, resume=True, force=True), watcher)
    assert watcher.ran() == {"task-1"}
    assert (folder.path / "lld.md").read_text() == "# lld\n"


@pytest.mark.parametrize(
    ("script", "kept"),
    [(WHOLE, False), ("exit 3\n", False), ('cat "$RECORDED/err429.jsonl"\n', True)],
    ids=["completed", "crashed", "rate-limited"],
)
def test_a_finished_trial_comes_back_when_its_successor_says_nothing(yard: Yard, script: str, kept: bool) -> None:
    record = finished(yard, "task-1")
    folder = earlier(yard, "task-1", record)
    result = run(bench_of(yard, script), replace(QUICK, yes=True))
    assert (folder.metrics() == record) == kept
    assert ((folder.path / "lld.md").exists() and (folder.path / "lld.md").read_text() == "earlier work\n") == kept
    assert result.made[0] != record
    (trashed,) = (yard.results / TRASH).rglob("metrics.json")
    assert (TrialFolder(trashed.parent).metrics() == record) != kept


def test_an_interruption_leaves_what_was_not_begun_where_it_is(yard: Yard) -> None:
    yard.tasks = ("task-1", "task-2")
    yard.write_dataset()
    records = {task: finished(yard, task) for task in yard.tasks}
    folders = {task: earlier(yard, task, record) for task, record in records.items()}
    prepared = bench_of(yard, "sleep 60\n")

    async def go() -> None:
        async with prepared.provider.open(prepared.config) as hosting:
            with anyio.move_on_after(1.5):
                await run_plan(prepared, hosting, replace(QUICK, yes=True), Watcher())

    anyio.run(go)
    # What the interrupted attempt cost at no known price, nobody knows.
    records["task-1"] = records["task-1"].model_copy(update={"spent_elsewhere_is_lower_bound": True})
    assert {task: folder.metrics() for task, folder in folders.items()} == records
    (interrupted,) = (yard.results / TRASH).rglob("metrics.json")
    assert TrialFolder(interrupted.parent).metrics().outcome.kind is K.INTERRUPTED


def priced(yard: Yard, task: str, kind: K = K.COMPLETED, usd: float = 2.0) -> Metrics:
    cost = Cost(amount_usd=usd, basis="metered", status="complete")
    return finished(yard, task, kind, cost=cost, total_cost_usd=usd)


@pytest.mark.parametrize(
    ("earlier_usd", "limit_usd", "status", "told"),
    [
        ((), None, "ok", "forecast unknown: no earlier trials of agent and model here"),
        ((), 5.0, "ok", "forecast unknown: no earlier trials of agent and model here; limit $5.00, $0.00 of it spent"),
        ((2.0, 4.0), None, "ok", "about $6.00 for 2 trials, from 2 earlier ones"),
        ((2.0, 4.0), 50.0, "ok", "about $6.00 for 2 trials, from 2 earlier ones; limit $50.00, $6.00 of it spent"),
        ((2.0, 4.0), 11.0, "warning", "not all may begin"),
        ((2.0, 4.0), 6.0, "failed", "nothing is left; limit $6.00, $6.00 of it spent"),
    ],
)
def test_before_anything_is_spent_it_says_what_it_will_cost(
    yard: Yard, earlier_usd: tuple[float, ...], limit_usd: float | None, status: str, told: str
) -> None:
    done = [f"done-{n}" for n, _ in enumerate(earlier_usd)]
    yard.tasks = (*done, "task-1", "task-2")
    yard.write_dataset()
    for task, usd in zip(done, earlier_usd, strict=True):
        earlier(yard, task, priced(yard, task, usd=usd))
    prepared = bench_of(yard, max_budget_usd=limit_usd, dollars_per_hour=1.0, tasks=yard.tasks)
    watcher = Watcher()
    with suppress(PreflightError):
        run(prepared, replace(QUICK, resume=True), watcher)
    (check,) = [check for check in watcher.checks if check.name == "budget"]
    assert (check.status, told in check.detail) == (status, True), check.detail
    assert (watcher.ran() == {"task-1", "task-2"}) == (status != "failed")


def test_without_a_price_no_limit_can_be_kept(yard: Yard) -> None:
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard, max_budget_usd=5.0), QUICK, watcher)
    assert "no price is known for some-model" in watcher.failed()["budget"].detail
    assert "under tokens:" in watcher.failed()["budget"].fix
    assert watcher.seen == []


@pytest.mark.parametrize("limit_usd", [None, 5.0])
@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("", "no price is known for some-model"),
        ("fresh_input: 1, output: 1", "no price is known for cache_read of some-model"),
        ("fresh_input: 1, cache_read: 1, output: 1", ""),
    ],
)
def test_a_budget_is_ok_only_where_everything_has_a_price(
    yard: Yard, row: str, told: str, limit_usd: float | None
) -> None:
    prices = yard.root / "prices.yaml"
    line = f"  - {{models: [some-model], providers: [endpoint], {row}, source: x, date: 2026-11}}\n"
    prices.write_text('schema_version: "1.0"\n' + (f"tokens:\n{line}" if row else ""))
    watcher, prepared = Watcher(), bench_of(yard, max_budget_usd=limit_usd)
    with suppress(PreflightError):
        run(replace(prepared, prices=PriceBook.load(prices)), QUICK, watcher)
    (check,) = [check for check in watcher.checks if check.name == "budget"]
    assert told in check.detail
    assert check.status == ("ok" if not told else "failed" if limit_usd and not row else "warning")


def test_the_lock_pins_what_ran_each_time(yard: Yard) -> None:
    scope = yard.results / "some-model" / "stand-in" / "swe3" / "yard"
    judge = JudgePin(names=("codex",), provider="personal", model="judge-model")
    prepared = bench_of(yard)

    async def go() -> None:
        async with prepared.provider.open(prepared.config) as hosting:
            await run_plan(prepared, hosting, QUICK, Watcher(), judge=judge)

    anyio.run(go)
    run(bench_of(yard, repeats=2), replace(QUICK, resume=True))
    text = (scope / "lock.json").read_text()
    assert SECRET not in text
    first, second = RunLock.model_validate_json(text).sessions
    assert (first.judge, second.judge) == (judge, None)
    assert (first.agent, first.agent_version, first.model) == ("stand-in", "1.0", "some-model")
    assert (first.config["repeats"], second.config["repeats"], "api_key" in first.config) == (1, 2, False)
    assert first.tasks["task-1"].commit == yard.commit
    assert first.ended_at is not None and first.ended_at >= first.started_at
    record = finished(yard, "task-1")
    assert first.tasks["task-1"].task_sha256 == record.trial.task_sha256
    assert first.skill_sha256 == record.provenance.skill_sha256


def test_two_runs_never_write_to_one_place(yard: Yard) -> None:
    prepared = bench_of(yard)
    complaints: list[str] = []

    async def both() -> None:
        async with prepared.provider.open(prepared.config) as hosting, anyio.create_task_group() as group:

            async def one() -> None:
                try:
                    await run_plan(prepared, hosting, QUICK, Watcher())
                except UsageError as error:
                    complaints.append(str(error))

            group.start_soon(one)
            group.start_soon(one)

    anyio.run(both)
    assert len(complaints) == 1
    assert "another run is writing to" in complaints[0]


def test_probes_that_begin_together_do_not_stop_each_other(yard: Yard) -> None:
    quick, slow = bench_of(yard, SAID), bench_of(yard, f"sleep 1; {SAID}")
    found: dict[str, Check] = {}

    async def go(name: str, prepared: PreparedRun) -> None:
        async with prepared.provider.open(prepared.config) as hosting:
            found[name] = await probe(prepared, prepared.context(hosting, keep_checkouts=False))

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(go, "slow", slow)
            group.start_soon(go, "quick", quick)

    anyio.run(both)
    assert {name: check.status for name, check in found.items()} == {"quick": "ok", "slow": "ok"}


def test_a_dataset_of_which_some_tasks_alone_have_tests_has_to_say_what_is_ranked(yard: Yard) -> None:
    watcher, prepared, loaded = Watcher(), bench_of(yard), yard.dataset()
    (first, *_) = loaded.dataset.tasks
    tested = first.model_copy(update={"id": "tested", "verify": Verify.model_validate({"commands": ["true"]})})
    plain_one = first.model_copy(update={"verify": None})
    mixed = loaded.dataset.model_copy(update={"tasks": (plain_one, tested)})
    run(replace(prepared, plan=replace(prepared.plan, dataset=replace(loaded, dataset=mixed))), QUICK, watcher)
    told = [check for check in watcher.checks if check.name == "dataset" and check.status == "warning"]
    assert [check.detail for check in told] == [
        "some tasks have verify and others not, and nothing says what models are ranked by"
    ]
