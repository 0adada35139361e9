"""The exceptions whose message is made for the person at the keyboard."""

from typing import ClassVar


class KnownError(Exception):
    """Something went wrong that a person can mend: the message says what, where, and how.

    The command line prints it without a traceback and ends with ``exit_code``: 2 for bad usage or configuration,
    3 where something needed is not there and nothing was spent, 1 where work was done and not all of it.
    """

    exit_code: ClassVar[int] = 2


class UsageError(KnownError):
    """What was asked for cannot be done; the message says why and what mends it. Nothing was run."""


def first_error(error: BaseException) -> BaseException:
    """Return an error itself, or the first one in a group of those that ended tasks beside each other."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def in_one_line(error: BaseException) -> str:
    """Return the message of somebody else's error, line breaks and runs of spaces made one space each."""
    return " ".join(str(error).split())
