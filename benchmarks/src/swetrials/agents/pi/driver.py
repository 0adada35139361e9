"""pi: ``pi --mode json`` with a private folder for its configuration.

Facts it rests on (pi 0.74.2):

- An endpoint is a provider in ``models.json``; it speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses
  and, at any base URL, Bedrock's Converse. There it has only models up to Claude 4 cache their prompts.
- The tool calls of one response are carried out at the same time.
- It has no permissions: every tool that it has is used unasked. ``--tools`` says which it has.
- It has no limit of turns, of time or of money, and tells nobody of a subagent, since it has none.
- The subject repository's ``.pi/settings.json`` ranks above the private settings. What it could do to the route is
  shut off on the command line: the model is named there, and no extension of the repository is loaded.
- It compacts after a go alone, and one prompt is one go: a conversation that outgrows the window in the middle of a
  task ends in a context overflow, and a summary made after the last word would be billed for nothing. So it is off.
- A prompt on standard input is taken as it is, blank ends apart. One that begins with ``/`` could name a template of
  the subject repository: so there are none.
- It reaches for nothing besides its route, also without ``PI_OFFLINE``. With the network cut nothing changes. It has no
  tool for the web.
- A skill of its own would be read by the model at its leisure, or wrapped by ``/skill:NAME`` with the parameters
  behind it: so its text is the prompt, with the parameters where they belong.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from swetrials.agents.base import Job, Launch, StreamReader
from swetrials.agents.install import Package
from swetrials.agents.packages import PACKAGES
from swetrials.agents.pi.models_file import DIALECTS, key_environment, model_name, provider_description, provider_name
from swetrials.agents.pi.stream import PiReader, is_of_pi
from swetrials.agents.skill_prompt import prompt_with_skill
from swetrials.agents.user_settings import read_settings, settings_json, with_pinned
from swetrials.wire.route import Dialect

_TOOLS = {"Bash": "bash", "Edit": "edit", "Read": "read", "Write": "write"}
# Its default tools by the names that the configuration gives them.

_WITHOUT_A_SHELL = {"Glob": "find", "Grep": "grep", "Read": "ls"}
# What it has besides, and gives nobody who has the shell.

_RETRY_BASE_MS = 500
# It doubles the wait at each attempt, without an upper limit: ten attempts come to nine minutes.


class Pi:
    """Drives pi."""

    name = "pi"
    folder = "pi"
    dialects: frozenset[Dialect] = frozenset(DIALECTS)
    limits: tuple[str, ...] = (
        "max_turns cannot be enforced, and permission_mode has no effect: allowed_tools decides",
        "it does not compact during a task: one that outgrows the window ends in context_overflow",
        "it tells no end: a hang after its last word takes the idle limit",
    )
    server_tools: frozenset[str] = frozenset()
    package: Package = PACKAGES["pi"]

    def reader(self) -> StreamReader:
        """Return a fresh reader for one ``--mode json`` stream."""
        return PiReader()

    def recognises(self, line: Mapping[str, object]) -> bool:
        """Say whether an object is of such a stream."""
        return is_of_pi(line, fork=False)

    def check_settings(self, path: Path) -> None:
        """Look at a user's extra settings: a JSON object as pi's ``settings.json`` takes it.

        Raises:
            ValueError: the file cannot be read or holds something else.
        """
        read_settings(path, json.loads)

    def launch(self, binary: Path, job: Job) -> Launch:
        """Return the command line, environment and private files for a job."""
        place = job.home / ".pi" / "agent"
        models = {"providers": {provider_name(job): provider_description(job)}}
        prompt = job.home / "prompt.txt"
        files = {
            place / "models.json": settings_json(models),
            place / "settings.json": settings_json(_settings(job)),
            prompt: prompt_with_skill(job),
        }
        environment = {"PI_CODING_AGENT_DIR": str(place), "PI_OFFLINE": "1", **key_environment(job)}
        return Launch(_argv(binary, job), environment, files, stdin=prompt)


def _argv(binary: Path, job: Job) -> tuple[str, ...]:
    allowed = job.config.allowed_tools
    offered = [*_TOOLS.items(), *(() if "Bash" in allowed else _WITHOUT_A_SHELL.items())]
    tools = [own for name, own in offered if name in allowed]
    argv = [str(binary), "--provider", provider_name(job), "--model", model_name(job), "--mode", "json", "--no-session"]
    argv += ["--no-extensions", "--no-prompt-templates"]
    argv += ["--tools", ",".join(tools)] if tools else ["--no-tools"]
    return (*argv, "--print")


def _settings(job: Job) -> dict[str, object]:
    config = job.config
    settings = read_settings(Path(config.settings_file), json.loads) if config.settings_file else {}
    retries = config.request_retries
    # The retries of the library below are invisible: they are left to pi itself, which tells of each.
    retry = {
        "enabled": retries > 0,
        "maxRetries": retries,
        "baseDelayMs": _RETRY_BASE_MS,
        "provider": {"maxRetries": 0},
    }
    return with_pinned(settings, {"retry": retry, "compaction": {"enabled": False}})
