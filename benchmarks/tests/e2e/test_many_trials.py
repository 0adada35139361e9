"""Many trials at a time, misbehaving models, a harness that is killed and resumed: nothing lost, nothing twice."""

import os
import pathlib
import random

import pytest

from e2e.harness import Workplace, needs_agent
from e2e.many import Field, Size, expected, finished, playing, table, wait_or_kill
from swetrials.records.outcome import OutcomeKind
from swetrials.store.results import trial_folders

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), needs_agent("claude")]

KEY = {"SWETRIALS_API_KEY": "key-of-the-endpoint"}
_CHANCE = random.Random(20)
SMALL = Size(2, 4, 1, 4, idle_seconds=12, kills=tuple(_CHANCE.uniform(3, 11) for _ in range(2)))
FULL = Size(3, 10, 2, 8, idle_seconds=20, kills=tuple(_CHANCE.uniform(3, 19) for _ in range(5)))
ONLY_IN_FULL = pytest.mark.skipif("MANY_TRIALS" not in os.environ, reason="60 trials: set MANY_TRIALS to run them")


@pytest.mark.parametrize("size", [SMALL, pytest.param(FULL, marks=ONLY_IN_FULL)], ids=["small", "full"])
def test_killed_and_resumed_it_comes_to_the_same(tmp_path: pathlib.Path, size: Size) -> None:
    with playing(tmp_path / "in-one-go", size) as ground:
        place = Workplace(tmp_path / "in-one-go", KEY)
        for model in ground.servers:
            ground.finish(place, model)
        check_outcomes(place, size)
        tables = {model: table(place, model) for model in ground.servers}
    with playing(tmp_path / "killed", size) as ground:
        place = Workplace(tmp_path / "killed", KEY)
        killed = [run_through_kills(ground, place, model, size.kills[n :: size.models]) for n, model in models(ground)]
        assert {model: table(place, model) for model in ground.servers} == tables
        assert sum(killed) == len(size.kills)
    check_outcomes(place, size)


def models(ground: Field) -> list[tuple[int, str]]:
    return list(enumerate(ground.servers))


def run_through_kills(ground: Field, place: Workplace, model: str, kills: tuple[float, ...]) -> int:
    """Start a run as often as it is killed and once more; what was finished is never touched or asked for again."""
    done = {}
    asked = ground.requests(model)
    killed = 0
    for after_seconds in kills:
        killed += wait_or_kill(ground.start(place, model), after_seconds) is None
        done = finished(place, model)
        asked = ground.requests(model)
    ground.finish(place, model)
    again = finished(place, model)
    for folder, files in done.items():
        assert again[folder] == files
    names = {folder.path.name for folder in done}
    whole = [n for n in range(ground.size.tasks) if {f"task-{n}", *repeats(n, ground.size)} <= names]
    for n in whole:
        script = f"task_id: task-{n}\n"
        assert ground.requests(model)[script] == asked[script]
    return killed


def repeats(n: int, size: Size) -> list[str]:
    return [f"task-{n}--r{repeat}" for repeat in range(2, size.repeats + 1)]


def check_outcomes(place: Workplace, size: Size) -> None:
    """Every trial ended as its script demands, and nothing of any attempt is left."""
    records = [folder.metrics() for folder in trial_folders(place.results)]
    assert len(records) == size.models * size.tasks * size.repeats
    for record in records:
        assert record.outcome.kind is expected(int(record.task.removeprefix("task-"))), record.outcome.detail
        waited = record.time.waiting_seconds or 0
        assert record.outcome.kind is OutcomeKind.PROVIDER_ERROR or waited < (record.time.wall_seconds or 0)
        assert all(attempt.survivors == 0 for attempt in record.attempts)
    assert [path.name for path in place.work.iterdir()] == ["mirrors"]
