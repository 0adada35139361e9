"""Whether an agent's shell runs commands is known before a model is paid."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from agents.jobs import job
from e2e.harness import needs_agent
from swetrials.agents import AGENTS
from swetrials.agents.base import Agent
from swetrials.agents.install import find
from swetrials.agents.packages import PACKAGES
from swetrials.agents.session import Hear
from swetrials.agents.shell_canary import shell_canary
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.store.project import find_project
from swetrials.wire.route import Route
from swetrials.workspace.variables import allowed_environment

pytestmark = pytest.mark.anyio

IN_BUBBLEWRAP = ("bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/", "--proc",
                 "/proc")  # fmt: skip
WITHOUT_NAMESPACES = (*IN_BUBBLEWRAP, "--disable-userns", "--")
needs_bubblewrap = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")


@dataclass
class Here:
    """Starts an agent in folders of its own, behind other words where something is to be forbidden to it."""

    folder: Path
    agent: Agent
    config: RunnerConfig
    words: Sequence[str] = ()
    program: Path | None = None

    async def ask(self, prompt: str, route: Route, hear: Hear) -> tuple[int | None, str]:
        places = [self.folder / name for name in ("checkout", "home", "tmp", "artifacts")]
        for place in places:
            place.mkdir()
        checkout, home, temporary, artifacts = places
        work = replace(
            job(), prompt=prompt, route=route, config=self.config, checkout=checkout, home=home, temporary=temporary,
            artifacts=artifacts,
        )  # fmt: skip
        launch = self.agent.launch(self.program or installed(self.agent), work)
        for path, text in launch.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = allowed_environment(home, temporary, launch.environment)
        stdin = launch.stdin.read_bytes() if launch.stdin else b""
        argv = [*self.words, *launch.argv]
        with tempfile.TemporaryFile() as asked:
            asked.write(stdin)
            asked.seek(0)
            done = await anyio.run_process(argv, cwd=checkout, env=environment, stdin=asked, check=False)
        reader = self.agent.reader()
        hear([*reader.feed(done.stdout), *reader.finish()])
        return done.returncode, done.stderr.decode().strip()


def installed(agent: Agent) -> Path:
    found = find(PACKAGES[agent.name], find_project().tools)
    assert found is not None
    return found.binary


async def canary(folder: Path, name: str, words: Sequence[str] = (), **config: object) -> Check:
    chosen = RunnerConfig.model_validate(config)
    return await shell_canary(AGENTS[name], chosen, Here(folder, AGENTS[name], chosen, words).ask)


@pytest.mark.slow
@pytest.mark.parametrize("agent", [pytest.param(name, marks=needs_agent(name)) for name in AGENTS.own])
async def test_a_shell_that_works_is_proved(tmp_path: Path, agent: str) -> None:
    assert await canary(tmp_path, agent) == Check("shell", "ok", f"{agent} runs commands here")


@needs_agent("codex")
@pytest.mark.slow
@pytest.mark.once
@needs_bubblewrap
async def test_a_sandbox_of_its_own_that_cannot_start_is_found(tmp_path: Path) -> None:
    check = await canary(tmp_path, "codex", WITHOUT_NAMESPACES)
    assert (check.status, check.name) == ("failed", "shell")
    assert "codex runs no command here: " in check.detail


@needs_agent("codex")
@pytest.mark.slow
@needs_bubblewrap
async def test_without_a_sandbox_of_its_own_it_runs_there_too(tmp_path: Path) -> None:
    check = await canary(
        tmp_path, "codex", WITHOUT_NAMESPACES, permission_mode="bypassPermissions", sandbox="bubblewrap"
    )
    assert check.status == "ok"


async def test_a_run_without_a_shell_needs_no_proof(tmp_path: Path) -> None:
    check = await canary(tmp_path, "claude", allowed_tools=("Read", "Bash(git log:*)"))
    assert check.status == "skipped"
    assert list(tmp_path.iterdir()) == []


async def test_an_agent_without_a_shell_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = find_project().root / "examples"
    monkeypatch.chdir(examples)
    scribe, config = AGENTS.named("own_agent:Scribe"), RunnerConfig()
    here = Here(tmp_path, scribe, config, program=examples / "own_agent.py")
    assert (await shell_canary(scribe, config, here.ask)).detail == "scribe offers its model no shell"


async def test_an_agent_that_asks_nothing_is_told(tmp_path: Path) -> None:
    claude, config = AGENTS["claude"], RunnerConfig()
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'unknown option' >&2; exit 2\n")
    broken.chmod(0o755)
    check = await shell_canary(claude, config, Here(tmp_path, claude, config, program=broken).ask)
    assert (check.status, check.detail) == ("failed", "claude asks no model here: exit code 2: unknown option")
