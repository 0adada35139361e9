"""What a prepared environment and its seal add to an attempt, and what a verification takes beside its commands.

Each part is measured against the same run without it, in turns: a prepared start against one on a bare checkout, a
sealed start against one in the same sandbox with an open network, sealed runs of the real Claude Code against open
ones, and a verification against its commands alone.
"""

import asyncio
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import Figure, difference, percentage
from processes import running
from pydantic import SecretStr

from swetrials.agents.install import find
from swetrials.agents.packages import PACKAGES
from swetrials.environments.base import Held, Network, View
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.door import Door, behind
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.sealing import SEALED_PORT
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.dataset import Task
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.sealing import Sealing
from swetrials.store.project import Project, find_project
from swetrials.store.redaction import Redactor
from swetrials.wire.meter import metered
from swetrials.wire.route import Route
from swetrials.workspace.processes import Command, ProcessLimits, run_captured
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import attempt_space_aside
from trials import COMMAND, make_repository, serve_endpoint

STARTS = 30
VERIFICATIONS = 10
TRIALS = 200
"""Of the real Claude Code, of each kind."""

TURNS_OF_THE_SCRIPT = 6
"""Of each task of the quickstart; one of them ends without all of its artifacts."""

PREPARED_FILES = 5000
MOST_LATER_MS = 100.0
MOST_FOR_SEALING_MS = 30.0
MOST_ADDED_PERCENT = 5.0
OWN_TIMES, MOST_BESIDE_SECONDS = 1.3, 0.5
"""What a verification may take: so many times what its commands take alone, and so many seconds more."""

SETUP = f"""
import pathlib
for number in range({PREPARED_FILES}):
    file = pathlib.Path("deps", f"package_{{number % 100}}", f"module_{{number}}.py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x = 1\\n" * 50)
"""
TEST = """
import pathlib, unittest

class Works(unittest.TestCase):
    def test_it(self):
        self.assertTrue(any(pathlib.Path("deps").iterdir()))
        self.assertGreater(sum(number * number for number in range(5_000_000)), 0)
"""
COMMANDS = tuple(("python", "-m", "unittest", "-q", f"test_{name}") for name in "abc")
LIMITS = ProcessLimits(60)


@dataclass(frozen=True)
class Bench:
    """A repository with what is prepared for it, and where attempts at it are made."""

    root: Path
    place: WorkContext
    repo: str
    commit: str

    @property
    def prepared(self) -> EnvironmentSpec:
        """What is prepared: a virtual environment, and a folder of many files in the checkout."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return EnvironmentSpec(python=version, setup=(("python", "setup_here.py"),))

    def source(self, spec: EnvironmentSpec) -> Source:
        """Return what an attempt starts from."""
        return Source(spec, self.repo, self.commit)


def measure(trials: int = TRIALS) -> list[Figure]:
    """Return the figures.

    Args:
        trials: of Claude Code, sealed and open each.
    """
    with tempfile.TemporaryDirectory() as folder, running(serve_endpoint) as (endpoint, _):
        bench = make_bench(Path(folder))
        return [
            asyncio.run(prepared_start(bench)),
            asyncio.run(sealed_start(bench, endpoint)),
            asyncio.run(tenth_verification(bench)),
            *sealed_trials(bench.root / "trials", trials),
        ]


def make_bench(root: Path) -> Bench:
    """Make a repository and a project of its own, which uses the real one's uv."""
    subject = root / "subject"
    make_repository(subject)
    (subject / "setup_here.py").write_text(SETUP)
    for name in "abc":
        (subject / f"test_{name}.py").write_text(TEST)
    git = ["git", "-C", str(subject), "-c", "user.name=n", "-c", "user.email=n@localhost"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message=tests"], check=True)
    tools = root / "project" / ".tools"
    tools.mkdir(parents=True)
    if (uv := find_project().tools / "uv").exists():
        (tools / "uv").symlink_to(uv)
    work_root = root / "work"
    work_root.mkdir(mode=0o700)
    project = Project(root / "project", brought_along=root / "none")
    environment = BubblewrapEnvironment.here((project.private,), ())
    place = WorkContext(Repositories.below(work_root), work_root, environment, Redactor(), project)
    return Bench(root, place, subject.as_uri(), place.repositories.resolve(subject.as_uri(), "HEAD"))


async def prepared_start(bench: Bench) -> Figure:
    """Measure from the wish for an attempt to the end of a command that does nothing in it."""
    sources = [bench.source(EnvironmentSpec()), bench.source(bench.prepared)]
    how = ""
    for source in sources:
        async with Preparations(bench.place).holding(source) as preparation:
            how = "copied" if preparation.copied else "an overlay"
    walls: list[list[float]] = [[], []]
    for turn in turns(STARTS):
        walls[turn].append(await _started(bench, sources[turn]))
    what = f"an attempt starts: prepared, {PREPARED_FILES} files and a Python, {how}"
    return difference(what, "ms", walls[0], walls[1], MOST_LATER_MS)


async def _started(bench: Bench, source: Source) -> float:
    place, name = bench.place, f"start-{secrets.token_hex(4)}"
    began = time.perf_counter()
    async with Preparations(place).holding(source) as preparation, attempt_space_aside(place.work_root, name) as space:
        place.repositories.check_out(source.repo, source.commit, space.checkout)
        view = await preparation.attach(place.environment.view(space, source.repository))
        command = place.environment.command(["true"], view, variables={}, writable=space.folders)
        await _run(command, name, None)
        return (time.perf_counter() - began) * 1000


async def sealed_start(bench: Bench, endpoint: str) -> Figure:
    """Measure from the meter's start to the end of a command that does nothing, sealed and with an open network."""
    real = Route(frozenset({"anthropic"}), endpoint, SecretStr("k"), "m")
    walls: list[list[float]] = [[], []]
    for turn in turns(STARTS):
        async with attempt_space_aside(bench.place.work_root, f"seal-{secrets.token_hex(4)}") as space:
            bench.place.environment.hand_over(space)
            view = bench.place.environment.view(space, "subject")
            walls[turn].append(await _sealed(bench, view, real, sealed=bool(turn)))
    return difference("an attempt starts: sealed, canaries held", "ms", walls[0], walls[1], MOST_FOR_SEALING_MS)


async def _sealed(bench: Bench, view: View, real: Route, *, sealed: bool) -> float:
    known: list[Sealing] = []

    def command(network: Network, held: Held | None) -> Command:
        environment, writable = bench.place.environment, view.outside.folders
        return environment.command(["true"], view, variables={}, writable=writable, network=network, held=held)

    began = time.perf_counter()
    log = view.outside.root / "requests.jsonl"
    async with AsyncExitStack() as stack:
        port = SEALED_PORT if sealed else None
        meter = await stack.enter_async_context(metered(real, log, Redactor(), port=port))
        door = Door(meter.serve, "model", known.append) if sealed else None
        confined, started = await stack.enter_async_context(behind(door, command))
        await _run(confined, view.outside.root.name, started)
    wall = (time.perf_counter() - began) * 1000
    assert [sealing.sealed for sealing in known] == [True] * sealed, known
    return wall


async def tenth_verification(bench: Bench) -> Figure:
    """Measure the tenth verification of a task, and its commands alone on a checkout of the same content."""
    task = Task.model_validate(
        {
            "id": "perf",
            "repo": bench.repo,
            "ref": bench.commit,
            "complexity": "low",
            "problem_statement": "Do it.",
            "verify": {"commands": COMMANDS},
        }
    )
    submission = Submission(
        task, "perf", Outcome.of(OutcomeKind.COMPLETED), bench.repo, bench.commit, {}, None, environment=bench.prepared
    )
    alone = bench.root / "alone"
    bench.place.repositories.check_out(bench.repo, bench.commit, alone)
    subprocess.run([sys.executable, "setup_here.py"], cwd=alone, check=True)
    wall = 0.0
    for _ in range(VERIFICATIONS):
        began = time.perf_counter()
        evaluation = await TestsJudge().score(submission, bench.place, bench.root / "unused.jsonl")
        wall = time.perf_counter() - began
        assert evaluation.passed, evaluation
    own = _commands_alone(alone)
    beside = wall - OWN_TIMES * own
    what = f"the tenth verification, beside {OWN_TIMES:g} times its commands'"
    return Figure(what, "s", own, wall, beside, "s", MOST_BESIDE_SECONDS)


def _commands_alone(checkout: Path) -> float:
    began = time.perf_counter()
    for _, *words in COMMANDS:
        subprocess.run([sys.executable, *words], cwd=checkout, check=True, capture_output=True)
    return time.perf_counter() - began


def sealed_trials(root: Path, trials: int) -> Iterator[Figure]:
    """Measure runs of the quickstart by the real Claude Code: half of the trials of each kind, there and back."""
    if find(PACKAGES["claude"], find_project().tools) is None:
        raise SystemExit("Claude Code is not installed: make setup")
    for kind in ("open", "sealed"):
        shutil.copytree(find_project().dataset, root / kind)
    opened, sealed = (root / kind / "quickstart.yaml" for kind in ("open", "sealed"))
    with opened.open("a") as file:
        file.write("\nenvironment:\n  network: open\n")
    tasks = sealed.read_text().count("\n  - id: ")
    repeats = max(1, round(trials / 2 / tasks))
    walls: list[list[float]] = [[], []]
    for turn in turns(2):
        walls[turn].append(_quickstart(root, (opened, sealed)[turn], repeats, tasks, sealed=bool(turn)))
    what = f"Claude Code, {2 * repeats * tasks} quickstart trials: sealed"
    yield percentage(what, "s", walls[0], walls[1], MOST_ADDED_PERCENT, sum)


def _quickstart(root: Path, dataset: Path, repeats: int, tasks: int, *, sealed: bool) -> float:
    results = root / "results"
    shutil.rmtree(results, ignore_errors=True)
    words = [COMMAND, "run", "--provider", "rehearsal", "--agent", "claude", "--dataset", dataset, "--repeats", repeats]
    words += ["--environment", "bubblewrap", "--output-dir", results, "--clone-dir", root / "work"]
    began = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - began
    records = [json.loads(file.read_bytes()) for file in results.rglob("metrics.json")]
    good = [r for r in records if _played_to_its_end(r) and (r["sealing"]["state"] == "proven") is sealed]
    if done.returncode != 0 or len(good) != repeats * tasks:
        raise SystemExit(done.stdout + done.stderr)
    return wall


def _played_to_its_end(record: dict[str, Any]) -> bool:
    kinds = {"completed", "incomplete_artifacts"}
    return record["outcome"]["kind"] in kinds and record["num_turns"] == TURNS_OF_THE_SCRIPT


async def _run(command: Command, mark: str, started: object) -> None:
    ended, said = await run_captured(command, LIMITS, mark=mark, started=started)
    assert ended.exit_code == 0, said.decode(errors="replace")


def turns(rounds: int) -> Iterator[int]:
    """Yield 0 and 1 there and back, so that what drifts on the machine is in both."""
    for number in range(rounds):
        yield from (0, 1)[:: 1 if number % 2 else -1]
