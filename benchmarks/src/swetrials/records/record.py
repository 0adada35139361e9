"""What every record shares: strictness, immutability and a few constrained kinds of text."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

SCHEMA_VERSION: Final = "1.0"
"""Version of the records this package writes; readers accept the same major version."""

_SAFE_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_PART = 100


class Record(BaseModel):
    """Base of everything on disk: unknown keys are errors, values never change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)

    keys_of_others: ClassVar[Mapping[str, str]] = {}
    """Keys that other programs have in such a record and this one has not, each with what to write in its place."""

    when_missing: ClassVar[Mapping[str, str]] = {}
    """What to say of a required key that is missing, beyond that."""


def fault_at(message: str, *at: str | int) -> PydanticCustomError:
    """Return the error of a check across several fields, to be raised, that names the field to look at.

    Args:
        message: what is wrong, in plain words.
        at: the way from the record that is checked to the offending value.
    """
    return PydanticCustomError("fault_at", "{message}", {"message": message, "at": at})


def none_for_zero(value: object) -> object:
    """Return ``None`` for a size of 0, which other harnesses write where none is meant."""
    return None if value in (0, "0") and not isinstance(value, bool) else value


def safe_path_part(value: str) -> str:
    """Return ``value`` when it can be one folder name on any system.

    Raises:
        ValueError: the value is empty, too long, or holds anything but letters, digits, ``.``, ``_``
            and ``-`` (so no separator, no ``..``, no leading dash).
    """
    if not _SAFE_PART.fullmatch(value) or len(value) > _MAX_PART:
        raise ValueError(
            f"{value!r} is not a safe folder name: use letters, digits, '.', '_' and '-', "
            f"starting with a letter or digit, at most {_MAX_PART} characters"
        )
    return value


def relative_file(value: str) -> str:
    """Return ``value`` when it names a file inside a repository, and nothing of git's own.

    Raises:
        ValueError: the path is absolute, climbs out with ``..``, starts with a dash or enters ``.git``.
    """
    parts = value.split("/")
    if not value or value.startswith(("/", "-")) or "\\" in value or "\0" in value or ".." in parts or "" in parts:
        raise ValueError(f"{value!r} is not a relative path inside the repository")
    if any(part.lower() == ".git" for part in parts):
        raise ValueError(f"{value!r} points into git's own folder")
    return value


PathPart = Annotated[str, AfterValidator(safe_path_part)]
"""One folder name: a task id, a scope, a skill, a model slug."""

RelativeFile = Annotated[str, AfterValidator(relative_file)]
"""A file inside a repository, with forward slashes."""
