"""What the harness adds to a trial: the real command with an agent that answers at once, against a bare loop.

The bare loop does for each trial what nobody can leave out: ``git clone --depth 1``, the same agent, one JSON file.
It does neither what makes a trial trustworthy (a private home, a proof that nothing lives on, the meter, a patch,
a dozen files of records) nor what makes it last (``fsync``, clearing up).
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from figures import Figure, percentage
from processes import running

from swetrials.agents.packages import PACKAGES
from swetrials.rehearsal import Scenario, rehearse
from swetrials.store.project import HOME_VARIABLE, find_project
from swetrials.workspace.repositories import Repositories

AGENT = Path(__file__).with_name("stand_in_agent.sh")
COMMAND = Path(sys.executable).with_name("swetrials")
SCENARIO = Scenario.model_validate({"schema_version": "1.0", "name": "perf", "scripts": []})

FILES, FOLDERS, COMMITS = 300, 30, 20
CHECKOUTS = 40
TRIALS = (20, 200)
CONCURRENCIES = (1, 8)
MANY = 32
ROUNDS = 3
START_ROUNDS = 5

MOST_ADDED_PERCENT = 0.0
MEGABYTES, MEGABYTES_PER_TRIAL = 60, 2

MEMORY = Path("/dev/shm")
"""A file system in memory, where there is one: a disk's own moods are several times what is measured."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Spent:
    """What some trials took: seconds of the clock and of processors, and the most memory of the one in charge."""

    wall: float
    processor: float
    megabytes: float = 0.0


@dataclass(frozen=True)
class Yard:
    """A repository, a dataset of one task over it, and a project whose agent is the stand-in."""

    root: Path
    endpoint: str

    @property
    def source(self) -> str:
        """Address of the repository, as git takes it for another machine's."""
        return (self.root / "source").as_uri()

    def fresh(self, name: str) -> Path:
        """Return an empty folder."""
        folder = self.root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder


def measure() -> list[Figure]:
    """Return the figures of trials, checkouts, memory and start-up."""
    with yard() as place:
        harness(place, 1, 1)
        runs = [over_the_agent(place, at_once) for at_once in CONCURRENCIES]
        return [*chain(*runs), checkouts(place), memory(place), start_up()]


def over_the_agent(place: Yard, at_once: int) -> Iterator[Figure]:
    """Compare wall time and processor time of whole runs with the bare loop's, then of what a further trial takes."""
    fewest, most = (compared(place, count, at_once) for count in TRIALS)
    for count, (bare, ours) in zip(TRIALS, (fewest, most), strict=True):
        what = f"{count} trials, {at_once} at a time"
        # A run's start-up and pre-flight are most of what a few short trials take.
        limit = MOST_ADDED_PERCENT if count == max(TRIALS) else None
        yield percentage(what, "s", [bare.wall], [ours.wall], limit)
        yield percentage(f"{what}: processor", "s", [bare.processor], [ours.processor], limit=None)
    further = [(more.wall - less.wall) / (TRIALS[1] - TRIALS[0]) for less, more in zip(fewest, most, strict=True)]
    what = f"a further trial, {at_once} at a time"
    yield percentage(what, "ms", *([seconds * 1000] for seconds in further), MOST_ADDED_PERCENT)


def compared(place: Yard, count: int, at_once: int) -> tuple[Spent, Spent]:
    """Return what the bare loop and the command took, the shortest of some rounds of each."""
    bare, ours = list[Spent](), list[Spent]()
    for number in range(ROUNDS if count == min(TRIALS) else 1):
        turns = [(bare_loop, bare), (harness, ours)]
        for run, spent in turns[:: 1 if number % 2 else -1]:
            spent.append(run(place, count, at_once))
    return min(bare, key=lambda one: one.wall), min(ours, key=lambda one: one.wall)


def checkouts(place: Yard) -> Figure:
    """Compare checkouts out of a warm mirror with clones."""
    repositories = Repositories(place.fresh("mirrors"))
    commit = repositories.resolve(place.source, "v1")
    into = place.fresh("checkouts")
    started = time.perf_counter()
    for number in range(CHECKOUTS):
        repositories.check_out(place.source, commit, into / str(number))
    ours = time.perf_counter() - started
    into = place.fresh("clones")
    started = time.perf_counter()
    for number in range(CHECKOUTS):
        clone(place, into / str(number))
    bare = time.perf_counter() - started
    return percentage("one checkout", "ms", [bare / CHECKOUTS * 1000], [ours / CHECKOUTS * 1000], MOST_ADDED_PERCENT)


def memory(place: Yard) -> Figure:
    """Return the command's peak with many trials at a time."""
    peak = harness(place, 2 * MANY, MANY).megabytes
    limit = MEGABYTES + MEGABYTES_PER_TRIAL * MANY
    return Figure(f"peak memory, {MANY} at a time", "MB", None, peak, peak, "MB", limit)


def start_up() -> Figure:
    """Return the time of a command that does nothing, against a Python that does nothing."""
    bare, ours = list[float](), list[float]()
    for _ in range(START_ROUNDS):
        for words, walls in (([sys.executable, "-c", "pass"], bare), ([str(COMMAND), "--version"], ours)):
            started = time.perf_counter()
            subprocess.run(words, check=True, capture_output=True)
            walls.append((time.perf_counter() - started) * 1000)
    return Figure("start-up of the command", "ms", min(bare), min(ours), min(ours) - min(bare), "ms")


def harness(place: Yard, count: int, at_once: int) -> Spent:
    """Run trials by the real command."""
    results = place.fresh("results")
    words = [COMMAND, "run", "--provider", "endpoint", "--endpoint", place.endpoint, "--model", "m", "--skip-probe"]
    words += ["--dataset", place.root / "dataset.yaml", "--repeats", str(count), "--concurrency", str(at_once)]
    words += ["--output-dir", results, "--clone-dir", place.root / "work", "--sandbox", "none"]
    environment = {**os.environ, HOME_VARIABLE: str(place.root / "clone" / "benchmarks"), "SWETRIALS_API_KEY": "k"}
    with (place.root / "said.txt").open("wb") as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    records = [json.loads(file.read_bytes()) for file in results.rglob("metrics.json")]
    good = [r for r in records if r["outcome"]["kind"] == "completed" and len(r["attempts"]) == 1]
    if process.returncode != 0 or len(good) != count:
        raise SystemExit((place.root / "said.txt").read_text())
    return Spent(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def bare_loop(place: Yard, count: int, at_once: int) -> Spent:
    """Do the least that trials need."""
    into = place.fresh("bare")
    started, used = time.perf_counter(), processor_so_far()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda number: bare_trial(place, into / str(number)), range(count)))
    return Spent(time.perf_counter() - started, processor_so_far() - used)


def processor_so_far() -> float:
    """Return the seconds of processor time that this process and those it has waited for have taken."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def bare_trial(place: Yard, folder: Path) -> None:
    """Clone, run the agent, write what it said into one file."""
    artifacts = folder / "artifacts"
    artifacts.mkdir(parents=True)
    clone(place, folder / "checkout")
    began = time.time()
    done = subprocess.run(
        [AGENT, "-p", f"task_id: perf\nartifacts_dir: {artifacts}\n"],
        cwd=folder / "checkout",
        env={"PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": place.endpoint},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    result = json.loads(done.stdout.splitlines()[-1])
    (folder / "metrics.json").write_text(json.dumps({"seconds": time.time() - began, "usage": result["usage"]}))


def clone(place: Yard, into: Path) -> None:
    """Clone the repository as a script would."""
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", "--branch", "v1", place.source, into],
        check=True,
        capture_output=True,
    )


@contextmanager
def yard() -> Iterator[Yard]:
    """Make a yard, with an endpoint that answers at once in a process of its own."""
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, running(serve_endpoint) as (endpoint, _):
        place = Yard(Path(folder), endpoint)
        make_repository(place.root / "source")
        make_project(place.root / "clone" / "benchmarks")
        task = {"id": "perf", "repo": place.source, "ref": "v1", "complexity": "low", "problem_statement": "Do it."}
        dataset = {"schema_version": "1.0", "name": "perf", "output_scope": "perf", "tasks": [task]}
        (place.root / "dataset.yaml").write_text(json.dumps(dataset))
        yield place


def make_repository(folder: Path) -> None:
    """Make a repository of some size with some history."""
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=n@localhost"]
    folder.mkdir()
    subprocess.run([*git, "init", "--quiet"], check=True)
    for number in range(FILES):
        file = folder / f"folder-{number % FOLDERS}" / f"file-{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"line {line} of file {number}\n" for line in range(100)))
    for number in range(COMMITS):
        (folder / "folder-0" / "file-0.txt").write_text(f"change {number}\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", f"--message=change {number}"], check=True)
    subprocess.run([*git, "tag", "v1"], check=True)


def make_project(folder: Path) -> None:
    """Make what the command takes for its clone, with the stand-in for Claude Code."""
    real, package = find_project(), PACKAGES["claude"]
    (folder / "src" / "swetrials").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    shutil.copytree(real.config, folder / "config")
    (folder.parent / ".claude").mkdir()
    (folder.parent / ".claude" / "skills").symlink_to(real.skills)
    modules = folder / ".tools" / package.name / "node_modules"
    program = modules / "@anthropic-ai" / "claude-code-stand-in" / "claude"
    program.parent.mkdir(parents=True)
    shutil.copy(AGENT, program)
    (modules / package.npm).mkdir()
    (modules / package.npm / "package.json").write_text(json.dumps({"version": package.version}))


async def serve_endpoint(tell: Tell) -> None:
    """Answer every request shortly and at once."""
    async with rehearse(SCENARIO, model="m") as server:
        tell(server.base_url)
        await asyncio.Event().wait()
