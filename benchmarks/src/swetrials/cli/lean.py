"""Commands and groups of commands that load nothing heavy to be found, to show their help or to refuse a flag.

A command's file imports at its top what its flags need, and in its functions what its work needs: pydantic, rich and
the wings below take longer to load than the help of a command takes to be shown.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

_VALUES = {
    "address": "HOST:PORT",
    "agent": "AGENT",
    "dataset": "PATH",
    "dir": "PATH",
    "effort": "EFFORT",
    "endpoint": "URL",
    "fault": "FAULT",
    "file": "PATH",
    "host": "ADDRESS",
    "key": "KEY",
    "model": "MODEL",
    "region": "REGION",
    "repo": "URL",
    "resources": "JSON",
    "scenario": "PATH",
    "scope": "SCOPE",
    "seconds": "SECONDS",
    "skill": "SKILL",
    "sql": "QUERY",
    "usd": "DOLLARS",
}
"""What the value of an option is, by the last word of the option's name."""


class LeanCommand(TyperCommand):
    """A command whose help calls a value ``PATH``, ``NUMBER`` or ``NAME,...``, where Typer names Python's types."""

    def __init__(self, name: str | None, **given: Any) -> None:  # noqa: ANN401  whatever Typer gives
        """Make the command, as Typer does."""
        super().__init__(name, **given)
        for value in self.params:
            # An argument goes by its own name, an option's value by what it is.
            if value.metavar is None and not getattr(value, "is_flag", False):
                value.metavar = str(value.name).upper() if value.param_type_name == "argument" else _value(value)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  of the click that Typer brings along
        """Return the parts of the usage line: an argument in brackets where it may be left out."""
        arguments = [value for value in self.params if value.param_type_name == "argument"]
        named = [f"{value.metavar}{'...' if value.nargs != 1 else ''}" for value in arguments]
        pieces = [name if value.required else f"[{name}]" for value, name in zip(arguments, named, strict=True)]
        return [self.options_metavar or "", *pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  of the click that Typer brings along
        """Write arguments and options. The name of an argument says what it is, and no type beside it."""
        for title, kind in {"Arguments": "argument", "Options": "option"}.items():
            values = [value for value in self.get_params(ctx) if value.param_type_name == kind]
            rows = [(value, row) for value in values if (row := value.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(
                        [(str(value.metavar) if kind == "argument" else name, about) for value, (name, about) in rows]
                    )


def _value(option: Any) -> str:  # noqa: ANN401  of Typer
    """Return what the value of an option is: its choices, or a word of manuals."""
    type_ = option.type_descriptor
    if type_.is_choice:
        return "|".join(map(str, type_.choices))
    if type_.is_list:
        return "NAME,..."
    plain = "PATH" if type_.is_path else "NUMBER" if type_.annotation in {int, float} else "TEXT"
    return _VALUES.get(str(option.name).split("_")[-1], plain)


class LeanGroup(TyperGroup):
    """A group whose switches need not be converted where they are not given, and whose help cuts no line.

    Typer converts an option by pydantic unless it is a switch that says true or false. A group's ``--help`` that is not
    given says neither, nor do Typer's two switches for shell completion, so that the help of any command below would
    load pydantic, which takes as long as all else.
    """

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  of the click that Typer brings along
        """Run a command. What an option of it refuses is told in our words, and not in those of Typer's validator."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from swetrials.cli.option_faults import in_our_words

            raise in_our_words(error) from None

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401  of the click that Typer brings along
        """Return the options; a switch says false where it is not given."""
        params = super().get_params(ctx)
        for option in params:
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return params

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  of the click that Typer brings along
        """Write the commands, each with the whole first paragraph of its help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, first_paragraph(command.help)) for name, command in found if command and not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


class CommandEntry(NamedTuple):
    """What is known of a command before its file is loaded.

    Attributes:
        module: its file; the last part of ``swetrials.cli.<module>``, which holds the command as ``app``.
        help: the first paragraph of its help.
        hidden: whether the list of commands passes over it.
    """

    module: str
    help: str
    hidden: bool = False


class _Loading(MutableMapping[str, Any]):
    """Commands by name, each loaded when it is asked for."""

    def __init__(self, entries: Mapping[str, CommandEntry]) -> None:
        self._entries = entries
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  of the click that Typer brings along
        if name not in self._loaded:
            entry = self._entries[name]
            command = typer.main.get_command(import_module(f"swetrials.cli.{entry.module}").app)
            command.name, command.hidden = name, entry.hidden
            self._loaded[name] = command
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:  # noqa: ANN401  of the click that Typer brings along
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class TableGroup(LeanGroup):
    """A group that knows its commands from a table, and loads the file of the one that is called.

    Attributes:
        sections: the commands by what one wants, in the order of the help.
    """

    sections: Mapping[str, Mapping[str, CommandEntry]] = {}

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  whatever Typer gives
        """Make the group, as Typer does."""
        super().__init__(**given)
        self.commands = _Loading({name: entry for section in self.sections.values() for name, entry in section.items()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  of the click that Typer brings along
        """Write the commands section by section, out of the table."""
        width = max(len(name) for section in self.sections.values() for name in section)
        for title, section in self.sections.items():
            rows = [(name.ljust(width), entry.help) for name, entry in section.items() if not entry.hidden]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a help text, as one line."""
    return " ".join((text or "").split("\n\n")[0].split())


class _LeanTyper(typer.Typer):
    """Declares commands, each a :class:`LeanCommand`."""

    def command(self, name: str | None = None, **given: Any) -> Callable[[Any], Any]:  # noqa: ANN401  as Typer
        return super().command(name, **{"cls": LeanCommand} | given)


def single_command() -> typer.Typer:
    """Return what a file that holds one command declares it with."""
    return _LeanTyper(add_completion=False, rich_markup_mode=None)


def command_group(about: str, cls: type[LeanGroup] = LeanGroup, *, no_args_is_help: bool = True) -> typer.Typer:
    """Return what a file that holds a group of commands declares them with.

    Args:
        about: the group's help.
        cls: how it finds its commands.
        no_args_is_help: whether it shows its help when no command is given.
    """
    group = _LeanTyper(
        cls=cls, help=about, no_args_is_help=no_args_is_help, add_completion=False, rich_markup_mode=None
    )
    group.callback()(_nothing)  # a group even where it has one command
    return group


def _nothing() -> None: ...


def leave(code: int) -> NoReturn:
    """End the command with an exit code.

    Raises:
        typer.Exit: always.
    """
    raise typer.Exit(code)
