"""Writing and reading single files so that a crash leaves the old state or the new one, never a half."""

import hashlib
import os
import secrets
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import ValidationError

from swetrials.errors import KnownError
from swetrials.records.published_record import kind_of, tree_of
from swetrials.records.record import Record
from swetrials.store.reading import read_bytes

R = TypeVar("R", bound=Record)


class RecordError(KnownError):
    """A record on disk is missing, torn or of another shape; the message names file, field and remedy."""


def sha256_of(data: bytes | str) -> str:
    """Return the hexadecimal SHA-256 of bytes, or of a text's UTF-8 bytes."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def write_atomically(path: Path, data: bytes | str) -> None:
    """Put ``data`` at ``path`` in one step: written beside it, flushed to disk, then renamed over it.

    Folders on the way are made. A crash leaves the old file or the new one. A device or a pipe, such as
    ``/dev/stdout``, is written into: put in its place, a file would take it from everybody.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        path.write_bytes(_as_bytes(data))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(_as_bytes(data))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        # On a full disk the file itself gives no name; and nobody knows the one beside.
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        beside.unlink(missing_ok=True)


def _as_bytes(data: bytes | str) -> bytes:
    return data.encode(errors="replace") if isinstance(data, str) else data


def to_json(record: Record) -> bytes:
    """Return a record as indented JSON that ends in a newline.

    What is no text, as the bytes of a folder's name in another encoding, becomes a question mark: JSON has no word for
    it, and the record is not to be lost for it.
    """
    data, options = record.model_dump(mode="json"), orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(data, option=options)
    except TypeError:
        return orjson.dumps(_as_text(data), option=options)


def _as_text(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list | tuple) else value


def write_record(path: Path, record: Record) -> None:
    """Write a record as JSON, atomically."""
    write_atomically(path, to_json(record))


def write_record_once(path: Path, record: Record) -> None:
    """Write a record that never changes: in one step, and only where there is none yet.

    Raises:
        FileExistsError: there is one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    write_atomically(beside, to_json(record))
    try:
        os.link(beside, path)
    finally:
        beside.unlink()


class ForeignRecordError(RecordError):
    """A record was written by another harness of this kind; the message names the command that imports it."""

    def __init__(self, path: Path, data: object) -> None:
        """Take the record's file and what is in it.

        ``tree`` is the folder to import.
        """
        self.tree = tree_of(path, data)
        super().__init__(f"{path}: {elsewhere(self.tree)}")


def elsewhere(tree: object) -> str:
    """Return what to say of a tree that another harness of this kind wrote."""
    return f"written by another harness: swetrials import {tree}"


def refuse_foreign(path: Path) -> None:
    """Say of a record that cannot be read when another harness wrote it.

    Raises:
        ForeignRecordError: it did.
    """
    try:
        data = orjson.loads(read_bytes(path))
    except (OSError, orjson.JSONDecodeError):
        return
    if kind_of(data) is not None:
        raise ForeignRecordError(path, data)


def read_record(path: Path, kind: type[R]) -> R:
    """Read a JSON record.

    Raises:
        RecordError: the file is missing, is not JSON, or does not fit the model.
    """
    data: object = None
    try:
        data = orjson.loads(read_bytes(path))
        return kind.model_validate(data)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{path}: not JSON ({error}); move it away, and make it again") from None
    except ValidationError as error:
        if kind_of(data) is not None:
            raise ForeignRecordError(path, data) from None
        raise RecordError(f"{path}: not a record of this kind ({first_fault(error)}); move it away") from None


def first_fault(error: ValidationError) -> str:
    """Return the first thing that is wrong with a record, with the field that it is in."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"]) or "record"
    return f"{field}: {first['msg'][0].lower()}{first['msg'][1:]}"
