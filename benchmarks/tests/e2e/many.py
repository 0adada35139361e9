"""A benchmark of many trials against scripted models, one of which in ten misbehaves in a way of its own."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from anyio.from_thread import start_blocking_portal

from e2e.harness import BENCHMARKS, Workplace
from swetrials.records.metrics import DESIGN_DOCUMENTS
from swetrials.records.outcome import OutcomeKind
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.scenario import Fault
from swetrials.results.report.run_summary import summarize_scope
from swetrials.store.results import TrialFolder, trial_folders
from workspace.sources import commit_all, new_repository

FAULTS = {
    0: Fault(kind=FaultKind.STATUS_429, times=2, at_step=0),
    1: Fault(kind=FaultKind.CUT, times=1, at_step=0),
    2: Fault(kind=FaultKind.HANG_MID_STREAM, at_step=1),
    4: Fault(kind=FaultKind.STATUS_500, times=2, at_step=1),
}
"""By the number of the task. Claude Code gets over all of them but the third, by itself."""

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Size:
    """How many trials, how long a silent one is waited for, and when the harness is killed.

    A kill is so many seconds after a start; they are dealt out to one model after the other. A run lasts at least as
    long as the trial of a model that hangs: that is when it can be killed.
    """

    models: int
    tasks: int
    repeats: int
    concurrency: int
    idle_seconds: int
    kills: tuple[float, ...]


@dataclass
class Field:
    """Everything that the runs of one size share."""

    root: Path
    size: Size
    servers: dict[str, RehearsalServer] = field(default_factory=dict)

    @property
    def dataset(self) -> Path:
        """The dataset's file."""
        return self.root / "many.yaml"

    def prepare(self) -> None:
        """Make the repository and the dataset."""
        upstream = new_repository(self.root / "upstream")
        (upstream / "notes.txt").write_text("one\n")
        commit_all(upstream, "the pinned commit")
        tasks = [
            {
                "id": f"task-{n}", "repo": str(upstream), "ref": "main", "complexity": "low",
                "problem_statement": f"Add line {n} to notes.txt.",
            }
            for n in range(self.size.tasks)
        ]  # fmt: skip
        header = {"schema_version": "1.0", "name": "many", "output_scope": "many"}
        self.dataset.write_bytes(orjson.dumps({**header, "tasks": tasks}))

    def start(self, place: Workplace, model: str) -> subprocess.Popen[bytes]:
        """Start, or resume, the run of one model."""
        words = place.words(
            "run", "--provider", "endpoint", "--endpoint", self.servers[model].base_url, "--model", model,
            "--dataset", self.dataset, "--repeats", str(self.size.repeats), "--concurrency", str(self.size.concurrency),
            "--idle-timeout-seconds", str(self.size.idle_seconds), "--max-retries", "1", "--skip-probe", "--resume",
        )  # fmt: skip
        with (place.root / f"{model}.log").open("ab") as log:
            return subprocess.Popen(
                words, cwd=BENCHMARKS, env=place.environ(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def finish(self, place: Workplace, model: str) -> None:
        """Start, or resume, the run of one model, and wait for its end: not all trials are good, and it says so."""
        code = wait_or_kill(self.start(place, model), seconds=1200)
        assert code == 1, (place.root / f"{model}.log").read_text()

    def requests(self, model: str) -> Counter[str]:
        """Return how many requests a model's server has got for each task."""
        return Counter(request.script for request in self.servers[model].requests if request.script)


@contextmanager
def playing(root: Path, size: Size) -> Iterator[Field]:
    """Serve the models, which outlive whatever is killed."""
    root.mkdir()
    ground = Field(root, size)
    ground.prepare()
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        for n in range(size.models):
            model = f"scripted-{n}"
            serving = portal.wrap_async_context_manager(rehearse(scenario(size.tasks), model=model))
            ground.servers[model] = stack.enter_context(serving)
        yield ground


def scenario(tasks: int) -> Scenario:
    """Return scripts that do each task well, but for the faults."""
    return Scenario.model_validate(
        {"schema_version": "1.0", "name": "many", "scripts": [_script(n) for n in range(tasks)]}
    )


def _script(n: int) -> dict[str, object]:
    documents = [*DESIGN_DOCUMENTS, "implementation.md"]
    writes = [{"write": {"path": f"${{artifacts_dir}}/{name}", "content": f"# {name} of {n}\n"}} for name in documents]
    steps = [
        {"say": "I look around.", "shell": "ls"},
        {"say": "I write everything down.", "all": writes},
        {"say": "I make the change.", "shell": f"echo 'line {n}' >> notes.txt"},
        {"say": "Done."},
    ]
    return {"when": f"task_id: task-{n}\n", "fault": FAULTS.get(n % 10), "steps": steps}


def expected(n: int) -> OutcomeKind:
    """Return how the trials of a task must end."""
    fault = FAULTS.get(n % 10)
    hangs = fault is not None and fault.times is None
    return OutcomeKind.PROVIDER_ERROR if hangs else OutcomeKind.COMPLETED  # the agent waits: it is the model that hangs


def table(place: Workplace, model: str) -> Rows:
    """Return the final table of one model, without what differs from run to run: times, repeated calls."""
    scope = place.results / model / "claude-code" / "swe3" / "many"
    summary = summarize_scope(scope)
    rows: Rows = [(row.task, row.repeat, row.outcome, row.blame, row.artifacts_produced) for row in summary.tasks]
    means = (summary.num_tasks, summary.num_failed, summary.valid_trials.num_trials, tuple(summary.outcomes.items()))
    return [*rows, means]


def wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Return a run's exit code; ``None`` where it had not ended by then, and was killed without a warning."""
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait()


def finished(place: Workplace, model: str) -> dict[TrialFolder, dict[Path, tuple[bytes, int]]]:
    """Return the trials that are finished, with all of their files."""
    found = {}
    for folder in trial_folders(place.results / model):
        if folder.metrics().outcome.valid:
            files = [path for path in folder.path.rglob("*") if path.is_file()]
            found[folder] = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    return found
