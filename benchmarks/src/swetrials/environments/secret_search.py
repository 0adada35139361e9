"""The values that setup alone may see, and the search for them in what it has made."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from swetrials.environments.base import PreparationError
from swetrials.store.redaction import Redactor

_SHORTEST = 8
# As the redactor's: a shorter value cannot be told from ordinary text.

_CHUNK_BYTES = 1 << 20


class SecretError(PreparationError):
    """A secret that setup is to be given is not there; the message names the variable."""


def values_of_secrets(names: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the user's variables that setup may see.

    Raises:
        SecretError: one is not set, or too short to be found again in what setup has made.
    """
    for name in names:
        if not base.get(name):
            raise SecretError(f"setup_secrets: {name} is not set; export it")
        if len(base[name]) < _SHORTEST:
            raise SecretError(f"setup_secrets: {name} is shorter than {_SHORTEST} characters: no secret")
    return {name: base[name] for name in names}


def told_apart(secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Return each secret, and the password of one that is a URL, as it may be written down alone."""
    found = list(secrets.values())
    for value in secrets.values():
        try:
            password = urlsplit(value).password or ""
        except ValueError:
            continue
        found += [part for part in (password, unquote(password)) if len(part) >= _SHORTEST]
    return tuple(dict.fromkeys(found))


def secret_in(folder: Path, redactor: Redactor) -> Path | None:
    """Return a file below a folder that holds a secret, in its name or its content, relative to the folder.

    What is packed or encrypted is not looked into.

    Args:
        folder: where to look.
        redactor: of the secrets alone.
    """
    for path in _files(folder):
        name = os.fsencode(path.relative_to(folder))
        target = os.fsencode(path.readlink()) if path.is_symlink() else b""
        if any(redactor.bytes(text) != text for text in (name, target)):
            return path.relative_to(folder)
        if not path.is_symlink() and path.is_file() and _holds(path, redactor):
            return path.relative_to(folder)
    return None


def _holds(path: Path, redactor: Redactor) -> bool:
    rest = b""
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            text = rest + data
            if redactor.bytes(text) != text:
                return True
            rest = text[-_CHUNK_BYTES // 16 :]
    return False


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in files)
        yield from (path for path in (Path(place, name) for name in folders) if path.is_symlink())
