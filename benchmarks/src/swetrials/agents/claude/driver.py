"""Claude Code: ``claude -p`` with a private home, its route pinned by settings that win over the repository's.

What it reaches for besides its route (2.1.332): nothing, with ``CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC``. Without it
the vendor's API host is looked up in every run, whatever ``DISABLE_AUTOUPDATER`` says. With the network cut nothing
changes.

Its web search is carried out by the vendor's server, on the way of the model's requests, so a cut network does not stop
it. It is a tool that the model may load, and the settings of a subject repository may allow. So both web tools are
denied unless they are allowed here, which ranks above every allowance.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from swetrials.agents.base import Job, Launch, StreamReader
from swetrials.agents.claude.route import AWS_SECRETS, route_environment
from swetrials.agents.claude.stream import ClaudeReader
from swetrials.agents.install import Package
from swetrials.agents.packages import PACKAGES
from swetrials.agents.skill_prompt import prompt_with_skill
from swetrials.store.reading import read_text
from swetrials.wire.route import Dialect
from swetrials.workspace.variables import allowed_environment

_WEB_TOOLS = ("WebFetch", "WebSearch")

_OTHER_ROUTES = {
    **dict.fromkeys(
        (
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_CUSTOM_HEADERS",
            "ANTHROPIC_UNIX_SOCKET",
            *(name for proxy in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY") for name in (proxy, proxy.lower())),
        ),
        "",
    ),
    **dict.fromkeys(
        (
            "CLAUDE_CODE_USE_ANTHROPIC_AWS",
            "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_FOUNDRY",
            "CLAUDE_CODE_USE_GATEWAY",
            "CLAUDE_CODE_USE_MANTLE",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        "0",
    ),
}
# Every other variable by which Claude Code 2.1 would change where its requests go or whose they are: switched off,
# since a subject repository may set it.


class ClaudeCode:
    """Drives Anthropic's CLI, which speaks Anthropic Messages and, natively, Bedrock."""

    name = "claude"
    folder = "claude-code"
    dialects: frozenset[Dialect] = frozenset({"anthropic", "bedrock"})
    limits: tuple[str, ...] = ("its own total only estimates the output of a response that was cut",)
    server_tools: frozenset[str] = frozenset({"WebSearch"})
    package: Package = PACKAGES["claude"]

    def reader(self) -> StreamReader:
        """Return a fresh reader for one ``stream-json`` stream."""
        return ClaudeReader()

    def recognises(self, line: Mapping[str, object]) -> bool:
        """Say whether an object is of such a stream."""
        return "session_id" in line and line.get("type") in {"system", "assistant", "user", "stream_event", "result"}

    def check_settings(self, path: Path) -> None:
        """Look at a user's extra settings: a JSON object as Claude Code takes it.

        Raises:
            ValueError: the file cannot be read or holds something else.
        """
        _user_settings(path)

    def launch(self, binary: Path, job: Job) -> Launch:
        """Return the command line, environment and private files for a job.

        The route stands in the environment and again in a settings file given on the command line, which
        Claude Code ranks above the settings of the repository it works in: so a repository that brings
        its own ``.claude/settings.json`` cannot redirect the trial. The skill's text is part of the prompt, as
        with every other agent: called as a slash command, it and its arguments would be expanded.
        """
        config_home = job.home / ".claude"
        settings, prompt = job.home / "settings.json", job.home / "prompt.jsonl"
        route = route_environment(job)
        files = {settings: self._settings(job, route), prompt: _message(prompt_with_skill(job))}
        environment = {
            **route,
            "CLAUDE_CONFIG_DIR": str(config_home),
            "CLAUDE_CODE_TMPDIR": str(job.temporary),
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": str(job.config.request_retries),
        }
        return Launch(self._argv(binary, job, settings), environment, files, stdin=prompt)

    def _argv(self, binary: Path, job: Job, settings: Path) -> tuple[str, ...]:
        config = job.config
        argv = [str(binary), "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        argv += ["--include-partial-messages"]
        argv += ["--model", job.route.model, "--settings", str(settings), "--permission-mode", config.permission_mode]
        if config.allowed_tools:
            argv += ["--allowedTools", ",".join(config.allowed_tools)]
        if denied := [tool for tool in _WEB_TOOLS if not _is_allowed(tool, config.allowed_tools)]:
            argv += ["--disallowedTools", ",".join(denied)]
        # acceptEdits refuses to write outside the working directory unless the folder is named.
        argv += ["--add-dir", str(job.artifacts)]
        if config.max_turns is not None:
            argv += ["--max-turns", str(config.max_turns)]
        if config.max_attempt_budget_usd is not None:
            argv += ["--max-budget-usd", str(config.max_attempt_budget_usd)]
        return tuple(argv)

    def _settings(self, job: Job, route: dict[str, str]) -> str:
        settings = _user_settings(Path(job.config.settings_file)) if job.config.settings_file else {}
        own = settings.get("env")
        machine = {**allowed_environment(job.home, job.temporary), **job.variables}
        proxies = {name: machine[name] for name in (*_OTHER_ROUTES, "NO_PROXY", "no_proxy") if name in machine}
        # The key stands here too: the repository's settings rank above the process environment.
        pinned = {name: value for name, value in route.items() if not value or name not in AWS_SECRETS}
        settings["env"] = {**_OTHER_ROUTES, **proxies, **(own if isinstance(own, dict) else {}), **pinned}
        # A sandbox of its own is the user's to choose: a repository that switches it on could leave no command to run.
        sandbox = settings.get("sandbox")
        settings["sandbox"] = {"enabled": False, **(sandbox if isinstance(sandbox, dict) else {})}
        settings |= dict.fromkeys(("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport"), "")
        return json.dumps(settings, indent=2) + "\n"


def _is_allowed(tool: str, allowed: Sequence[str]) -> bool:
    """Return whether a tool is allowed, as a whole or in part: ``WebFetch(domain:example.org)``."""
    return any(name.partition("(")[0] == tool for name in allowed)


def _message(prompt: str) -> str:
    """Return a user's message as ``--input-format stream-json`` takes it, with the prompt kept as it is.

    Claude Code 2.1.332 looks for commands (``/name``), files to read (``@path``) and key words in the last text of a
    message alone, and sends no text that is empty: so an empty one stands behind the prompt.
    """
    content = [{"type": "text", "text": prompt}, {"type": "text", "text": ""}]
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"


def _user_settings(path: Path) -> dict[str, object]:
    try:
        settings = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path}: expected a JSON object")
    return settings
