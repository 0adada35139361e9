"""Commands and groups of commands that load nothing heavy to be found, to show their help or to refuse a flag.

A command's file imports at its top what its flags need, and in its functions what its work needs: pydantic, rich and
the wings below take longer to load than the help of a command takes to be shown.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup


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


def single_command() -> typer.Typer:
    """Return what a file that holds one command declares it with."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def command_group(about: str, cls: type[LeanGroup] = LeanGroup, *, no_args_is_help: bool = True) -> typer.Typer:
    """Return what a file that holds a group of commands declares them with.

    Args:
        about: the group's help.
        cls: how it finds its commands.
        no_args_is_help: whether it shows its help when no command is given.
    """
    group = typer.Typer(
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
