"""A command through an agent's own shell tool, before anything is spent on a model.

An agent whose own sandbox cannot start runs no command and exits 0: Codex does where user namespaces are forbidden
(0.171), Claude Code where its sandbox is switched on and cannot be nested (2.1). That would be booked as the model's
failure. Only the agent's model can make it call its shell, so the scripted model takes the place of the real one.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from pydantic import SecretStr
from starlette.requests import Request

from swetrials.agents.base import Agent
from swetrials.agents.events import Event, ToolResult
from swetrials.agents.session import Hear
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.rehearsal import Scenario, Script, ScriptStep, rehearse
from swetrials.wire.route import Route
from swetrials.workspace.processes import LaunchError

Ask = Callable[[str, Route, Hear], Awaitable[tuple[int | None, str]]]
"""Puts a prompt to the agent on a route, in the environment that its attempts run in, and has what it says heard.

Returns its exit code, and the end of what it wrote to standard error.
"""

_NAME = "shell"
_OPENING = "task_id: shell-canary"
_PROMPT = f"{_OPENING}\nRun the one command that you are told to run.\n"
_KEY = "shell-canary"
_SMALLEST_FACTOR, _FACTORS = 100_000, 900_000
_LAST_WORDS = 300


@dataclass
class _Witness:
    """What is known of the command: whether its output came back to the model, and what the agent says of it."""

    output: bytes
    came_back: bool = False
    told: str = ""

    def look(self, request: Request, body: bytes) -> None:
        self.came_back = self.came_back or self.output in body

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, ToolResult):
                self.told = " ".join(event.text.split())[-_LAST_WORDS:]


async def shell_canary(agent: Agent, config: RunnerConfig, ask: Ask) -> Check:
    """Have an agent run one command by its shell, and return whether its output came back.

    The output stands nowhere in what the agent is given: it is a product, and the command names the factors. So
    nothing but a shell can have made it, and what proves it is the agent's next request, whoever reads its stream.

    Args:
        agent: which.
        config: the run's.
        ask: as an attempt would.

    Raises:
        OSError: the scripted model cannot listen.
    """
    if "Bash" not in config.allowed_tools:
        return Check(_NAME, "skipped", "not tried: the allowed tools have no Bash, or a part of it")
    one, other = (_SMALLEST_FACTOR + secrets.randbelow(_FACTORS) for _ in range(2))
    witness = _Witness(str(one * other).encode())
    async with rehearse(_scenario(f"echo $(({one} * {other}))"), guard=witness.look) as server:
        dialects = agent.dialects - {"bedrock"} or agent.dialects
        route = Route(dialects, server.base_url, SecretStr(_KEY), config.model, region="us-east-1")
        try:
            exit_code, said = await ask(_PROMPT, route, witness.hear)
        except LaunchError as error:
            return Check(_NAME, "failed", str(error), f"swetrials agents install {agent.name}")
        requests = len(server.requests)
    if witness.came_back:
        return Check(_NAME, "ok", f"{agent.name} runs commands here")
    if requests == 1 and exit_code == 0:
        return Check(_NAME, "skipped", f"{agent.name} offers its model no shell")
    if not requests:
        detail = f"{agent.name} asks no model here: exit code {exit_code}{': ' if said else ''}{said}"
        return Check(_NAME, "failed", detail, "mend it, or --skip-probe to go on regardless")
    detail = f"{agent.name} runs no command here: {witness.told or f'exit code {exit_code}'}"
    return Check(_NAME, "failed", detail, "allow user namespaces here, or switch the agent's own sandbox off")


def _scenario(command: str) -> Scenario:
    steps = (ScriptStep(shell=command), ScriptStep(say="Done."))
    return Scenario(schema_version="1.0", name=_KEY, scripts=(Script(when=_OPENING, steps=steps),))
