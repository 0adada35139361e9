"""An agent's settings: reading what a user adds, and writing what its CLI reads."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from swetrials.store.reading import read_text


def read_settings(path: Path, parse: Callable[[str], object]) -> dict[str, object]:
    """Return what a settings file holds.

    Args:
        path: the file.
        parse: makes a value of its text, and raises a ``ValueError`` for a text that it cannot read.

    Raises:
        ValueError: the file cannot be read, or holds something else than one object; the message names it.
    """
    try:
        settings = parse(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path}: expected one object of settings")
    return settings


def with_pinned(settings: Mapping[str, object], pinned: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """Return a user's settings with ours in their groups: ours win, the rest of each group stays the user's."""
    groups = {name: group if isinstance(group := settings.get(name), dict) else {} for name in pinned}
    return {**settings, **{name: {**groups[name], **ours} for name, ours in pinned.items()}}


def settings_json(settings: object) -> str:
    """Return the text of a settings file in JSON."""
    return json.dumps(settings, indent=2) + "\n"
