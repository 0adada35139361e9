"""With the network cut each agent does its task, and knocks at nothing but its route."""

from pathlib import Path

import pytest

from agents.knocks import knocking_can_be_seen, seen_in_a_network_of_its_own
from e2e.harness import needs_agent
from swetrials.agents import AGENTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not knocking_can_be_seen(), reason="no network of its own can be made here"),
]


def test_every_way_of_knocking_is_seen(tmp_path: Path) -> None:
    seen = seen_in_a_network_of_its_own(tmp_path, "sh")
    assert seen.knocks >= {"192.0.2.7:443", "192.0.2.7:9", "[2001:db8::7]:443", "[2001:db8::7]:9", "host.example"}


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(name, marks=[needs_agent(name), *([pytest.mark.once] if name == "claude" else [])])
        for name in AGENTS.own
    ],
)
def test_an_agent_knocks_at_nothing_but_its_route(tmp_path: Path, agent: str) -> None:
    seen = seen_in_a_network_of_its_own(tmp_path, agent)
    assert (seen.outcome, seen.changed) == ("completed", True), seen.said
    assert seen.knocks == frozenset()


@pytest.mark.parametrize(
    ("agent", "variable"),
    [
        pytest.param(agent, variable, marks=needs_agent(agent))
        for agent, variable in (
            ("claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"),
            ("opencode", "OPENCODE_DISABLE_MODELS_FETCH"),
        )
    ],
)
def test_what_its_driver_sets_is_what_stops_it(tmp_path: Path, agent: str, variable: str) -> None:
    seen = seen_in_a_network_of_its_own(tmp_path, agent, without=[variable])
    assert seen.knocks
