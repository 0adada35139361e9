"""What holds for every agent: its skill is part of its prompt, and that is its standard input, word for word."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from agents.jobs import job
from swetrials.agents import AGENTS
from swetrials.agents.base import Job, Launch, Skill
from swetrials.wire.route import AwsCredentials

SECRET = "sk-very-secret"


@dataclass(frozen=True)
class Prompted:
    """An agent, where its key is, and texts that are no settings of its."""

    name: str
    binary: Path
    dialect: str
    key_variable: str
    no_settings: tuple[str, ...]
    asked: Callable[[str], str] = str
    """Takes the prompt out of what it is given on standard input."""

    def launch(self, work: Job) -> Launch:
        return AGENTS[self.name].launch(self.binary, work)

    def prompt(self, work: Job) -> str:
        """Return what it is asked."""
        launch = self.launch(work)
        assert launch.stdin is not None
        return self.asked(launch.files[launch.stdin])


def _message(line: str) -> str:
    said: str = json.loads(line)["message"]["content"][0]["text"]
    return said


CLAUDE = Prompted("claude", Path("/tools/claude"), "anthropic", "ANTHROPIC_API_KEY", ("{", "[1]"), _message)
CODEX = Prompted("codex", Path("/tools/codex"), "openai-responses", "SWETRIALS_CODEX_KEY", ("a = low\n", "[1"))
OMP = Prompted("omp", Path("/tools/omp/node_modules/@oven/bun-linux-x64/bin/bun"), "anthropic", "SWETRIALS_ROUTE_KEY",
               ("a: [", "- 1", ""))  # fmt: skip
OPENCODE = Prompted("opencode", Path("/tools/opencode"), "anthropic", "ROUTE_KEY", ("{", "[1]"))
PI = Prompted("pi", Path("/tools/pi/cli.js"), "anthropic", "SWETRIALS_ROUTE_KEY", ("{", "[1]"))

PROMPTED = (CLAUDE, CODEX, OMP, OPENCODE, PI)
each_agent = pytest.mark.parametrize("agent", PROMPTED, ids=lambda agent: agent.name)
keeps_its_key_apart = pytest.mark.parametrize("agent", PROMPTED[1:], ids=lambda agent: agent.name)
reaches_bedrock = pytest.mark.parametrize("agent", [OMP, PI], ids=lambda agent: agent.name)


@keeps_its_key_apart
@pytest.mark.parametrize(("key", "given"), [(SECRET, SECRET), ("", "none")], ids=["key", "no key"])
def test_the_key_is_in_one_variable_alone(agent: Prompted, key: str, given: str) -> None:
    launch = agent.launch(job(dialects={agent.dialect}, api_key=key))
    assert launch.environment[agent.key_variable] == given
    others = [value for name, value in launch.environment.items() if name != agent.key_variable]
    assert SECRET not in "".join([*launch.argv, *launch.files.values(), *others])


@each_agent
def test_all_its_files_are_in_the_private_home(agent: Prompted) -> None:
    work = job(dialects={agent.dialect})
    files = agent.launch(work).files
    assert files
    assert all(path.is_relative_to(work.home) for path in files)


@each_agent
def test_the_skill_is_the_prompt_with_the_parameters_in_their_place(agent: Prompted) -> None:
    asked = partial(job, dialects={agent.dialect}, prompt="task_id: a")
    skill = Skill("swe3", "---\nname: swe3\ndescription: x\n---\n\n# Do it\n\n$ARGUMENTS\n\nThen stop.\n")
    assert agent.prompt(asked(skill=skill)) == "# Do it\n\ntask_id: a\n\nThen stop.\n"
    assert agent.prompt(asked(skill=Skill("x", "# Do it\n"))) == "# Do it\n\ntask_id: a"


def test_every_agent_is_one_of_them() -> None:
    assert {agent.name for agent in PROMPTED} == set(AGENTS)


@each_agent
@pytest.mark.parametrize(
    "prompt",
    ["--- what", "-v", 'two "words" and the number 7\n', "see @a.py, !`b` and ${C}", "a\n" * 100_000],
    ids=["---", "-v", "words", "signs", "long"],
)
def test_any_prompt_is_taken_as_it_is(agent: Prompted, prompt: str) -> None:
    work = job(dialects={agent.dialect}, prompt=prompt)
    assert agent.prompt(work) == prompt
    assert prompt not in agent.launch(work).argv


@each_agent
def test_settings_of_another_shape_are_refused(agent: Prompted, tmp_path: Path) -> None:
    file = tmp_path / "settings"
    for text in agent.no_settings:
        file.write_text(text)
        with pytest.raises(ValueError, match=str(file)):
            AGENTS[agent.name].check_settings(file)


@reaches_bedrock
def test_on_bedrock_the_credentials_are_those_of_the_route_and_the_model_has_no_hint(agent: Prompted) -> None:
    on_bedrock = partial(job, dialects={"bedrock"}, model="us.claude-x[1m]")
    keys = AwsCredentials("AKIA", SecretStr("secret"), SecretStr("session"))
    signed = agent.launch(on_bedrock(api_key="", aws=keys))
    assert signed.environment["AWS_SECRET_ACCESS_KEY"] == "secret"
    assert signed.environment["AWS_SESSION_TOKEN"] == "session"
    assert "AWS_BEARER_TOKEN_BEDROCK" not in signed.environment
    assert "[1m]" not in "".join([*signed.argv, *signed.files.values()])
    bearing = agent.launch(on_bedrock(api_key="token")).environment
    assert (bearing["AWS_BEARER_TOKEN_BEDROCK"], bearing["SWETRIALS_ROUTE_KEY"]) == ("token", "<authenticated>")
    assert agent.launch(on_bedrock(api_key="")).environment["AWS_BEDROCK_SKIP_AUTH"] == "1"
