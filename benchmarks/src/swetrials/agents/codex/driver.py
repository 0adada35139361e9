"""Codex as an agent: ``codex exec --json`` with a private ``CODEX_HOME``.

Facts it rests on (Codex 0.171), beside those of its configuration and its stream:

- It speaks OpenAI Responses and nothing else.
- ``--sandbox`` is the sandbox of the model's commands, which works inside bubblewrap too: ``workspace-write`` lets
  them write in the working directory, the folders for temporary files and ``writable_roots``, but not in ``.git``.
  There is nobody to approve anything more, so what it forbids fails.
- Configuration of the subject repository (``.codex``) is ignored, since nobody has declared its folder trusted.
  Its ``AGENTS.md`` is part of the conversation.
- A request that failed is repeated silently by one setting and aloud by another, times each other; after an HTTP
  500 it says "experiencing high demand" in place of the status.
- It has no limit of turns, money or output tokens. It has one for the time without a byte, but none for the time
  until the headers.
- It reaches for nothing besides its route, and with the network cut nothing changes. Its web search is carried out by
  the vendor's server, so a cut network does not stop it: ``web_search = "disabled"`` does.
- Skills of its own would be wrapped and read at the model's leisure, so the skill's text is the prompt.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from swetrials.agents.base import Job, Launch, StreamReader
from swetrials.agents.codex.config import CONFIG_FILE, KEY_VARIABLE, endpoint_config, exec_argv, toml
from swetrials.agents.codex.stream import CodexReader, recognised
from swetrials.agents.install import Package
from swetrials.agents.packages import PACKAGES
from swetrials.agents.skill_prompt import prompt_with_skill
from swetrials.agents.user_settings import read_settings
from swetrials.agents.window import Window
from swetrials.records.config import RunnerConfig
from swetrials.store.reading import read_text
from swetrials.wire.route import Dialect

_PROFILE = "trial"
# The layer of configuration that ranks above a user's extra settings.

_READ_ONLY = "read-only"
_SANDBOXES = {"plan": _READ_ONLY, "bypassPermissions": "danger-full-access"}
_USUAL_SANDBOX = "workspace-write"

_WRITERS = {"Bash", "Edit", "Write"}
# The tools by which other agents can change a file; Codex does all of it by its shell.

_SILENCE_MS = 600_000
# As long as Claude Code waits for one API request.


class Codex:
    """Drives Codex."""

    name = "codex"
    folder = "codex"
    dialects: frozenset[Dialect] = frozenset({"openai-responses"})
    limits: tuple[str, ...] = (
        "max_turns, max_output_tokens and max_attempt_budget_usd cannot be enforced",
        "subagents' tokens and model responses are told nowhere: the meter's figures count",
    )
    server_tools: frozenset[str] = frozenset({"WebSearch"})
    package: Package = PACKAGES["codex"]

    def reader(self) -> StreamReader:
        """Return a fresh reader for one ``exec --json`` stream."""
        return CodexReader()

    def recognises(self, line: Mapping[str, object]) -> bool:
        """Say whether an object is of such a stream."""
        return recognised(line)

    def check_settings(self, path: Path) -> None:
        """Look at a user's extra settings: TOML as Codex's ``config.toml`` takes it.

        Raises:
            ValueError: the file cannot be read or is not TOML.
        """
        read_settings(path, tomllib.loads)

    def launch(self, binary: Path, job: Job) -> Launch:
        """Return the command line, environment and private files for a job.

        The permission mode chooses Codex's sandbox: ``plan`` is ``read-only``, ``bypassPermissions`` is
        ``danger-full-access``, any other is ``workspace-write`` with the artifacts' folder and the network added,
        which the commands of every other agent have as well. The web search is the only tool that Codex lets a
        configuration take away and give; where the allowed tools have none that could write, the sandbox is
        ``read-only`` too.
        """
        place = job.home / ".codex"
        prompt = job.home / "prompt.txt"
        files = {place / f"{_PROFILE}.config.toml": _config(job), prompt: prompt_with_skill(job)}
        if job.config.settings_file is not None:
            files[place / CONFIG_FILE] = read_text(Path(job.config.settings_file))
        argv = exec_argv(
            binary,
            model=job.route.model,
            sandbox=_sandbox(job.config),
            profile=_PROFILE,
        )
        # It refuses to start without a key, also where the endpoint wants none.
        key = job.route.api_key.get_secret_value() or "none"
        return Launch(argv, {"CODEX_HOME": str(place), KEY_VARIABLE: key}, files, stdin=prompt)


def _sandbox(config: RunnerConfig) -> str:
    if not _WRITERS.intersection(config.allowed_tools):
        return _READ_ONLY
    return _SANDBOXES.get(config.permission_mode, _USUAL_SANDBOX)


def _config(job: Job) -> str:
    search = "live" if "WebSearch" in job.config.allowed_tools else "disabled"
    lines = ['approval_policy = "never"', f"web_search = {toml(search)}", "check_for_update_on_startup = false"]
    if (window := Window.of(job.route, job.config)) is not None:
        lines += [
            f"model_context_window = {window.tokens}",
            f"model_auto_compact_token_limit = {window.compact_at}",
        ]
    # Only one of the two kinds of retries is told in the stream, and they would multiply.
    provider = endpoint_config(job.route.base_url, request_retries=0, stream_retries=job.config.request_retries)
    tables = (
        f"{provider}stream_idle_timeout_ms = {_SILENCE_MS}",
        f"[sandbox_workspace_write]\nwritable_roots = {toml([str(job.artifacts)])}\nnetwork_access = true",
        f"[shell_environment_policy]\nexclude = {toml([KEY_VARIABLE])}",
        # Services of the vendor that are no part of the measured model.
        "[features]\napps = false\nplugins = false",
        "[analytics]\nenabled = false",
    )
    return "\n".join(lines) + "\n" + "\n\n".join(tables) + "\n"
