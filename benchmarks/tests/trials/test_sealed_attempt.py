"""An agent that cannot begin, or is stopped, behind a seal: its record says so as it does without one."""

from dataclasses import replace
from pathlib import Path

import pytest

from swetrials.agents.base import Job, Launch
from swetrials.environments import environment_for
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.store.project import find_project
from trials.stand_in import StandIn, Yard

pytestmark = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")


class GoneAgent(StandIn):
    """One whose program is not there any more."""

    def launch(self, binary: Path, job: Job) -> Launch:
        return replace(super().launch(binary, job), argv=("/nowhere/agent",))


def run(root: Path, script: str = "", *, sealed: bool, agent: type[StandIn] = StandIn) -> Metrics:
    yard = Yard(root / "yard", agent=agent)
    yard.environment = environment_for("bubblewrap", find_project(), yard.file.parent, yard.results, yard.work)
    record = yard.run(script, meter=sealed)
    assert record.sealing is not None
    assert record.sealing.state == ("proven" if sealed else "open")
    return record


@pytest.mark.parametrize("sealed", [True, False])
def test_a_program_that_is_gone_is_named(tmp_path: Path, sealed: bool) -> None:
    record = run(tmp_path, sealed=sealed, agent=GoneAgent)
    assert (record.outcome.kind, record.outcome.blame) == (OutcomeKind.AGENT_CRASHED, Blame.AGENT)
    assert (record.attempts[0].exit_code, "/nowhere/agent" in record.outcome.detail) == (127, True)


@pytest.mark.parametrize(("signal", "exit_code"), [("TERM", 143), ("KILL", 137)])
def test_a_signal_is_told_as_a_shell_tells_it(tmp_path: Path, signal: str, exit_code: int) -> None:
    record = run(tmp_path, f"kill -{signal} $$", sealed=True)
    assert (record.outcome.kind, record.attempts[0].exit_code) == (OutcomeKind.AGENT_CRASHED, exit_code)
