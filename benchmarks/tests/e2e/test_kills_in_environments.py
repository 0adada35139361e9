"""A harness killed while it prepares, runs or verifies leaves nothing behind, and a resumed run gets to its end."""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from e2e.harness import BENCHMARKS, Workplace, needs_agent
from e2e.test_resume import wait_for
from swetrials.environments.bubblewrap import Bubblewrap, probe
from swetrials.environments.preparation_store import PreparationStore
from swetrials.records.outcome import OutcomeKind
from swetrials.store.project import find_project
from swetrials.store.results import TrialFolder
from workspace.sources import commit_all, new_repository

pytestmark = [
    pytest.mark.slow,
    needs_agent("claude"),
    pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here"),
]

NAMESPACES = ("user", "mnt", "net", "pid", "ipc", "uts")
TASK = "add-a-line"


@dataclass
class Sleepers:
    """Three commands that sleep, told apart by how long: one of setup, one of the agent, one of the tests."""

    setup: str = field(default_factory=lambda: _some_seconds())
    agent: str = field(default_factory=lambda: _some_seconds())
    tests: str = field(default_factory=lambda: _some_seconds())

    @property
    def all(self) -> tuple[str, ...]:
        """How long each sleeps, as it stands in its command."""
        return self.setup, self.agent, self.tests


def _some_seconds() -> str:
    """Return a time that stands in no other process's words."""
    return f"4.{secrets.randbelow(10**9):09d}"


def asleep(seconds: str) -> list[psutil.Process]:
    """Return the processes that sleep so long."""
    return [process for process in psutil.process_iter() if words_of(process) == ["sleep", seconds]]


def that_mention(*texts: str) -> list[list[str]]:
    """Return the words of every process that has one of the texts in them."""
    return [words for words in map(words_of, psutil.process_iter()) if any(text in " ".join(words) for text in texts)]


def words_of(process: psutil.Process) -> list[str]:
    """Return a process's words; none where it is gone, or has ended and waits to be looked at."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@contextmanager
def held_namespaces(process: psutil.Process) -> Iterator[set[str]]:
    """Yield the names of those namespaces of a process that are not ours.

    They are held open meanwhile: a name is given to another namespace once nothing holds it.
    """
    with ExitStack() as stack:
        for name in NAMESPACES:
            stack.enter_context(Path(f"/proc/{process.pid}/ns/{name}").open("rb"))
        yield namespaces(process.pid) - namespaces(os.getpid())


def namespaces(number: int) -> set[str]:
    """Return the names of a process's namespaces; none where it is gone, or another user's."""
    found = set()
    for name in NAMESPACES:
        with suppress(OSError):
            found.add(os.readlink(f"/proc/{number}/ns/{name}"))  # noqa: PTH115 - it names no path
    return found


def mounts(*places: Path) -> list[str]:
    """Return the machine's mounts at or from one of some places."""
    table = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return [line for line in table if any(str(place) in line for place in places)]


@dataclass
class Run:
    """One command, typed again after each kill."""

    place: Workplace
    sleepers: Sleepers
    words: list[str]
    store: PreparationStore

    def kill_while_asleep(self, seconds: str) -> None:
        """Start it, kill it while a command sleeps, and see that nothing of it goes on."""
        log = self.place.root / "session.log"
        with log.open("wb") as out, ExitStack() as stack:
            process = subprocess.Popen(
                self.place.words(*self.words), cwd=BENCHMARKS, env=self.place.environ(),
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
            try:
                wait_for(lambda: bool(asleep(seconds)) or process.poll() is not None)
                assert process.poll() is None, log.read_text()
                [sleeper] = asleep(seconds)
                own = stack.enter_context(held_namespaces(sleeper))
            finally:
                process.kill()
                process.wait()
            assert any(name.startswith("mnt:") for name in own)
            self.check_nothing_goes_on(own)

    def check_nothing_goes_on(self, own: set[str]) -> None:
        """No process is left, no namespace is held by anything, and nothing is mounted."""
        wait_for(lambda: not that_mention(*self.sleepers.all, str(self.place.root)), seconds=10)
        wait_for(lambda: not any(own & namespaces(number) for number in psutil.pids()), seconds=10)
        assert mounts(self.place.root, self.store.root) == []

    @property
    def folder(self) -> TrialFolder:
        """The trial's."""
        return TrialFolder(self.place.results / "rehearsal" / "claude-code" / "plain" / "kills" / TASK)

    def half_made(self) -> set[str]:
        """What lies where preparations are made."""
        return {path.name for path in self.store.making.iterdir()}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    sleepers = Sleepers()
    upstream = new_repository(tmp_path / "upstream")
    (upstream / "notes.txt").write_text("one\n")
    commit_all(upstream, "the pinned commit")
    task = {
        "id": TASK, "repo": "upstream", "ref": "main", "complexity": "low", "problem_statement": "Add a line.",
        "environment": {"setup": [["sh", "-c", f"mkdir made && sleep {sleepers.setup} && echo done > made/it"]]},
        "verify": {"commands": ["grep -q done made/it", "grep -q two notes.txt", f"sleep {sleepers.tests}"]},
    }  # fmt: skip
    header = {"schema_version": "1.0", "name": "kills", "output_scope": "kills"}
    (tmp_path / "kills.yaml").write_text(json.dumps({**header, "tasks": [task]}))
    steps = [{"shell": f"echo two >> notes.txt; sleep {sleepers.agent}"}, {"say": "Done."}]
    script = {"when": f"task_id: {TASK}", "steps": steps}
    scenario = {"schema_version": "1.0", "name": "kills", "scripts": [script]}
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario))
    store = PreparationStore.of(find_project())
    before = {stored.record.sha256 for stored in store.stored()}
    words = [
        "e2e", "--provider", "rehearsal", "--model", "rehearsal", "--environment", "bubblewrap", "--judge", "tests",
        "--dataset", str(tmp_path / "kills.yaml"), "--scenario", str(tmp_path / "scenario.yaml"), "--resume",
    ]  # fmt: skip
    (tmp_path / "place").mkdir()
    yield Run(Workplace(tmp_path / "place"), sleepers, words, store)
    for sha256 in {stored.record.sha256 for stored in store.stored()} - before:
        store.remove(sha256)


def test_killed_at_three_moments_and_gone_on_with(run: Run) -> None:
    run.kill_while_asleep(run.sleepers.setup)
    half = run.half_made()
    assert half, "nothing was being prepared"
    assert not run.folder.path.exists()

    run.kill_while_asleep(run.sleepers.agent)
    assert not run.half_made() & half, "a half preparation is left"
    assert run.folder.metrics().outcome.kind is OutcomeKind.INTERRUPTED

    run.kill_while_asleep(run.sleepers.tests)
    assert run.folder.metrics().outcome.kind is OutcomeKind.COMPLETED
    assert not run.folder.evaluation_file.exists()

    done = run.place.run(*run.words)
    assert done.returncode == 0, done.stdout + done.stderr
    record = run.folder.metrics()
    assert [known.ended_by for known in record.attempts] == ["killed", "exited"]
    assert record.evaluation is not None and record.evaluation.tests is not None
    assert record.evaluation.tests.passed, record.evaluation.tests
    assert {path.name for path in run.place.work.iterdir()} <= {"mirrors", "locks"}, "a checkout is left"
