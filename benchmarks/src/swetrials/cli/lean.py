"""Groups of commands that load nothing to find the command."""

from typing import Any

import typer
from typer.core import TyperGroup


class LeanGroup(TyperGroup):
    """A group whose own ``--help`` need not be converted where it is not given.

    Typer converts an option by pydantic unless it is a switch that says true or false. A group's ``--help`` that is not
    given says neither, so that the help of any command below would load pydantic, which takes as long as all else.
    """

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  of the click that Typer brings along
        """Run a command. What an option of it refuses is told in our words, and not in those of Typer's validator."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from swetrials.cli.option_faults import in_our_words

            raise in_our_words(error) from None

    def get_help_option(self, ctx: Any) -> Any:  # noqa: ANN401  of the click that Typer brings along
        """Return the option, which says false where it is not given."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option
