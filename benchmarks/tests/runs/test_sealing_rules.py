"""What a pre-flight refuses for the sake of the seal."""

from pathlib import Path
from typing import Any

import pytest

from judging.submissions import TASK
from swetrials.agents import AGENTS
from swetrials.environments.base import Environment
from swetrials.environments.bubblewrap import Bubblewrap
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.host import Host
from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Verify
from swetrials.records.sealing import NetworkAllowed
from swetrials.runs.sealing_rules import installs_without_network, sealing_refusals

ENVIRONMENTS: dict[str, Environment] = {"host": Host(), "bubblewrap": BubblewrapEnvironment(Bubblewrap(Path("bwrap")))}


def faults(kind: str, *networks: NetworkAllowed, **config: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    named = [(f"task-{place}", network) for place, network in enumerate(networks)]
    found = list(sealing_refusals(RunnerConfig.model_validate(config), AGENTS["claude"], ENVIRONMENTS[kind], named))
    assert all(check.status == "failed" and check.fix for check in found)
    return [(check.detail, check.fix) for check in found]


@pytest.mark.parametrize(
    ("kind", "network", "config"),
    [
        ("bubblewrap", "model", {}),
        ("bubblewrap", "model", {"require_sealed": True}),
        ("host", "model", {}),
        ("host", "model", {"meter": False}),
        ("bubblewrap", "open", {"meter": False}),
        ("bubblewrap", "open", {"allowed_tools": ["Read", "WebSearch"]}),
        ("bubblewrap", "model", {"allowed_tools": ["Read", "Bash(curl:*)"]}),
    ],
)
def test_what_nothing_stands_against(kind: str, network: NetworkAllowed, config: dict[str, Any]) -> None:
    assert faults(kind, network, **config) == []


@pytest.mark.parametrize(
    ("kind", "network", "config", "detail"),
    [
        ("host", "model", {"require_sealed": True}, "require_sealed: environment host keeps nothing from the network"),
        (
            "bubblewrap",
            "registries",
            {"require_sealed": True},
            "require_sealed: the dataset allows more than the model to task-0",
        ),
        (
            "bubblewrap",
            "model",
            {"meter": False},
            "without the meter nothing leads from a sealed environment to the model",
        ),
        (
            "bubblewrap",
            "registries",
            {"meter": False},
            "without the meter nothing leads from a sealed environment to the model",
        ),
        (
            "host",
            "model",
            {"allowed_tools": ["Read", "WebSearch", "WebFetch(domain:example.com)"]},
            "allowed_tools: WebSearch is run by the model's vendor, and reaches further through any seal",
        ),
    ],
)
def test_what_is_refused(kind: str, network: NetworkAllowed, config: dict[str, Any], detail: str) -> None:
    assert [found for found, _ in faults(kind, network, **config)] == [detail]


def test_the_tasks_are_named_up_to_three() -> None:
    wider: list[NetworkAllowed] = ["open"] * 5
    [(detail, _)] = faults("bubblewrap", *wider, "model", require_sealed=True)
    assert detail.endswith("to task-0, task-1, task-2 and 2 more")


@pytest.mark.parametrize(
    ("command", "network", "warned"),
    [
        ("python -m pip install -e .", "model", True),
        ("uv --quiet sync --frozen", "model", True),
        ("npm ci", "model", True),
        ("python -m pip install -e .", "registries", False),
        ("make install", "model", False),
        ("python -m pip list", "model", False),
    ],
)
def test_a_setup_that_will_miss_its_network_is_named(command: str, network: NetworkAllowed, warned: bool) -> None:
    task = TASK.model_copy(update={"verify": Verify(setup=(("true",), tuple(command.split())), commands=(("true",),))})
    found = [(check.status, check.detail) for check in installs_without_network([task], {task.id: network})]
    told = f"{task.id}: verify.setup runs without network: `{command}`"
    assert found == ([("warning", told)] if warned else [])
