"""Every agent, sealed: it reaches its model, on whatever address that has, and nothing else of the machine."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.agents import AGENTS_UNDER_TEST, AgentUnderTest, each
from e2e.harness import QUICKSTART, Workplace
from ports import port_for_a_server
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here"),
]

MODEL = "claude-opus-4-5"
WORK = (
    "echo >> README.md; "
    "for name in github-issue review testing implementation; do echo done > ${artifacts_dir}/$name.md; done"
)
KNOCK = (
    "import socket\n"
    "try: socket.create_connection(('127.0.0.1', {port}), 5)\n"
    "except OSError as error: print(type(error).__name__)\n"
    "else: print('reached')\n"
)
"""What the model has the agent run: it knocks at the model's own address, past the meter. It is one of loopback."""


@contextmanager
def knocking_endpoint() -> Iterator[RehearsalServer]:
    """Serve a model that has its agent knock at the model's own address, and tell in a document what came of it."""
    port = port_for_a_server()
    knock = f"python3 -c {shlex.quote(KNOCK.format(port=port))} > ${{artifacts_dir}}/lld.md"
    script = {"when": "task_id: word-tally", "steps": [{"shell": f"{WORK}; {knock}"}, {"say": "Done."}]}
    scenario = Scenario.model_validate({"schema_version": "1.0", "name": "knocking", "scripts": [script]})
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(scenario, port, MODEL)) as server,
    ):
        yield server


def the_record(place: Workplace) -> tuple[Path, dict[str, Any]]:
    """Return the folder of the one trial, and its record as it is on disk."""
    [file] = place.results.rglob("metrics.json")
    record: dict[str, Any] = json.loads(file.read_text())
    return file.parent, record


def check_sealed(record: dict[str, Any]) -> None:
    assert record["outcome"]["kind"] == "completed"
    assert record["environment"]["kind"] == "bubblewrap"
    assert (record["sealing"]["state"], record["sealing"]["network"]) == ("proven", "model")
    assert record["sealing"]["canaries"]
    assert all(canary["held"] for canary in record["sealing"]["canaries"])


@each(*AGENTS_UNDER_TEST)
def test_in_the_rehearsal(tmp_path: Path, agent: AgentUnderTest) -> None:
    place = Workplace(tmp_path)
    done = place.run(
        "e2e", "--agent", agent.name, "--dataset", QUICKSTART, "--tasks", "word-tally", "--judge", "tests", "--yes",
        "--environment", "bubblewrap", "--require-sealed", timeout_seconds=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    _, record = the_record(place)
    check_sealed(record)
    assert record["evaluation"]["tests"]["passed"] is True


@each(*AGENTS_UNDER_TEST)
def test_on_an_endpoint_of_this_machine(tmp_path: Path, agent: AgentUnderTest) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": "key-of-the-endpoint"})
    with knocking_endpoint() as server:
        done = place.run(
            "run", "--agent", agent.name, "--provider", "endpoint", "--endpoint", server.base_url,
            "--dialect", "openai-responses" if agent.name == "codex" else "anthropic",
            "--model", MODEL, "--dataset", QUICKSTART, "--tasks", "word-tally",
            "--environment", "bubblewrap", "--require-sealed", timeout_seconds=240,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    folder, record = the_record(place)
    check_sealed(record)
    assert (folder / "lld.md").read_text().strip() == "ConnectionRefusedError"
