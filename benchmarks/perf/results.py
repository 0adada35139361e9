"""What summarising many trials costs: ten thousand of them, beside a loop that does nothing but parse their files."""

import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import orjson
from figures import Figure

from swetrials.records.cost import Cost
from swetrials.records.evaluation import UNITS, Evaluation, RubricEvaluation, UnitScore
from swetrials.records.metrics import (
    EXPECTED_ARTIFACTS,
    AttemptRecord,
    Metrics,
    Provenance,
    TimeSplit,
    TrialIdentity,
)
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.results.results_tree import read_rows
from swetrials.store.files import to_json

MODELS, TASKS, REPEATS = 20, 50, 10
ROUNDS = 3
MOST_SECONDS = 3.0
MOST_RATIO = 4.0

ROWS = f"{MODELS * TASKS * REPEATS:,} trials, rows and means"
TABLE = f"{MODELS * TASKS * REPEATS:,} trials, the command"

COMMAND = Path(sys.executable).with_name("swetrials")

USAGE = UsageReport(
    usage=Usage(fresh_input=2_000, cache_read=2_000_000, cache_write=60_000, output=20_000), completeness="complete"
)
BLOCK = UsageBlock(headline=USAGE, source="metered", reported=USAGE, metered=USAGE)
TIME = TimeSplit(wall_seconds=232.8, api_seconds=200.0, waiting_seconds=0.0, queue_seconds=1.0)
COST = Cost(amount_usd=0.4, basis="metered", status="complete")
PROVENANCE = Provenance(
    harness_version="0.1.0",
    skill_sha256="0" * 64,
    prompt_sha256="0" * 64,
    sandbox="bubblewrap",
    permission_mode="acceptEdits",
    python_version="3.11.0",
    platform="linux",
)


@dataclass(frozen=True)
class Spent:
    """Seconds of the clock and of processors."""

    wall: float
    processor: float


def measure() -> list[Figure]:
    """Summarise a tree as the statistics do, and by the command."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        _write(tree)
        parsed, read, told = _best(parse, tree), _best(summarise, tree), _best(command, tree)
    return [figure for what, took in ((ROWS, read), (TABLE, told)) for figure in _figures(what, parsed, took)]


def _figures(what: str, parsed: Spent, took: Spent) -> Iterator[Figure]:
    yield Figure(what, "s", parsed.wall, took.wall, took.wall, "s", MOST_SECONDS)
    ratio = took.processor / parsed.processor
    yield Figure(f"{what}: processor, to parsing", "s", parsed.processor, took.processor, ratio, "x", MOST_RATIO)


def parse(tree: Path) -> None:
    """Do the least that any reader has to do."""
    for file in tree.rglob("*.json"):
        orjson.loads(file.read_bytes())


def summarise(tree: Path) -> None:
    """Read every trial, and take the mean score of each model."""
    scores = defaultdict[str, list[float]](list)
    for row in read_rows(tree):
        if row.score is not None:
            scores[row.model].append(row.score)
    assert len([fmean(values) for values in scores.values()]) == MODELS


def command(tree: Path) -> None:
    """Print the table, start-up of the command included."""
    done = subprocess.run([COMMAND, "results", tree], check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"{MODELS * TASKS * REPEATS:,} trials in {MODELS} runs"), done.stdout


def _best(run: Callable[[Path], None], tree: Path) -> Spent:
    """Return the least of some runs: what the rest of the machine disturbed least."""
    runs = []
    for _ in range(ROUNDS):
        started, used = time.perf_counter(), _used()
        run(tree)
        runs.append(Spent(time.perf_counter() - started, _used() - used))
    return Spent(min(spent.wall for spent in runs), min(spent.processor for spent in runs))


def _used() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _write(tree: Path) -> None:
    """Write the records of trials with one attempt each, about as long as real ones."""
    for folder, metrics in _trials():
        path = tree / folder
        path.mkdir(parents=True)
        (path / "metrics.json").write_bytes(to_json(metrics))
        assert metrics.evaluation is not None
        (path / "eval.json").write_bytes(to_json(metrics.evaluation))


def _trials() -> Iterator[tuple[str, Metrics]]:
    for model in range(MODELS):
        for task in range(TASKS):
            for repeat in range(1, REPEATS + 1):
                suffix = "" if repeat == 1 else f"--r{repeat}"
                folder = f"model-{model}/claude-code/swe3/perf/task-{task}{suffix}"
                yield folder, _record(f"model-{model}", f"task-{task}", repeat)


def _record(model: str, task: str, repeat: int) -> Metrics:
    trial_id = f"{model}/{task}--r{repeat}"
    outcome = Outcome.of(OutcomeKind.COMPLETED)
    unit = UnitScore(completeness=20, correctness=18, specificity=15, risk_awareness=repeat, notes="As asked. " * 20)
    rubric = RubricEvaluation(
        status="scored", task_score=unit.total, scores=dict.fromkeys(UNITS, unit), verdict="Good."
    )
    attempt = AttemptRecord(
        id="1",
        number=1,
        reason="first",
        started_at="2026-09-01T00:00:00+00:00",
        ended_at="2026-09-01T00:04:00+00:00",
        outcome=outcome,
        artifacts_produced=EXPECTED_ARTIFACTS,
        usage=BLOCK,
        cost=COST,
        time=TIME,
        num_turns=33,
        exit_code=0,
        ended_by="exited",
    )
    return Metrics(
        task=task,
        repo="https://git.example/thing.git",
        ref="v1",
        complexity="low",
        model=model,
        model_slug=model,
        agent="claude-code",
        skill="swe3",
        provider="bedrock",
        artifacts_produced=EXPECTED_ARTIFACTS,
        latency_seconds=232.8,
        num_turns=33,
        run_started_at="2026-09-01T00:00:00+00:00",
        run_ended_at="2026-09-01T00:04:00+00:00",
        trial=TrialIdentity(
            id=trial_id,
            repeat=repeat,
            scope="perf",
            dataset="perf",
            dataset_sha256="0" * 64,
            task_sha256="0" * 64,
            rehearsal=False,
        ),
        usage=BLOCK,
        cost=COST,
        cost_winning_attempt=COST,
        time=TIME,
        outcome=outcome,
        attempts=(attempt,),
        provenance=PROVENANCE,
        evaluation=Evaluation(task=task, trial_id=trial_id, rubric=rubric),
    )
