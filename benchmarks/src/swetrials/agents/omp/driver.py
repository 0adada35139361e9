"""omp (Oh My Pi): ``omp --mode json`` under Bun, with a private folder for its configuration.

Facts it rests on (omp 18.2.3):

- An endpoint is a provider in ``models.yml``; it speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses
  and, at any base URL, Bedrock's Converse. An Anthropic one without ``auth: apiKey`` is sent requests that pose as
  Claude Code's, with a bearer token and other tool names.
- A request that fails before any text came is sent eleven times in silence, and an empty answer is asked for twice
  more: their tokens are in no message. A response that breaks off after text is never asked for again.
- Of a repository's instructions it takes one file per folder: ``AGENTS.md`` before ``CLAUDE.md``.
- Settings: those of the subject repository (``.omp/config.yml``) rank above the private ones, a file given with
  ``--config`` ranks above both, and only flags rank higher. It looks into the repository's ``.env`` for variables that
  the environment lacks.
- A file that the prompt names as ``@path``, anywhere, is read into a message of its own behind it (``fileMention``),
  and certain words ("ultrathink", "orchestrate") add instructions. No setting switches the first off; an extension
  that is named on the command line, which alone is loaded beside ``--no-extensions``, takes the message out again.
- A prompt on standard input is taken as it is, unless it begins with ``/``: then it may be a command, which a line
  break before it rules out.
- Whatever it does on the side (titles, summaries, subagents) has a role, and each role a model: all are given the
  measured one. Without a title it asks for nothing that is not in its stream, summaries excepted.
- ``--auto-approve`` lets it use all its tools unasked; ``--tools`` says which it has. ``--skills`` filters by name
  and loads nothing, so the skill's text is the prompt, with the parameters where they belong.
- In every run it looks for models at seven hosts, and at loopback's ports 1234, 8080 and 11434, where local models are
  served. That ends with the providers that are disabled here; ``enabledProviders`` and ``PI_OFFLINE`` stop none of
  it. Then it knocks at nothing but its route. On a route to Bedrock two knocks are left: ``catalog.stencil.so`` and the
  region's ``bedrock-mantle``. With the network cut each knock fails at once, and nothing else changes.
- Its web search asks search services itself, so a cut network stops it too.
- It has no limit of turns or money. ``--max-time`` ends a run as ``aborted``, like one that was stopped from
  outside: which is what the harness does anyway, and then knows why.
"""

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from swetrials.agents.base import Job, Launch, StreamReader
from swetrials.agents.install import Package
from swetrials.agents.packages import PACKAGES
from swetrials.agents.pi.models_file import DIALECTS, key_environment, model_name, provider_description, provider_name
from swetrials.agents.pi.stream import PiReader, is_of_pi
from swetrials.agents.skill_prompt import prompt_with_skill
from swetrials.agents.user_settings import read_settings, settings_json, with_pinned
from swetrials.agents.window import Window
from swetrials.errors import in_one_line
from swetrials.wire.route import Dialect

_TOOLS = {
    "Bash": "bash",
    "Edit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "Read": "read",
    "Task": "task",
    "TodoWrite": "todo",
    "WebSearch": "web_search",
    "Write": "write",
}
# Its tools by the names that the configuration gives them.

_ROLES = ("default", "smol", "slow", "vision", "plan", "commit", "tiny", "task", "advisor")

_LOOKED_UP_UNASKED = (
    *(
        "alibaba-coding-plan",
        "amazon-bedrock",
        "anthropic",
        "azure",
        "cerebras",
        "charm-hyper",
        "cloudflare-ai-gateway",
    ),
    *("commandcode", "deepseek", "github-copilot", "google", "google-vertex", "groq", "huggingface", "kilo"),
    *("llama.cpp", "lm-studio", "minimax", "minimax-cn", "minimax-code", "minimax-code-cn", "mistral", "moonshot"),
    *("nanogpt", "nvidia", "ollama", "ollama-cloud", "openai", "qwen-portal", "together", "venice", "xai", "xiaomi"),
    *("xiaomi-token-plan-ams", "xiaomi-token-plan-cn", "xiaomi-token-plan-sgp", "zai", "zenmux"),
)
# Its own providers whose models it looks up without a key: one of them that is enabled is enough for a knock.

_TRIES_IN_A_GO = 11
# It sends a failing request eleven times before it says a word, and does that again for each retry of its own.

_KEPT_TOKENS, _KEPT_SHARE = 20_000, 4

_LITERAL_PROMPT = """export default function (omp) {
  omp.on("context", (event) => ({ messages: event.messages.filter((message) => message.role !== "fileMention") }));
}
"""
# Its extension that keeps the prompt literal: what the model is shown is what was asked, and nothing read besides.


class Omp:
    """Drives omp."""

    name = "omp"
    folder = "omp"
    dialects: frozenset[Dialect] = frozenset(DIALECTS)
    limits: tuple[str, ...] = (
        "max_turns cannot be enforced, and permission_mode has no effect: allowed_tools decides",
        "a failing request is repeated 11 times in silence, whatever request_retries says",
        "it tells no end: a hang after its last word takes the idle limit",
    )
    server_tools: frozenset[str] = frozenset()
    package: Package = PACKAGES["omp"]

    def reader(self) -> StreamReader:
        """Return a fresh reader for one ``--mode json`` stream."""
        return PiReader()

    def recognises(self, line: Mapping[str, object]) -> bool:
        """Say whether an object is of such a stream."""
        return is_of_pi(line, fork=True)

    def check_settings(self, path: Path) -> None:
        """Look at a user's extra settings: one YAML mapping as omp's ``config.yml`` takes it.

        Raises:
            ValueError: the file cannot be read or holds something else.
        """
        read_settings(path, _yaml)

    def launch(self, binary: Path, job: Job) -> Launch:
        """Return the command line, environment and private files for a job; ``binary`` is Bun."""
        place, settings = job.home / ".omp" / "agent", job.home / "settings.yml"
        prompt, extension = job.home / "prompt.txt", job.home / "literal-prompt.js"
        provider = {**provider_description(job), "auth": "apiKey"}
        # Its YAML files are written as JSON, which is YAML too.
        files = {
            place / "models.yml": settings_json({"providers": {provider_name(job): provider}}),
            settings: settings_json(_settings(job)),
            extension: _LITERAL_PROMPT,
            prompt: f"\n{asked}" if (asked := prompt_with_skill(job)).startswith("/") else asked,
        }
        environment = {"PI_CODING_AGENT_DIR": str(place), **key_environment(job)}
        return Launch(_argv(binary, job, settings, extension), environment, files, stdin=prompt)


def _argv(bun: Path, job: Job, settings: Path, extension: Path) -> tuple[str, ...]:
    modules = bun.parent.parent.parent.parent
    program = modules / "@oh-my-pi" / "pi-coding-agent" / "dist" / "cli.js"
    tools = [own for name, own in _TOOLS.items() if name in job.config.allowed_tools]
    argv = [str(bun), str(program), "--model", f"{provider_name(job)}/{model_name(job)}", "--config", str(settings)]
    argv += ["--mode", "json", "--no-session", "--no-title", "--auto-approve"]
    argv += ["--no-extensions", "--extension", str(extension)]
    argv += ["--tools", ",".join(tools)] if tools else ["--no-tools"]
    return (*argv, "--add-dir", str(job.artifacts), "--print")


def _settings(job: Job) -> dict[str, object]:
    config = job.config
    settings = read_settings(Path(config.settings_file), _yaml) if config.settings_file else {}
    goes = max(1, (config.request_retries + 1) // _TRIES_IN_A_GO)
    pinned: dict[str, dict[str, object]] = {
        "modelRoles": dict.fromkeys(_ROLES, f"{provider_name(job)}/{model_name(job)}"),
        "retry": {"enabled": goes > 1, "maxRetries": goes - 1, "modelFallback": False},
        # Names of subagents, made by a model that is asked in secret.
        "providers": {"tinyModel": "none"},
        # Summaries made ahead of need would be billed whether they are used or not.
        "compaction": {"enabled": True, "asyncEnabled": False, **_window(job)},
        # A subagent that works in the background tells of its tokens nowhere.
        "async": {"enabled": False},
        "startup": {"checkUpdate": False, "setupWizard": False},
        "magicKeywords": {"enabled": False},
    }
    disabled = [name for name in _LOOKED_UP_UNASKED if name != provider_name(job)]
    return {**with_pinned(settings, pinned), "disabledProviders": disabled}


def _window(job: Job) -> dict[str, object]:
    window = Window.of(job.route, job.config)
    if window is None:
        return {}
    # What it keeps word for word by default, 20,000 tokens, can be more than a small window has room for.
    kept = min(_KEPT_TOKENS, window.compact_at // _KEPT_SHARE)
    return {"thresholdTokens": window.compact_at, "keepRecentTokens": kept}


def _yaml(text: str) -> object:
    try:
        return YAML(typ="safe").load(text)
    except YAMLError as error:
        raise ValueError(in_one_line(error)) from None
