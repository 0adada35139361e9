"""What a resumed run keeps, refuses and adds up: a trial's ledger does not end with a session."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from hosting.server import Server, models
from runs.prepared_runs import QUICK, K, Watcher, bench_of, earlier, finished, run, yard_beside
from swetrials.cli import answer, cost, report, results
from swetrials.pricing.book import PriceBook
from swetrials.records.cost import Cost, CostStatus
from swetrials.records.environment import EnvironmentRecord
from swetrials.records.metrics import AttemptRecord, Metrics, TimeSplit
from swetrials.records.outcome import Outcome
from swetrials.records.published_run import Imported
from swetrials.records.requests import RequestRecord
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.results.report import summary_table
from swetrials.results.summary import read_trials, summarize
from swetrials.runs.benchmark import PreflightError, RunOptions
from swetrials.runs.forecast import forecast
from swetrials.store.files import read_record, sha256_of, write_record
from swetrials.store.results import TRASH, TrialFolder
from swetrials.trials.earlier import spent_there
from swetrials.trials.identity import given_sha256
from swetrials.trials.recovery import recover_idle
from swetrials.trials.resume_state import marked
from swetrials.trials.trial import Observer, Progress
from swetrials.workspace.repositories import Repositories
from trials.stand_in import Yard
from workspace.sources import commit_all, git

RESUME = replace(QUICK, resume=True)
SPENT_USD = 0.002025
THROTTLED = 'cat "$RECORDED/err429.jsonl"\n'


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.answer = models("some-model")
    yield server
    server.close()


@pytest.fixture
def yard(tmp_path: Path, server: Server) -> Yard:
    return yard_beside(server, tmp_path)


def folder_of(yard: Yard, name: str = "task-1") -> TrialFolder:
    return TrialFolder(yard.results / "some-model" / "stand-in" / "swe3" / "yard" / name)


def next_session(yard: Yard) -> None:
    """Another process would look the refs up once more, in the mirrors that this one has left."""
    yard.repositories = Repositories(yard.work / "mirrors")


def push(yard: Yard) -> str:
    (yard.root / "upstream" / "greeting.txt").write_text("somebody went on\n")
    return commit_all(yard.root / "upstream", "somebody went on")


# ---- what was given, and what scores


def test_a_mended_setup_makes_no_other_trial(yard: Yard) -> None:
    yard.setup = [["no-such-progrm"]]
    yard.write_dataset()
    run(bench_of(yard), QUICK)
    before = folder_of(yard).metrics_file.read_bytes()
    yard.setup = [["true"]]
    yard.write_dataset()
    watcher = Watcher()
    result = run(bench_of(yard), RESUME, watcher)
    assert (len(result.kept), len(result.made), watcher.failed()) == (1, 0, {})
    assert folder_of(yard).metrics_file.read_bytes() == before


@pytest.mark.parametrize("given", [True, False], ids=["given", "older record"])
def test_another_statement_makes_another_trial(yard: Yard, given: bool) -> None:
    run(bench_of(yard), QUICK)
    if not given:
        record = folder_of(yard).metrics()
        older = record.trial.model_copy(update={"given_sha256": None})
        write_record(folder_of(yard).metrics_file, record.model_copy(update={"trial": older}))
    yard.write_dataset(statement="Do something else.")
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard), RESUME, watcher)
    assert ("wording of the task" if given else "task_sha256") in watcher.failed()["results"].detail


def test_an_older_record_is_what_its_prompt_skill_and_commit_say(yard: Yard) -> None:
    run(bench_of(yard), QUICK)
    record = folder_of(yard).metrics()
    older = record.trial.model_copy(update={"given_sha256": None})
    write_record(folder_of(yard).metrics_file, record.model_copy(update={"trial": older}))
    yard.setup = [["true"]]
    yard.write_dataset()
    assert len(run(bench_of(yard), RESUME).kept) == 1


@pytest.mark.parametrize(("ref", "move"), [("main", push), ("v1", None)], ids=["branch", "tag"])
def test_a_ref_that_moved_is_refused_before_anything_is_spent(yard: Yard, ref: str, move: Any) -> None:  # noqa: ANN401
    yard.write_dataset(ref=ref)
    run(bench_of(yard), QUICK)
    first = folder_of(yard).metrics().provenance.commit
    assert first is not None
    now = push(yard)
    if move is None:
        git(yard.root / "upstream", "tag", "--force", ref, now)
    next_session(yard)
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard, repeats=2), RESUME, watcher)
    assert watcher.seen == []
    refused = watcher.failed()["results"]
    assert f"commit: it ran at {first[:12]}, {ref} is {now[:12]} now" in refused.detail
    assert "as the ref of their tasks keeps them" in refused.fix and "--force" in refused.fix

    yard.write_dataset(ref=first)
    result = run(bench_of(yard, repeats=2), RESUME)
    assert (len(result.kept), len(result.made)) == (1, 1)
    one, other = folder_of(yard).metrics(), folder_of(yard, "task-1--r2").metrics()
    assert one.provenance.commit == other.provenance.commit == first
    assert one.trial.given_sha256 == other.trial.given_sha256 is not None


def test_a_tag_that_moved_is_what_the_next_run_checks_out(yard: Yard) -> None:
    run(bench_of(yard), QUICK)
    now = push(yard)
    git(yard.root / "upstream", "tag", "--force", "v1", now)
    next_session(yard)
    run(bench_of(yard), replace(QUICK, yes=True))
    assert folder_of(yard).metrics().provenance.commit == now


def test_a_trial_says_what_its_dataset_ranks_by(yard: Yard) -> None:
    run(bench_of(yard), QUICK)  # every task of it has verify
    assert folder_of(yard).metrics().trial.rank_by == yard.dataset().dataset.ranked_by == "resolved"


def test_nothing_is_asked_of_the_model_where_nothing_is_to_run(yard: Yard) -> None:
    run(bench_of(yard), QUICK)
    watcher = Watcher()
    # The probe of an agent that ends without an answer would fail.
    run(bench_of(yard, "exit 3\n"), RunOptions(resume=True), watcher)
    assert {check.name: check.status for check in watcher.checks}["probe"] == "skipped"


# ---- the ledger


def attempt(number: int, usd: float | None, kind: K = K.PROVIDER_ERROR) -> AttemptRecord:
    usage = UsageReport(
        usage=Usage(fresh_input=1000, cache_read=0, cache_write=0, output=10), completeness="complete", requests=1
    )
    return AttemptRecord(
        id=f"task-1-{number}-x", number=number, reason="first", started_at="2026-01-01T00:00:00+00:00",
        ended_at="2026-01-01T00:01:00+00:00", outcome=Outcome.of(kind, "it broke"),
        usage=UsageBlock(headline=usage, source="reported", reported=usage),
        cost=Cost(amount_usd=usd, basis="metered", status="complete") if usd is not None else Cost(),
        num_turns=1,
    )  # fmt: skip


def failed(yard: Yard, **changes: Any) -> Metrics:  # noqa: ANN401
    """Return the record of a trial that a provider's error ended, as another session left it."""
    one = attempt(1, SPENT_USD)
    fields = {"attempts": (one,), "cost": one.cost, "total_cost_usd": SPENT_USD, "usage": one.usage}
    return finished(yard, "task-1", K.PROVIDER_ERROR, **{**fields, **changes})


def test_what_a_failed_session_spent_stays_in_the_trial_that_goes_on(yard: Yard) -> None:
    folder = earlier(yard, "task-1", failed(yard))
    (folder.attempt_folder(1) / "stream.jsonl").write_text("what it said\n")
    watcher = Watcher()
    run(bench_of(yard, dollars_per_hour=1.0, max_budget_usd=5.0), RESUME, watcher)
    record = folder.metrics()
    first, second = record.attempts
    assert (first.number, second.number, record.outcome.kind) == (1, 2, K.COMPLETED)
    assert second.cost.amount_usd is not None
    assert record.total_cost_usd == record.cost.amount_usd == pytest.approx(SPENT_USD + second.cost.amount_usd)
    assert record.cost_winning_attempt == second.cost
    assert record.num_turns == 1 + (second.num_turns or 0)
    assert record.input_tokens == 1000 + (second.usage.headline.usage.fresh_input or 0)
    assert "resumed" in {finding.code for finding in record.findings}
    assert (folder.attempt_folder(1) / "stream.jsonl").read_text() == "what it said\n"
    assert folder.attempt_folder(2).is_dir()
    assert record.spent_elsewhere_usd is None
    told = next(check.detail for check in watcher.checks if check.name == "budget")
    assert "limit $5.00, $0.00 of it spent" in told
    costs = [progress.cost_usd for progress in watcher.seen]
    assert all(cost is not None and cost >= SPENT_USD for cost in costs)
    shutil.rmtree(yard.results / TRASH)
    assert folder.metrics().total_cost_usd == record.total_cost_usd


def test_the_budget_holds_all_that_was_spent_in_the_runs_folders(yard: Yard) -> None:
    earlier(yard, "task-1", failed(yard, spent_elsewhere_usd=0.5))
    prepared = bench_of(yard, dollars_per_hour=1.0)
    found = forecast(prepared, prepared.standings(), 1, resume=True)
    assert found.spent_usd == pytest.approx(SPENT_USD + 0.5)
    assert forecast(prepared, prepared.standings(), 1, resume=False).spent_usd == pytest.approx(SPENT_USD)


def test_three_sessions_come_to_one_ledger(yard: Yard) -> None:
    earlier(yard, "task-1", failed(yard))
    run(bench_of(yard, THROTTLED, dollars_per_hour=1.0), RESUME)
    run(bench_of(yard, dollars_per_hour=1.0), RESUME)
    record = folder_of(yard).metrics()
    assert [a.number for a in record.attempts] == [1, 2, 3]
    assert [a.outcome.kind for a in record.attempts] == [K.PROVIDER_ERROR, K.RATE_LIMITED, K.COMPLETED]
    assert record.total_cost_usd == pytest.approx(sum(a.cost.amount_usd or 0 for a in record.attempts))
    assert [path.name for path in sorted((folder_of(yard).path / "attempts").iterdir())] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("record", "options"),
    [
        (lambda yard: failed(yard, task_sha256="of before"), RESUME),
        (lambda yard: failed(yard, skill_sha256="of before", spent_elsewhere_usd=None), RESUME),
        (
            lambda yard: finished(yard, "task-1", cost=attempt(1, SPENT_USD).cost, total_cost_usd=SPENT_USD),
            replace(QUICK, yes=True),
        ),
        (
            lambda yard: finished(
                yard, "task-1", task_sha256="of before", cost=attempt(1, SPENT_USD).cost, total_cost_usd=SPENT_USD
            ),
            replace(RESUME, force=True),
        ),
    ],
    ids=["another wording", "another skill", "finished and run once more", "finished, forced"],
)
def test_what_another_trial_in_the_folder_cost_stands_beside(yard: Yard, record: Any, options: RunOptions) -> None:  # noqa: ANN401
    folder = earlier(yard, "task-1", record(yard))
    run(bench_of(yard, dollars_per_hour=1.0), options)
    made = folder.metrics()
    assert made.spent_elsewhere_usd == pytest.approx(SPENT_USD)
    assert [a.number for a in made.attempts] == [1]
    assert made.total_cost_usd == made.attempts[0].cost.amount_usd


def test_what_was_spent_in_vain_stands_beside_the_trial_that_comes_back(yard: Yard) -> None:
    record = finished(yard, "task-1")
    folder = earlier(yard, "task-1", record)
    result = run(bench_of(yard, THROTTLED, dollars_per_hour=1.0), replace(QUICK, yes=True))
    [vain] = result.made
    assert vain.total_cost_usd
    assert folder.metrics() == record.model_copy(update={"spent_elsewhere_usd": vain.total_cost_usd})


# ---- a harness that was killed

SHARES = [
    Usage(fresh_input=1200, cache_read=0, cache_write=600, output=40),
    Usage(fresh_input=1200, cache_read=900, cache_write=0, output=31),
]


def request(number: int, usage: Usage | None) -> RequestRecord:
    return RequestRecord(
        number=number, method="POST", path="/v1/messages", dialect="anthropic", started_seconds=number,
        first_byte_seconds=number + 0.2, ended_seconds=number + 0.5, status=200, model_served="some-model",
        usage=usage, complete=True, request_bytes=10, response_bytes=10,
    )  # fmt: skip


def killed(yard: Yard, *, torn: bool = True, attempts: int = 1) -> TrialFolder:
    """Leave what a harness that was killed in its first trial leaves: a record without an end, and logs."""
    dataset = yard.dataset()
    [task] = dataset.dataset.tasks
    record = finished(yard, "task-1", K.INTERRUPTED, run_ended_at=None)
    assert record.provenance.limits is not None
    given = given_sha256(task, yard.commit, sha256_of("Do the task.\n"), record.provenance.limits)
    identity = record.trial.model_copy(update={"given_sha256": given})
    folder = earlier(yard, "task-1", record.model_copy(update={"trial": identity}))
    for number in range(1, attempts + 1):
        lines = [request(n, usage).model_dump_json() for n, usage in enumerate(SHARES, 1)]
        log = folder.attempt_folder(number) / "requests.jsonl"
        log.parent.mkdir(exist_ok=True)
        log.write_text("\n".join(lines) + "\n" + (lines[0][:70] if torn else ""))
        (log.parent / "stream.jsonl").write_text(f"key [redacted] {number}\n")
    return folder


def recovered(yard: Yard) -> None:
    recover_idle(folder_of(yard).path.parent, PriceBook.load(None))


@pytest.mark.parametrize("torn", [True, False])
def test_every_answered_call_of_a_killed_attempt_is_counted_and_makes_a_lower_bound(yard: Yard, torn: bool) -> None:
    folder = killed(yard, torn=torn)
    recovered(yard)
    record = folder.metrics()
    [one] = record.attempts
    truth = Usage(fresh_input=2400, cache_read=900, cache_write=600, output=71)
    for told in (record.usage.headline, one.usage.metered):
        assert told is not None
        assert (told.usage.known, told.completeness) == (truth.known, "lower_bound")
        assert {name: getattr(told.usage, name) for name in truth.known} == truth.model_dump(include={*truth.known})
    assert (one.ended_by, one.outcome.kind, one.time.wall_seconds, record.num_turns) == (
        "killed",
        K.INTERRUPTED,
        2.5,
        2,
    )
    assert record.outcome.kind is K.INTERRUPTED
    assert [finding.code for finding in one.findings] == ["harness_killed"]
    before = folder.metrics_file.read_bytes()
    recovered(yard)
    assert folder.metrics_file.read_bytes() == before


def test_a_killed_attempt_without_a_meter_is_what_its_agent_had_said(yard: Yard) -> None:
    folder = killed(yard)
    record = folder.metrics()
    write_record(folder.metrics_file, record.model_copy(update={"agent": "claude-code"}))
    (folder.attempt_folder(1) / "requests.jsonl").unlink()
    said = (Path(__file__).parents[1] / "conformance" / "claude" / "partial.jsonl").read_bytes()
    (folder.attempt_folder(1) / "stream.jsonl").write_bytes(said[: len(said) // 2])
    recovered(yard)
    [one] = folder.metrics().attempts
    assert one.usage.source == "reported"
    assert one.usage.headline.completeness == "lower_bound"
    assert (one.usage.headline.usage.input or 0) > 0


def test_logs_without_a_call_tell_nothing_and_are_no_zero(yard: Yard) -> None:
    folder = killed(yard)
    (folder.attempt_folder(1) / "requests.jsonl").write_text("")
    recovered(yard)
    record = folder.metrics()
    assert (record.usage.headline.usage.total, record.usage.headline.completeness) == (None, "unknown")
    assert record.total_cost_usd is None


def test_a_run_at_work_is_left_alone(yard: Yard) -> None:
    folder = killed(yard)
    before = folder.metrics_file.read_bytes()
    with FileLock(folder.path.parent / ".lock"):
        recovered(yard)
    assert folder.metrics_file.read_bytes() == before


def test_a_killed_trial_goes_on_with_all_that_it_had_spent(yard: Yard) -> None:
    folder = killed(yard, attempts=2)
    run(bench_of(yard, dollars_per_hour=1.0), RESUME)
    record = folder.metrics()
    assert [(a.number, a.ended_by) for a in record.attempts] == [(1, "killed"), (2, "killed"), (3, "exited")]
    assert record.usage.headline.completeness == record.cost.status == "lower_bound"
    last = record.attempts[-1].usage.headline.usage
    assert record.usage.headline.usage.output == 2 * 71 + (last.output or 0)
    assert (folder.attempt_folder(2) / "stream.jsonl").read_text() == "key [redacted] 2\n"


def test_an_attempt_on_another_machine_that_told_nothing_costs_something_unknown(yard: Yard) -> None:
    run(bench_of(yard), QUICK)
    folder = folder_of(yard)
    lock = folder.path.parent / "lock.json"
    text = lock.read_text()
    assert '"executor": "local"' in text
    shutil.rmtree(folder.path)
    folder = killed(yard)
    record = folder.metrics()
    write_record(folder.metrics_file, record.model_copy(update={"run_started_at": "2999-01-01T00:00:00+00:00"}))
    shutil.rmtree(folder.path / "attempts")
    lock.write_text(text.replace('"executor": "local"', '"executor": "ray"'))
    recovered(yard)
    [one] = folder.metrics().attempts
    assert (one.ended_by, one.cost.amount_usd, one.usage.headline.completeness) == ("killed", None, "unknown")
    recovered(yard)
    assert len(folder.metrics().attempts) == 1


READERS: list[Callable[[Path], int]] = [
    lambda tree: results.show(tree, None, "json"),
    lambda tree: answer.show(tree, None, as_json=True),
    lambda tree: cost.explain(tree, as_json=True),
    lambda tree: report.write(tree, tree / "page.html", None, None),
]


@pytest.mark.parametrize("read", READERS, ids=["results", "answer", "cost", "report"])
def test_whoever_reads_a_killed_trial_sees_what_it_had_spent(yard: Yard, read: Callable[[Path], int]) -> None:
    folder = killed(yard)
    read(folder.path.parents[4])
    assert [attempt.ended_by for attempt in folder.metrics().attempts] == ["killed"]
    assert folder.metrics().usage.headline.completeness == "lower_bound"


def test_reading_leaves_the_trials_of_a_run_at_work_alone(yard: Yard) -> None:
    folder = killed(yard)
    before = folder.metrics_file.read_bytes()
    with FileLock(folder.path.parent / ".lock"):
        READERS[0](folder.path.parents[4])
    assert folder.metrics_file.read_bytes() == before


@pytest.mark.parametrize("torn", [b"", b'{"task": "task-1", "attem', b"{}"], ids=["empty", "torn", "other fields"])
def test_money_of_attempts_is_counted_where_the_record_of_their_trial_cannot_be_read(yard: Yard, torn: bytes) -> None:
    run(bench_of(yard, dollars_per_hour=1.0), QUICK)
    folder = folder_of(yard)
    spent_usd = folder.metrics().total_cost_usd
    assert spent_usd
    folder.metrics_file.write_bytes(torn)
    run(bench_of(yard, dollars_per_hour=1.0), replace(RESUME, yes=True))
    assert folder.metrics().spent_elsewhere_usd == pytest.approx(spent_usd)
    assert folder.metrics().spent_elsewhere_is_lower_bound


def test_money_of_a_killed_attempt_is_counted_where_the_record_of_its_trial_cannot_be_read(yard: Yard) -> None:
    run(bench_of(yard, dollars_per_hour=1.0), QUICK)  # for its lock
    shutil.rmtree(folder_of(yard).path)
    folder = killed(yard)
    folder.metrics_file.write_text('{"task": "task-1", "spent_elsewhere_usd": 0.5, "attempts": [')
    prepared = bench_of(yard, dollars_per_hour=1.0, max_budget_usd=5.0)
    watcher = Watcher()
    run(prepared, replace(RESUME, yes=True), watcher)
    made = folder.metrics()
    assert made.spent_elsewhere_usd == pytest.approx(0.5 + 2.5 / 3600)
    assert made.spent_elsewhere_is_lower_bound
    assert "at least $0.50 of it spent" in next(check.detail for check in watcher.checks if check.name == "budget")
    [cut] = [read_record(file, AttemptRecord) for file in (yard.results / TRASH).rglob("attempt.json")]
    assert (cut.ended_by, cut.usage.headline.usage.output) == ("killed", 71)


def test_money_that_nobody_can_tell_is_said_to_have_been_spent(yard: Yard) -> None:
    folder = earlier(yard, "task-1", b"")
    run(bench_of(yard), replace(RESUME, yes=True))
    made = folder.metrics()
    assert (made.spent_elsewhere_usd, made.spent_elsewhere_is_lower_bound) == (None, True)
    lines = dict(summary_table.totals(summarize(read_trials(folder.path.parent))))
    assert lines["spent elsewhere"].startswith("something more, and nobody knows how much")


@pytest.mark.parametrize("status", ["complete", "lower_bound"])
def test_what_is_beside_a_trial_is_a_bound_where_it_was_one(yard: Yard, status: CostStatus) -> None:
    cost = Cost(amount_usd=SPENT_USD, basis="metered", status=status)
    one = attempt(1, SPENT_USD).model_copy(update={"cost": cost})
    before = failed(yard, task_sha256="of before", prompt_sha256="of before", attempts=(one,), cost=cost)
    folder = earlier(yard, "task-1", before)
    for _ in range(2):  # and stays one in every session that follows
        run(bench_of(yard, THROTTLED, dollars_per_hour=1.0), RESUME)
        made = folder.metrics()
        assert made.spent_elsewhere_usd == pytest.approx(SPENT_USD)
        assert made.spent_elsewhere_is_lower_bound == (status == "lower_bound")


def test_figures_of_somebody_else_are_no_money_of_ours(yard: Yard) -> None:
    cost = Cost(amount_usd=9.0, basis="reported", status="complete")
    imported = Imported(source="somebody", file="runs.csv", sha256="0", line=2)
    record = finished(yard, "task-1", imported=imported, total_cost_usd=9.0, cost=cost)
    folder = earlier(yard, "task-1", record)
    assert spent_there(folder, record).elsewhere_usd is None
    run(bench_of(yard, dollars_per_hour=1.0), replace(RESUME, force=True))
    assert folder.metrics().spent_elsewhere_usd is None


def test_a_recovered_trial_has_waited_for_what_it_had_waited_and_its_attempts(yard: Yard) -> None:
    folder = killed(yard)
    record = folder.metrics()
    write_record(folder.metrics_file, record.model_copy(update={"time": TimeSplit(queue_seconds=7.5)}))
    write_record(
        folder.attempt_folder(1) / "attempt.json",
        attempt(1, 0.1).model_copy(update={"time": TimeSplit(queue_seconds=2.25)}),
    )
    recovered(yard)
    assert folder.metrics().time.queue_seconds == 9.75


def test_turns_are_the_answered_calls_of_a_killed_attempt_as_of_any(yard: Yard) -> None:
    folder = killed(yard)
    record = folder.metrics()
    write_record(folder.metrics_file, record.model_copy(update={"agent": "claude-code"}))
    whole = request(1, SHARES[0]).model_dump_json()
    (folder.attempt_folder(1) / "requests.jsonl").write_text(whole + "\n")
    # The agent tells of two answers; the second was under way, as far as the meter saw.
    said = (Path(__file__).parents[1] / "conformance" / "claude" / "ok.jsonl").read_bytes()
    (folder.attempt_folder(1) / "stream.jsonl").write_bytes(said)
    recovered(yard)
    assert folder.metrics().num_turns == 1


def test_a_killed_attempt_gets_a_record_of_its_own(yard: Yard) -> None:
    folder = killed(yard)
    recovered(yard)
    assert read_record(folder.attempt_folder(1) / "attempt.json", AttemptRecord) == folder.metrics().attempts[0]


@pytest.mark.parametrize("record", [b"", None], ids=["unreadable", "older"])
def test_there_is_a_record_of_what_was_spent_at_each_moment_of_a_new_beginning(
    yard: Yard, record: bytes | None
) -> None:
    """Whatever is on disk when the new trial's checkout is made is what a kill at that moment would leave."""
    folder = earlier(yard, "task-1", record if record is not None else failed(yard, task_sha256="of before"))
    if record is not None:
        write_record(folder.attempt_folder(1) / "attempt.json", attempt(1, SPENT_USD))

    class Looking(Watcher):
        @property
        def progress(self) -> Observer:
            def look(progress: Progress) -> None:
                if progress.state == "checkout":
                    found.append(folder.metrics())

            return look

    found: list[Metrics] = []
    run(bench_of(yard, dollars_per_hour=1.0), replace(RESUME, yes=True), Looking())
    [there] = found
    assert there.spent_elsewhere_usd == pytest.approx(SPENT_USD)
    assert (there.outcome.kind, there.attempts, there.run_ended_at is None) == (K.INTERRUPTED, (), False)
    assert [path.name for path in folder.path.parent.glob("task-1/lld.md")] == ["lld.md"]


def test_what_was_prepared_differently_says_so_until_the_dataset_asks_for_it_again(yard: Yard) -> None:
    record = finished(yard, "task-1", environment=EnvironmentRecord(kind="host", spec_sha256="0" * 64))
    folder = earlier(yard, "task-1", record)
    standing = next(one for one in bench_of(yard).standings() if one.trial.task.id == "task-1")
    assert (standing.finished, standing.prepared_differently) == (True, True)
    first = marked(standing)
    assert first is not None
    again = marked(replace(standing, state=first))
    assert again == first == folder.metrics()
    assert [finding.code for finding in first.findings].count("prepared_differently") == 1
    assert marked(replace(standing, state=first, prepared_differently=False)) == record == folder.metrics()
