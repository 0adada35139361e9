"""A command as a person writes it in YAML: words, or a line that is split into them."""

import re
import shlex
from typing import Annotated

from pydantic import BeforeValidator, Field

_SHELL_WORDS = frozenset({"&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1"})
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _argv(value: object) -> object:
    """Split a string into words; refuse one that only a shell would understand."""
    if not isinstance(value, str):
        return value
    try:
        words = tuple(shlex.split(value))
    except ValueError as error:
        raise ValueError(f"{value!r} cannot be split into words: {error}") from None
    operators = sorted(_SHELL_WORDS.intersection(_QUOTED.sub("_", value).split()))
    if operators:
        raise ValueError(f"no shell reads {operators[0]!r}; make it several commands, or ['sh', '-c', '...']")
    if words and _ASSIGNMENT.match(words[0]):
        raise ValueError(f"no shell reads {words[0]!r}; write 'env {words[0]} ...'")
    return words


Argv = Annotated[tuple[str, ...], BeforeValidator(_argv), Field(min_length=1)]
"""A command as words. A string is split as a shell would split it; no shell ever runs it."""
