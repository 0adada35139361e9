"""opencode: ``opencode run --format json`` with its own folders below the private home.

Facts it rests on (opencode 1.18.33):

- An endpoint is a ``provider`` of its configuration; the adapters for Anthropic Messages, OpenAI Chat Completions and
  OpenAI Responses are part of it. The first is preferred, since it tells cache writes apart.
- The configuration in ``OPENCODE_CONFIG_CONTENT`` ranks above that of the subject repository (``opencode.json``,
  ``.opencode``), which ranks above the private one. ``--pure`` keeps plugins out. The repository's ``AGENTS.md``, or
  else ``CLAUDE.md``, is part of every request.
- A request for a title is made in secret, unless a title is given.
- Of a message on the command line, a word with a space is put into quotation marks, and a number is a crash. The
  message on standard input is taken as it is.
- What the rules have it ask for is refused where nobody can answer, and a refusal ends the run. A denied tool is
  not even offered.
- The last of ``steps`` is made without tools, with a request to sum up: the run then ends like any other.
- A conversation is compacted when prompt and response come to the ``input`` limit of the model less ``reserved``.
- It repeats a failed request five times, after 2, 4, 8, 16 and 30 seconds and up to a quarter more unless the endpoint
  says when. Nothing changes that.
- It installs a package from the registry into each folder with configuration, in the background, unless it finds it
  in the folder's lock file. A ``.opencode`` of the subject repository cannot be spared that.
- It reaches for nothing besides its route, with ``OPENCODE_DISABLE_MODELS_FETCH``; without it, for a list of models in
  every run. With the network cut nothing changes. Its web search asks a search service itself, so that stops it too.
- Skills of its own are read by the model at its leisure, so the skill's text is the prompt.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from swetrials.agents.base import Job, Launch, StreamReader
from swetrials.agents.install import Package
from swetrials.agents.opencode.stream import OpenCodeReader, recognised
from swetrials.agents.packages import PACKAGES
from swetrials.agents.skill_prompt import prompt_with_skill
from swetrials.agents.user_settings import read_settings, settings_json
from swetrials.agents.window import Window
from swetrials.wire.route import Dialect

KEY_VARIABLE = "ROUTE_KEY"
"""The variable that holds the route's key; the configuration names it in place of the key."""

_PROVIDER = "route"

_ADAPTERS: dict[Dialect, str] = {
    "anthropic": "@ai-sdk/anthropic",
    "openai-chat": "@ai-sdk/openai-compatible",
    "openai-responses": "@ai-sdk/openai",
}
# Its adapter for each dialect, the preferred one first.

_PERMISSIONS = {
    "Bash": "bash",
    "Edit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "Read": "read",
    "Skill": "skill",
    "Task": "task",
    "TodoWrite": "todowrite",
    "WebFetch": "webfetch",
    "WebSearch": "websearch",
    "Write": "edit",
}
# Its permissions by the names that the configuration gives tools; "edit" is for everything that changes a file.

_LOCK_FILE = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
# What keeps it from installing the package that plugins are written with.


class OpenCode:
    """Drives opencode."""

    name = "opencode"
    folder = "opencode"
    dialects: frozenset[Dialect] = frozenset(_ADAPTERS)
    limits: tuple[str, ...] = (
        "permission_mode has no effect: allowed_tools decides",
        "a failing request is repeated 5 times in silence, whatever request_retries says",
        "max_turns ends it well: no turn_limit is seen",
    )
    server_tools: frozenset[str] = frozenset()
    package: Package = PACKAGES["opencode"]

    def reader(self) -> StreamReader:
        """Return a fresh reader for one ``run --format json`` stream."""
        return OpenCodeReader()

    def recognises(self, line: Mapping[str, object]) -> bool:
        """Say whether an object is of such a stream."""
        return recognised(line)

    def check_settings(self, path: Path) -> None:
        """Look at a user's extra settings: a JSON object as opencode's ``opencode.json`` takes it.

        Raises:
            ValueError: the file cannot be read or holds something else.
        """
        read_settings(path, json.loads)

    def launch(self, binary: Path, job: Job) -> Launch:
        """Return the command line, environment and private files for a job.

        The permission mode changes nothing: the allowed tools are used unasked, on any file, and no others are there.
        """
        place = job.home / ".config" / "opencode"
        files = {place / "node_modules" / ".keep": "", place / "package-lock.json": settings_json(_LOCK_FILE)}
        if job.config.settings_file is not None:
            files[place / "opencode.json"] = settings_json(read_settings(Path(job.config.settings_file), json.loads))
        environment = {
            "OPENCODE_CONFIG_CONTENT": settings_json(_config(job)),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            # It asks for a key also where the endpoint wants none.
            KEY_VARIABLE: job.route.api_key.get_secret_value() or "none",
        }
        argv = (str(binary), "run", "--pure", "--format", "json", "--title", "task", "--model", _own_name(job))
        prompt = job.home / "prompt.txt"
        return Launch(argv, environment, {**files, prompt: prompt_with_skill(job)}, stdin=prompt)


def _own_name(job: Job) -> str:
    return f"{_PROVIDER}/{job.route.model}"


def _config(job: Job) -> dict[str, object]:
    config, route = job.config, job.route
    own = _own_name(job)
    allowed = {permission for name, permission in _PERMISSIONS.items() if name in config.allowed_tools}
    permissions = {"*": "deny", **dict.fromkeys((*sorted(allowed), "external_directory", "doom_loop"), "allow")}
    window = Window.of(route, config)
    compaction = {} if window is None else {"compaction": {"auto": True, "reserved": window.tokens - window.compact_at}}
    steps = {} if config.max_turns is None else {"agent": {"build": {"steps": config.max_turns}}}
    return {
        "model": own,
        "small_model": own,
        "enabled_providers": [_PROVIDER],
        "provider": {_PROVIDER: _provider(job, window)},
        "permission": permissions,
        **compaction,
        **steps,
        # Copies of the work tree that serve to take changes back.
        "snapshot": False,
        "share": "disabled",
        "autoupdate": False,
    }


def _provider(job: Job, window: Window | None) -> dict[str, object]:
    adapter = next(adapter for dialect, adapter in _ADAPTERS.items() if dialect in job.route.dialects)
    model: dict[str, object] = {"name": job.route.model}
    if window is not None:
        model["limit"] = {"context": window.tokens, "input": window.tokens, "output": window.output}
    elif job.config.max_output_tokens is not None:
        model["limit"] = {"context": 0, "output": job.config.max_output_tokens}
    return {
        "npm": adapter,
        "name": _PROVIDER,
        "options": {"baseURL": job.route.base_url.rstrip("/") + "/v1", "apiKey": f"{{env:{KEY_VARIABLE}}}"},
        "models": {job.route.model: model},
    }
