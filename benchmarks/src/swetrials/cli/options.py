"""The configuration's keys as command-line options, shared by every command that runs something.

The table is written out here, not derived from the configuration's model, since importing pydantic would
double the time that ``--help`` takes. A test keeps the two alike.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer


class _Key(NamedTuple):
    kind: Any
    help: str


_TEXT, _NUMBER, _WHOLE, _LIST, _SWITCH = str | None, float | None, int | None, list[str] | None, bool | None

CONFIG_KEYS: dict[str, _Key] = {
    "agent": _Key(_TEXT, "Coding-agent CLI: claude, codex, omp, opencode, pi."),
    "provider": _Key(_TEXT, "Where the model is hosted: rehearsal, endpoint, bedrock, litellm, vllm."),
    "endpoint": _Key(_TEXT, "Base URL of the provider, where it needs one."),
    "model": _Key(_TEXT, "Model id as the provider knows it."),
    "dialect": _Key(_TEXT, "What provider endpoint speaks: anthropic, openai-chat, openai-responses."),
    "api_key": _Key(_TEXT, "Key of the endpoint; better given as SWETRIALS_API_KEY."),
    "aws_region": _Key(_TEXT, "Region, where the provider is on AWS."),
    "dataset": _Key(_TEXT, "The dataset's YAML file."),
    "output_dir": _Key(_TEXT, "Root of the results tree."),
    "clone_dir": _Key(_TEXT, "Mirrors and checkouts; default: a private temp folder."),
    "tasks": _Key(_LIST, "Task ids to run, comma-separated or repeated; default: all."),
    "count": _Key(_WHOLE, "Run only the first N of the chosen tasks."),
    "executor": _Key(_TEXT, "Where agents run: local, or ray (on the machines of a cluster)."),
    "ray_address": _Key(_TEXT, "The Ray cluster, as HOST:PORT; auto: the one that this machine is in."),
    "ray_resources": _Key(_TEXT, 'Ray: what a machine sets aside for each trial, as JSON: {"vllm_qwen": 1}.'),
    "shared_dir": _Key(_TEXT, "Ray: a folder that all machines share, through which files come back."),
    "concurrency": _Key(_WHOLE, "Trials at the same time."),
    "provider_concurrency": _Key(_WHOLE, "Trials at the same time on this provider, of all runs on this machine."),
    "repeats": _Key(_WHOLE, "Trials of each task."),
    "order": _Key(_TEXT, "interleaved: a round of all tasks per repeat, shuffled; sequential: task by task."),
    "seed": _Key(_WHOLE, "What the interleaved order is shuffled by."),
    "skill": _Key(_TEXT, "Instructions the agent follows."),
    "sandbox": _Key(_TEXT, "auto, bubblewrap or none."),
    "repo_instructions": _Key(_TEXT, "The repository's own CLAUDE.md, AGENTS.md and the like: keep or neutralise."),
    "permission_mode": _Key(_TEXT, "The agent's own; bypassPermissions only with --sandbox bubblewrap."),
    "allowed_tools": _Key(_LIST, "Tools the agent may use without asking."),
    "max_turns": _Key(_WHOLE, "Model responses of the main agent."),
    "max_output_tokens": _Key(_WHOLE, "Output tokens of one response."),
    "request_retries": _Key(_WHOLE, "Times the agent may repeat one failed request."),
    "max_retries": _Key(_WHOLE, "Extra attempts after a rate limit, a provider's error or a start that failed."),
    "max_topups": _Key(_WHOLE, "Extra attempts for missing files, when the four design documents are there."),
    "context_window": _Key(_WHOLE, "Tokens the served model holds."),
    "auto_compact_fraction": _Key(_NUMBER, "Share of the window at which the agent compacts."),
    "timeout_seconds": _Key(_NUMBER, "Wall time of one attempt."),
    "idle_timeout_seconds": _Key(_NUMBER, "Silence after which an attempt is stopped."),
    "max_budget_usd": _Key(_NUMBER, "Spending limit of the whole run."),
    "max_attempt_budget_usd": _Key(_NUMBER, "The agent's own spending limit for one attempt."),
    "settings_file": _Key(_TEXT, "Extra settings merged into the agent's own."),
    "meter": _Key(_SWITCH, "Count every request on the wire, and keep the key from the agent."),
    "keep_bodies": _Key(_SWITCH, "Keep what the meter saw pass, secrets masked."),
    "instance_type": _Key(_TEXT, "Self-hosted: the machine, kept in each record."),
    "tensor_parallel_size": _Key(_WHOLE, "Self-hosted: GPUs that the model is spread over, kept in each record."),
    "precision": _Key(_TEXT, "Self-hosted: of the weights, such as BF16 or FP8, kept in each record."),
    "dollars_per_hour": _Key(_NUMBER, "Self-hosted: hourly rate of the whole box."),
    "box_share": _Key(_NUMBER, "Self-hosted: share of the box that the model takes."),
    "scenario": _Key(_TEXT, "Rehearsal: the script to play; default: beside the dataset."),
    "fault": _Key(_TEXT, "Rehearsal: a fault that every scripted request meets."),
    "judge_provider": _Key(_TEXT, "The judge's route: personal, bedrock, endpoint, rehearsal."),
    "judge_model": _Key(_TEXT, "The judge's model."),
    "judge_effort": _Key(_TEXT, "The judge's reasoning effort."),
    "judge_endpoint": _Key(_TEXT, "Judge on an endpoint: its base URL; default: the run's."),
    "judge_aws_region": _Key(_TEXT, "Judge on Bedrock: its region; default: the run's."),
    "judge_api_key": _Key(_TEXT, "Key of the judge's endpoint; better given as SWETRIALS_JUDGE_API_KEY."),
    "judge_timeout_seconds": _Key(_NUMBER, "Wall time of one answer of the judge."),
}

JUDGE_KEYS = tuple(name for name in CONFIG_KEYS if name.startswith("judge_"))

ALIASES = {"judge_effort": ("--judge-reasoning-effort",)}
"""Other spellings of a key's flag, which every command takes."""

_IN_JUDGE = {
    "judge_model": ("--model",),
    "judge_effort": ("--reasoning-effort",),
    "judge_endpoint": ("--endpoint",),
    "judge_aws_region": ("--aws-region",),
    "judge_timeout_seconds": ("--timeout-seconds",),
}
"""Shorter spellings in a command that does nothing but judge."""

JudgeNames = Annotated[
    str, typer.Option("--judge", help="Judges, comma-separated: tests, codex; empty: none.", metavar="NAMES")
]
ALL_JUDGES = "tests,codex"


def judge_names(text: str) -> tuple[str, ...]:
    """Return the names in what ``--judge`` was given."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def with_config_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option per key of the configuration.

    The command takes them as one argument, ``flags``: the values that were given, by key.
    """
    return _with_keys(command, tuple(CONFIG_KEYS), {})


def with_judge_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that only judges one option per key that says something of the judge; see above."""
    return _with_keys(command, JUDGE_KEYS, _IN_JUDGE)


def _with_keys(
    command: Callable[..., None], keys: Sequence[str], shorter: Mapping[str, tuple[str, ...]]
) -> Callable[..., None]:
    own = [p for p in inspect.signature(command).parameters.values() if p.name != "flags"]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                CONFIG_KEYS[name].kind,
                typer.Option(*_spellings(name, shorter), help=CONFIG_KEYS[name].help, rich_help_panel="Configuration"),
            ],
        )
        for name in keys
    ]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:  # noqa: ANN401  whatever Typer parsed
        flags = {name: arguments.pop(name) for name in keys}
        command(**arguments, flags={name: value for name, value in flags.items() if value is not None})

    wrapped.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*own, *added]}
    return wrapped


def _spellings(name: str, shorter: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    more = (*ALIASES.get(name, ()), *shorter.get(name, ()))
    # Without another spelling, Typer's own rule makes the pair --meter and --no-meter of a switch.
    return (f"--{name.replace('_', '-')}", *more) if more else ()
