"""Reading a user's extra settings for an agent."""

from collections.abc import Callable
from pathlib import Path


def read_settings(path: Path, parse: Callable[[str], object]) -> dict[str, object]:
    """Return what a settings file holds.

    Args:
        path: the file.
        parse: makes a value of its text, and raises a ``ValueError`` for a text that it cannot read.

    Raises:
        ValueError: the file cannot be read, or holds something else than one object; the message names it.
    """
    try:
        settings = parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path}: expected one object of settings")
    return settings
