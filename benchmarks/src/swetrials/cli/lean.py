"""Groups of commands that load nothing to find the command."""

from typing import Any

from typer.core import TyperGroup


class LeanGroup(TyperGroup):
    """A group whose own ``--help`` need not be converted where it is not given.

    Typer converts an option by pydantic unless it is a switch that says true or false. A group's ``--help`` that is not
    given says neither, so that the help of any command below would load pydantic, which takes as long as all else.
    """

    def get_help_option(self, ctx: Any) -> Any:  # noqa: ANN401  of the click that Typer brings along
        """Return the option, which says false where it is not given."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option
