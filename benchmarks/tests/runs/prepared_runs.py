"""Planned runs over a yard, and somebody who watches them: for tests of what a run does before and after its trials."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from hosting.server import Server
from runs.written import metrics
from swetrials.hosting.endpoint import Endpoint
from swetrials.pricing.book import PriceBook
from swetrials.records.check import Check
from swetrials.records.limits import Limits
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.runs.benchmark import RunOptions, RunResult, run_plan
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.files import sha256_of, write_record
from swetrials.store.project import Project
from swetrials.store.results import TrialFolder
from swetrials.trials.executors.local import Local
from swetrials.trials.trial import Observer, Progress
from trials.stand_in import WHOLE, Yard

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

    @property
    def listener(self) -> None:
        return None

    def failed(self) -> dict[str, Check]:
        return {check.name: check for check in self.checks if check.status == "failed"}

    def ran(self) -> set[str]:
        return {progress.trial.label for progress in self.seen}


def yard_beside(server: Server, root: Path) -> Yard:
    """Return a yard whose model is at a server, with the stand-in for an agent installed."""
    (root / "project" / "tools").mkdir(parents=True)
    package = root / "project" / ".tools" / "stand-in" / "node_modules" / "stand-in"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.0"}')
    (package.parent.parent / "sh").symlink_to("/bin/sh")
    return Yard(root, config={"endpoint": server.url})


def bench_of(yard: Yard, script: str = WHOLE, **changes: object) -> PreparedRun:
    return PreparedRun(
        project=Project(yard.root / "project"),
        plan=yard.plan(script, **changes),
        provider=Endpoint(),
        executor=Local(),
        prices=PriceBook.load(None),
        place=yard.place,
    )


def run(prepared: PreparedRun, options: RunOptions, watcher: Watcher | None = None) -> RunResult:
    watcher = watcher or Watcher()

    async def go() -> RunResult:
        async with prepared.provider.open(prepared.config) as hosting:
            return await run_plan(prepared, hosting, options, watcher)

    return anyio.run(go)


QUICK = RunOptions(skip_probe=True)


def finished(yard: Yard, task: str, kind: K = K.COMPLETED, **changes: Any) -> Metrics:  # noqa: ANN401
    """Return a record as an earlier run of the same plan would have left it."""
    dataset = yard.dataset()
    words = next(t for t in dataset.dataset.tasks if t.id == task)
    same: dict[str, Any] = {
        "task": task, "dataset": "yard", "task_sha256": dataset.task_sha256(words), "provider": "endpoint",
        "skill_sha256": sha256_of("Do the task.\n"), "agent": "stand-in", "scope": "yard",
        "agent_version": "1.0", "limits": Limits.of(yard.runner(settings_file=None), None), "commit": yard.commit,
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
