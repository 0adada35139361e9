"""Every fault of the rehearsal server, met by the real agents, ends in the outcome that names it."""

import pathlib

import pytest

from agents.blames import BLAMES
from e2e.agents import AGENTS_UNDER_TEST, CLAUDE, ENDINGS, HANGS, AgentUnderTest
from e2e.harness import QUICKSTART, Workplace, alive_with_mark, check_lower_bound, needs_agent
from swetrials.agents import AGENTS
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.rehearsal import FaultKind
from swetrials.store.results import trial_folders

pytestmark = pytest.mark.slow

# A limit is as long as an agent may need on a busy machine, unless the trial has to run into it.
LONG_SECONDS = 120
SLOW_SECONDS = 12

ONCE = (CLAUDE, FaultKind.STATUS_401)
FAULTS = [
    pytest.param(
        agent,
        fault,
        marks=[needs_agent(agent.name), *([pytest.mark.once] if (agent, fault) == ONCE else [])],
        id=f"{agent.name}-{fault}",
    )
    for agent in AGENTS_UNDER_TEST
    for fault in agent.faults
]


def test_every_agent_is_tried_and_one_with_every_fault() -> None:
    assert {agent.name for agent in AGENTS_UNDER_TEST} == set(AGENTS)
    assert set(CLAUDE.faults) == set(FaultKind)


@pytest.mark.parametrize(("agent", "fault"), FAULTS)
def test_fault(tmp_path: pathlib.Path, agent: AgentUnderTest, fault: FaultKind) -> None:
    place, kind = Workplace(tmp_path), ENDINGS[fault]
    wall_seconds = SLOW_SECONDS if kind is OutcomeKind.TIMED_OUT else LONG_SECONDS
    idle_seconds = agent.idle_seconds if fault in HANGS else LONG_SECONDS
    done = place.run(
        "run", "--agent", agent.name, "--dataset", QUICKSTART, "--tasks", "word-tally", "--fault", fault,
        "--skip-probe", "--request-retries", "1", "--max-retries", "0", "--timeout-seconds", str(wall_seconds),
        "--idle-timeout-seconds", str(idle_seconds), timeout_seconds=LONG_SECONDS + 60,
    )  # fmt: skip

    [folder] = trial_folders(place.results)
    record = folder.metrics()
    assert (record.outcome.kind, record.outcome.blame) == (kind, BLAMES.get(kind)), record.outcome.detail
    assert record.outcome.detail or kind is OutcomeKind.COMPLETED
    assert done.returncode == (0 if record.outcome.blame in {Blame.MODEL, None} else 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    [attempt] = record.attempts
    assert (folder.attempt_folder(1) / "requests.jsonl").stat().st_size > 0, "the model was never asked"
    assert attempt.time.wall_seconds is not None and attempt.time.wall_seconds < wall_seconds + 12
    assert attempt.survivors == 0
    assert alive_with_mark(attempt.id) == []
    assert not (place.work / attempt.id).exists()
    assert (folder.path / attempt.stream_log).is_file()
    if agent.tells_as_it_goes and fault in {FaultKind.HANG_MID_STREAM, FaultKind.SLOW, FaultKind.CUT}:
        check_lower_bound(record)
