"""Options that several commands share, and the configuration's keys as options.

The keys are read from config_flags.json, which ``make docs`` writes from the configuration's model: importing the model
loads pydantic, which would double the time that ``--help`` takes. A test keeps the file and the model alike.
"""

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from swetrials.runs.benchmark import RunOptions


class ConfigKey(NamedTuple):
    """A key of the configuration as an option.

    Attributes:
        kind: of the value: ``text``, ``number``, ``whole`` (a whole number), ``list`` or ``switch``.
        about: what it means, as a sentence.
        choices: the values that there are; empty: any.
        default: what holds where it is not given, in words; empty: nothing, or what ``about`` says.
    """

    kind: str
    about: str
    choices: list[str]
    default: str

    @property
    def help(self) -> str:
        """The option's help: what it means, and its default."""
        return f"{self.about}  [default: {self.default}]" if self.default else self.about


_FLAGS = Path(__file__).with_name("config_flags.json")
CONFIG_KEYS = {key: ConfigKey(**given) for key, given in json.loads(_FLAGS.read_text(encoding="utf-8")).items()}

_KINDS: dict[str, Any] = {
    "text": str | None,
    "number": float | None,
    "whole": int | None,
    "list": list[str] | None,
    "switch": bool | None,
}

JUDGE_KEYS = tuple(name for name in CONFIG_KEYS if name.startswith("judge_"))

ALIASES = {"judge_effort": ("--judge-reasoning-effort",)}
"""Other spellings of a key's flag, which every command takes."""

_WHERE_TO_JUDGE = ("environment", "preparations_max_gb")
"""Further keys that count where trials are judged that ran before."""

_IN_JUDGE = {
    "judge_model": ("--model",),
    "judge_effort": ("--reasoning-effort",),
    "judge_endpoint": ("--endpoint",),
    "judge_aws_region": ("--aws-region",),
    "judge_timeout_seconds": ("--timeout-seconds",),
}
"""Shorter spellings in a command that does nothing but judge."""

ConfigFile = Annotated[Path | None, typer.Option("--config", help="Configuration file (YAML).", metavar="FILE")]
SkipJudge = Annotated[bool, typer.Option("--skip-judge", help="The same as --judge-mode skip.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JudgeChosen = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="Take this judge's scores, such as codex/MODEL; the beginning will do. Default: each trial's first judge.",
        metavar="NAME",
    ),
]
RankByChosen = Annotated[
    Literal["resolved", "rubric"] | None,
    typer.Option(
        help="Rank by this. Default: what the trials' dataset says; of older trials, what they were judged by."
    ),
]
JudgeNames = Annotated[
    str, typer.Option("--judge", help="Judges, comma-separated: tests, codex; empty: none.", metavar="NAMES")
]
ALL_JUDGES = "tests,codex"


@dataclass(frozen=True)
class RunFlags:
    """What a command that runs trials is told beside the keys of the configuration."""

    config: ConfigFile = None
    yes: Annotated[bool, typer.Option("--yes", help="Move earlier trials to .trash and start.")] = False
    resume: Annotated[bool, typer.Option("--resume", help="Keep finished trials, run the others.")] = False
    force: Annotated[
        bool,
        typer.Option("--force", help="With --resume: run finished trials of which something else was asked again."),
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run, and run nothing.")] = False
    skip_probe: Annotated[bool, typer.Option("--skip-probe", help="Make no test call before the first trial.")] = False
    keep_checkouts: Annotated[
        bool, typer.Option("--keep-checkouts", help="Keep checkouts and homes of the attempts.")
    ] = False
    stream: Annotated[bool, typer.Option("--stream", help="Show what the agents do while they do it.")] = False

    @property
    def options(self) -> "RunOptions":
        """What of it the run itself is told."""
        from swetrials.runs.benchmark import RunOptions

        return RunOptions(self.yes, self.resume, self.force, self.skip_probe, self.keep_checkouts)


def judge_names(text: str) -> tuple[str, ...]:
    """Return the names in what ``--judge`` was given."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def with_run_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of :class:`RunFlags`, which it takes as one argument, ``asked``."""
    added = inspect.signature(RunFlags).parameters.values()
    return _gathering(command, "asked", [*added, *_own(command, "asked")], lambda given: RunFlags(**given))


def with_config_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option per key of the configuration.

    The command takes them as one argument, ``flags``: the values that were given, by key.
    """
    return _with_keys(command, CONFIG_KEYS, {})


def with_config_keys_but(**defaults: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what does the same for a command in which keys have other defaults; here in words, empty: none."""
    keys = {name: key._replace(default=defaults.get(name, key.default)) for name, key in CONFIG_KEYS.items()}
    return lambda command: _with_keys(command, keys, {})


def with_judge_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that only judges one option per key that says something of the judge, or where it works."""
    return _with_keys(command, {name: CONFIG_KEYS[name] for name in (*JUDGE_KEYS, *_WHERE_TO_JUDGE)}, _IN_JUDGE)


def with_check_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that checks a dataset one option per key that says which tasks, and where it works."""
    names = ("tasks", "clone_dir", *_WHERE_TO_JUDGE)
    return _with_keys(command, {name: CONFIG_KEYS[name] for name in names}, {})


def with_mine_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command that mines one option per key that says where it works."""
    names = ("clone_dir", *_WHERE_TO_JUDGE)
    return _with_keys(command, {name: CONFIG_KEYS[name] for name in names}, {})


def _with_keys(
    command: Callable[..., None], keys: Mapping[str, ConfigKey], shorter: Mapping[str, tuple[str, ...]]
) -> Callable[..., None]:
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[_KINDS[key.kind], _option(name, key, shorter)],
        )
        for name, key in keys.items()
    ]
    return _gathering(
        command,
        "flags",
        [*_own(command, "flags"), *added],
        lambda given: {name: value for name, value in given.items() if value is not None},
    )


def _own(command: Callable[..., None], gathered: str) -> list[inspect.Parameter]:
    """Return the parameters of a command but the one that others are gathered in."""
    return [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != gathered]


def _gathering(
    command: Callable[..., None],
    name: str,
    parameters: Sequence[inspect.Parameter],
    gather: Callable[[dict[str, Any]], object],
) -> Callable[..., None]:
    """Return a command that takes ``parameters``, and hands on those that are not its own as one argument ``name``."""
    own = {p.name for p in _own(command, name)}

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:  # noqa: ANN401  whatever Typer parsed
        kept = {key: value for key, value in arguments.items() if key in own}
        gathered = {key: value for key, value in arguments.items() if key not in own}
        command(**kept, **{name: gather(gathered)})

    shown = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    wrapped.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in shown}
    return wrapped


def _option(name: str, key: ConfigKey, shorter: Mapping[str, tuple[str, ...]]) -> Any:  # noqa: ANN401  Typer says Any
    return typer.Option(
        *_spellings(name, shorter),
        help=key.help,
        rich_help_panel="Configuration",
        metavar="|".join(key.choices) or None,
        autocompletion=_completing(key.choices) if key.choices else None,
    )


def _completing(choices: Sequence[str]) -> Callable[[str], list[str]]:
    def beginning(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return beginning


def _spellings(name: str, shorter: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    more = (*ALIASES.get(name, ()), *shorter.get(name, ()))
    # Without another spelling, Typer's own rule makes the pair --meter and --no-meter of a switch.
    return (f"--{name.replace('_', '-')}", *more) if more else ()
