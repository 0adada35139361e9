"""Killed at each moment of a trial and gone on with each time: no call is lost, none is counted twice."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import BENCHMARKS, Workplace, needs_agent
from e2e.test_ledger import KEY, MODEL, answered, check, dollars, wait_for
from swetrials.records.metrics import DESIGN_DOCUMENTS, Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.records.summary import RunSummary
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.store.files import RecordError, read_record
from swetrials.store.results import TrialFolder
from workspace.sources import commit_all, new_repository

pytestmark = [pytest.mark.slow, needs_agent("claude")]

GIT = """#!/bin/sh
# The harness asks for a difference when it collects a trial's patch.
case " $* " in *" diff "*) if [ -e "{hold}" ]; then . "{hold}"; fi;; esac
exec "{git}" "$@"
"""


HANGS = {"kind": FaultKind.HANG_MID_STREAM, "times": 1, "at_step": 1}


def scenario(fault: object) -> Scenario:
    """A trial of four calls, with a pause before the last."""
    writes = [
        {"write": {"path": f"${{artifacts_dir}}/{name}", "content": f"# {name}\n"}}
        for name in (*DESIGN_DOCUMENTS, "implementation.md")
    ]
    steps: list[object] = [
        {"say": "I look around.", "shell": "ls"},
        {"say": "I write everything down.", "all": writes},
        {"say": "I make the change.", "shell": "echo one more >> notes.txt; sleep 3"},
        {"say": "Done."},
    ]
    script = {"when": "task_id: add-a-line", "fault": fault, "steps": steps}
    return Scenario.model_validate({"schema_version": "1.0", "name": "kills", "scripts": [script]})


@dataclass
class Sessions:
    """The sessions of one run, and the server that they pay."""

    root: Path
    server: RehearsalServer
    place: Workplace = field(init=False)
    log: str = ""
    seen: int = 0

    def __post_init__(self) -> None:
        upstream = new_repository(self.root / "upstream")
        (upstream / "notes.txt").write_text("one\n")
        commit_all(upstream, "the pinned commit")
        self.write_dataset("Add a line to notes.txt.")
        git = self.root / "bin" / "git"
        git.parent.mkdir()
        git.write_text(GIT.format(hold=self.collecting, git=shutil.which("git")))
        git.chmod(0o755)
        path = f"{git.parent}:{os.environ['PATH']}"
        self.place = Workplace(self.root / "place", {"SWETRIALS_API_KEY": KEY, "PATH": path})

    @property
    def collecting(self) -> Path:
        """What a shell does when a trial's patch is collected."""
        return self.root / "collecting.sh"

    @property
    def folder(self) -> TrialFolder:
        """The trial's."""
        return TrialFolder(self.place.results / MODEL / "claude-code" / "swe3" / "kills" / "add-a-line")

    def write_dataset(self, statement: str) -> None:
        """Write the dataset of one task."""
        task = {
            "id": "add-a-line", "repo": str(self.root / "upstream"), "ref": "main", "complexity": "low",
            "problem_statement": statement,
        }  # fmt: skip
        header = {"schema_version": "1.0", "name": "kills", "output_scope": "kills"}
        (self.root / "kills.yaml").write_bytes(orjson.dumps({**header, "tasks": [task]}))

    def words(self, *more: str) -> list[str]:
        """The command, the same in each session."""
        return [
            "run", "--provider", "endpoint", "--endpoint", self.server.base_url, "--model", MODEL, "--skip-probe",
            "--dataset", str(self.root / "kills.yaml"), "--max-budget-usd", "5", "--resume", *more,
        ]  # fmt: skip

    def kill_when(self, moment: Callable[[], bool], *more: str, meanwhile: Callable[[], None] | None = None) -> None:
        """Start a session, and kill it at a moment."""
        self.seen = len(self.server.requests)
        log = self.root / "session.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                self.place.words(*self.words(*more)), cwd=BENCHMARKS, env=self.place.environ(),
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
            try:
                wait_for(lambda: moment() or process.poll() is not None)
                assert moment(), log.read_text()
                if meanwhile is not None:
                    meanwhile()
            finally:
                process.kill()
                process.wait()

    @property
    def new(self) -> list[bool]:
        """Of each call of this session: whether it has been answered whole."""
        return [request.complete for request in self.server.requests[self.seen :]]

    def record(self) -> Metrics | None:
        """The trial's record, where there is one."""
        try:
            return self.folder.metrics()
        except RecordError:
            return None

    def log_has_begun(self, number: int) -> bool:
        """Whether an attempt is under way, and has asked nothing yet."""
        return (self.folder.attempt_folder(number) / "requests.jsonl").exists() and not self.new

    def check_summary(self) -> None:
        """What the summary says now is what the server has answered whole."""
        told = self.place.command("summarize", "--folder", str(self.folder.path.parent))
        assert told.returncode == 0, told.stdout + told.stderr
        summary = read_record(self.folder.path.parent / "run-summary.json", RunSummary)
        truth = answered(self.server)
        if truth.total:
            check(summary.usage, truth)
            assert summary.cost.amount_usd == pytest.approx(dollars(truth), rel=1e-9)
        else:
            assert (summary.usage.usage.total, summary.cost.amount_usd) == (None, None)


@pytest.fixture
def sessions(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Sessions]:
    fault = getattr(request, "param", None)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(scenario(fault), model=MODEL)) as server,
    ):
        yield Sessions(tmp_path, server)


@pytest.mark.parametrize("sessions", [HANGS], indirect=True, ids=["the second call of one attempt never ends"])
def test_killed_at_each_moment_and_gone_on_with(sessions: Sessions) -> None:
    sessions.kill_when(lambda: sessions.log_has_begun(1))
    assert answered(sessions.server).total in {None, 0}
    sessions.check_summary()

    sessions.kill_when(lambda: sessions.new[-1:] == [False] and len(sessions.new) > 1,
                       meanwhile=lambda: check_second(sessions))  # fmt: skip
    sessions.check_summary()

    sessions.kill_when(lambda: sessions.new.count(True) == 3 and logged(sessions, 3) == 3)
    sessions.check_summary()

    held = sessions.root / "held"
    sessions.collecting.write_text(f"touch {held}; sleep 20\n")
    sessions.kill_when(held.exists)
    sessions.collecting.unlink()
    sessions.check_summary()

    before = answered(sessions.server)
    sessions.kill_when(lambda: (record := sessions.record()) is not None and record.outcome.valid)
    assert f"limit $5.00, at least ${dollars(before):.2f} of it spent" in (sessions.root / "session.log").read_text()
    truth = answered(sessions.server)
    done = sessions.place.run(*sessions.words())
    assert done.returncode == 0, done.stdout + done.stderr
    assert answered(sessions.server) == truth

    record = sessions.folder.metrics()
    assert record.outcome.kind is OutcomeKind.COMPLETED
    ends = [(attempt.number, attempt.ended_by) for attempt in record.attempts]
    assert ends == [(1, "killed"), (2, "killed"), (3, "killed"), (4, "killed"), (5, "exited")]
    assert [attempt.num_turns for attempt in record.attempts] == [0, 1, 3, 4, 4]
    check(record.usage.headline, truth)
    assert record.cost.status == "lower_bound"
    assert record.total_cost_usd == record.cost.amount_usd == pytest.approx(dollars(truth), rel=1e-9)
    assert (record.spent_elsewhere_usd, record.spent_elsewhere_is_lower_bound) == (None, False)
    assert (record.time.queue_seconds or 0.0) >= 0
    shutil.rmtree(sessions.place.results / ".trash")
    sessions.check_summary()

    # Another wording is another trial; what the first one cost stands beside it, whatever is killed on the way.
    sessions.write_dataset("Add one line to notes.txt.")
    sessions.kill_when(lambda: (record := sessions.record()) is not None and not record.attempts, "--force")
    shutil.rmtree(sessions.place.results / ".trash")
    spent = answered(sessions.server)
    assert spent == truth
    done = sessions.place.run(*sessions.words("--force"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"limit $5.00, at least ${dollars(spent):.2f} of it spent" in done.stdout
    record = sessions.folder.metrics()
    assert [attempt.ended_by for attempt in record.attempts][-1] == "exited"
    assert record.spent_elsewhere_usd == pytest.approx(dollars(truth), rel=1e-9)
    assert record.spent_elsewhere_is_lower_bound
    everything = (record.total_cost_usd or 0.0) + (record.spent_elsewhere_usd or 0.0)
    assert everything == pytest.approx(dollars(answered(sessions.server)), rel=1e-9)


def logged(sessions: Sessions, number: int) -> int:
    """How many calls of an attempt the meter has logged."""
    return (sessions.folder.attempt_folder(number) / "requests.jsonl").read_bytes().count(b"\n")


def check_second(sessions: Sessions) -> None:
    """A second session beside one that is at work is refused, in one line, and changes nothing."""
    before = sessions.folder.metrics_file.read_bytes()
    second = sessions.place.run(*sessions.words())
    assert (second.returncode, second.stderr.count("\n")) == (2, 1), second.stderr
    assert f"another run is writing to {sessions.folder.path.parent}" in second.stderr
    assert sessions.folder.metrics_file.read_bytes() == before


@pytest.fixture
def small_disk(sessions: Sessions) -> Iterator[Path]:
    """A disk with room for bytes, and for few files."""
    disk = sessions.place.results
    disk.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1g,nr_inodes=400", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_disk_that_is_full_when_the_record_is_written_loses_nothing(sessions: Sessions, small_disk: Path) -> None:
    fill = small_disk / "fill"
    fill.mkdir()
    sessions.collecting.write_text(f"i=0; while : > {fill}/$i; do i=$((i+1)); done 2> /dev/null\n")
    full = sessions.place.run(*sessions.words())
    sessions.collecting.unlink()
    assert full.returncode == 1
    assert "Traceback" not in full.stdout + full.stderr
    assert "No space left on device" in full.stderr and full.stderr.count("\n") == 1, full.stderr
    before = answered(sessions.server)
    assert before.total
    again = sessions.place.run(*sessions.words())
    assert again.returncode != 0
    assert "Traceback" not in again.stdout + again.stderr
    assert answered(sessions.server) == before

    shutil.rmtree(fill)
    sessions.check_summary()
    done = sessions.place.run(*sessions.words())
    assert done.returncode == 0, done.stdout + done.stderr
    record = sessions.folder.metrics()
    assert [attempt.number for attempt in record.attempts] == [1, 2]
    check(record.usage.headline, answered(sessions.server))
    assert not list(small_disk.rglob("*.tmp"))
