"""Running a plan: every check before anything is spent, and the record that decides what runs again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from pipeline.written import metrics
from providers.server import Server, models, plain
from swetrials.pipeline.benchmark import PreflightError, RunOptions, RunResult, run_plan
from swetrials.pipeline.workbench import UsageError, Workbench
from swetrials.pricing.book import PriceBook
from swetrials.providers.base import Check
from swetrials.providers.endpoint import Endpoint
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.store.files import sha256_of, write_record
from swetrials.store.project import Project
from swetrials.store.redaction import Redactor
from swetrials.store.results import TRASH, TrialFolder
from swetrials.trials.crew import Sandbox
from swetrials.trials.trial import Observer, Progress
from trials.stand_in import SECRET, WHOLE, Yard

K = OutcomeKind


@dataclass
class Watcher:
    """Somebody who remembers what was shown."""

    checks: list[Check] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    seen: list[Progress] = field(default_factory=list)

    def check(self, check: Check) -> None:
        self.checks.append(check)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def expect(self, trials: int) -> None:
        self.lines.append(f"{trials} trials")

    @property
    def progress(self) -> Observer:
        return self.seen.append

    def failed(self) -> dict[str, Check]:
        return {check.name: check for check in self.checks if check.status == "failed"}

    def ran(self) -> set[str]:
        return {progress.trial.label for progress in self.seen}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.answer = models("some-model")
    yield server
    server.close()


@pytest.fixture
def yard(tmp_path: Path, server: Server) -> Yard:
    (tmp_path / "project" / "tools").mkdir(parents=True)
    package = tmp_path / "project" / ".tools" / "stand-in" / "node_modules" / "stand-in"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.0"}')
    (package.parent.parent / "sh").symlink_to("/bin/sh")
    return Yard(tmp_path, config={"endpoint": server.url})


def bench_of(yard: Yard, script: str = WHOLE, **changes: object) -> Workbench:
    return Workbench(
        project=Project(yard.root / "project"),
        plan=yard.plan(script, **changes),
        provider=Endpoint(),
        repositories=yard.repositories,
        work_root=yard.work,
        sandbox=Sandbox(None),
        redactor=Redactor([SECRET]),
        prices=PriceBook.load(None),
    )


def run(bench: Workbench, options: RunOptions, watcher: Watcher | None = None) -> RunResult:
    watcher = watcher or Watcher()

    async def go() -> RunResult:
        async with bench.provider.open(bench.config) as hosting:
            return await run_plan(bench, hosting, options, watcher)

    return anyio.run(go)


QUICK = RunOptions(skip_probe=True)


def test_a_sound_run_passes_every_check_and_its_probe(yard: Yard) -> None:
    watcher = Watcher()
    result = run(bench_of(yard), RunOptions(), watcher)
    assert [record.outcome.kind for record in result.made] == [K.COMPLETED]
    names = {check.name for check in watcher.checks}
    assert names >= {
        "agent",
        "git",
        "sandbox",
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
    bench = bench_of(yard, **spoil(yard, server))
    before = {path for path in yard.results.rglob("*") if path.is_file()}
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench, RunOptions(), watcher)
    assert list(watcher.failed()) == [name]
    assert told in watcher.failed()[name].detail + watcher.failed()[name].mend
    assert watcher.failed()[name].mend
    assert watcher.seen == []
    assert {path for path in yard.results.rglob("*") if path.is_file() and path.name != ".lock"} == before


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


def finished(yard: Yard, task: str, kind: K = K.COMPLETED, **changes: Any) -> Metrics:  # noqa: ANN401
    """Return a record as an earlier run of the same plan would have left it."""
    dataset = yard.dataset()
    words = next(t for t in dataset.dataset.tasks if t.id == task)
    same: dict[str, Any] = {
        "task": task, "dataset": "yard", "task_sha256": dataset.task_sha256(words), "provider": "endpoint",
        "skill_sha256": sha256_of("Do the task.\n"), "agent": "stand-in", "scope": "yard",
    }  # fmt: skip
    return metrics(kind, **{**same, **changes})


def earlier(yard: Yard, task: str, record: Metrics | bytes | None) -> TrialFolder:
    folder = TrialFolder(yard.results / "some-model" / "stand-in" / "swe3" / "yard" / task)
    (folder.path / "attempts" / "1").mkdir(parents=True)
    (folder.path / "lld.md").write_text("earlier work\n")
    if isinstance(record, bytes):
        folder.metrics_file.write_bytes(record)
    elif record is not None:
        write_record(folder.metrics_file, record)
    return folder


AGAIN: dict[str, Callable[[Yard, str], Metrics | bytes | None]] = {
    "no-record": lambda yard, task: None,
    "torn": lambda yard, task: orjson.dumps(finished(yard, task).model_dump(mode="json"))[:-40],
    "foreign": lambda yard, task: b'{"accuracy": 0.93}',
    "interrupted": lambda yard, task: finished(yard, task, K.INTERRUPTED),
    "rate-limited": lambda yard, task: finished(yard, task, K.RATE_LIMITED),
    "no-checkout": lambda yard, task: finished(yard, task, K.CHECKOUT_FAILED),
    "idle": lambda yard, task: finished(yard, task, K.IDLE),
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


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"provider": "rehearsal"}, "provider"),
        ({"dataset": "another"}, "dataset"),
        ({"task_sha256": "worded otherwise"}, "task_sha256"),
        ({"skill_sha256": "another wording of the skill"}, "skill_sha256"),
        ({"model": "vendor.some-model"}, "model"),
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


def test_two_runs_never_write_to_one_place(yard: Yard) -> None:
    bench = bench_of(yard)
    complaints: list[str] = []

    async def both() -> None:
        async with bench.provider.open(bench.config) as hosting, anyio.create_task_group() as group:

            async def one() -> None:
                try:
                    await run_plan(bench, hosting, QUICK, Watcher())
                except UsageError as error:
                    complaints.append(str(error))

            group.start_soon(one)
            group.start_soon(one)

    anyio.run(both)
    assert len(complaints) == 1
    assert "another run is writing to" in complaints[0]
