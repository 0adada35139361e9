"""Reading CSV files that other people wrote, with every fault at its line and column."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from swetrials.records.record import Record
from swetrials.store.files import sha256_of
from swetrials.store.problems import DocumentError, Problem
from swetrials.store.reading import read_bytes

R = TypeVar("R", bound=Record)

_MOST_PROBLEMS = 10
"""A column of the wrong kind is wrong in every row: more lines than these tell nothing new."""

_MOST_SHOWN = 40
"""Characters of what is no header."""


@dataclass(frozen=True)
class CsvRow(Generic[R]):
    """One row: its line in the file, its cells as printed, and what they say."""

    line: int
    cells: dict[str, str]
    record: R


@dataclass(frozen=True)
class CsvSource(Generic[R]):
    """A file's rows. ``sha256`` is that of its bytes, in hexadecimal."""

    path: Path
    sha256: str
    rows: tuple[CsvRow[R], ...]


def read_csv(path: Path, kind: type[R]) -> CsvSource[R]:
    """Read a CSV whose header names the fields of ``kind``; an empty cell is ``None``.

    Raises:
        DocumentError: one problem per fault, with line and column; of many faults the first few.
    """
    try:
        data = read_bytes(path)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise DocumentError([Problem(str(path), None, "", error.strerror or str(error))]) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DocumentError([Problem(str(path), line, "", "not UTF-8; save it as UTF-8")]) from None
    rows, problems = list[CsvRow[R]](), list[Problem]()
    for line, cells in _lines(path, text, kind):
        try:
            record = kind.model_validate({name: cell or None for name, cell in cells.items()})
            rows.append(CsvRow(line, cells, record))
        except ValidationError as error:
            problems += _problems(path, line, cells, error)
    if not rows and not problems:
        problems.append(Problem(str(path), None, "", "no rows"))
    if problems:
        raise DocumentError(_some(problems))
    return CsvSource(path, sha256_of(data), tuple(rows))


def _lines(path: Path, text: str, kind: type[Record]) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] = []
    try:
        before = 0
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not cells:
                continue
            if not columns:
                columns = [name.strip() for name in cells]
                _check_header(path, line, columns, kind)
            elif len(cells) != len(columns):
                message = f"{len(cells)} cells, the header has {len(columns)}"
                raise DocumentError([Problem(str(path), line, "", message)])
            else:
                yield line, dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise DocumentError([Problem(str(path), reader.line_num, "", f"not CSV: {error}")]) from None


def _check_header(path: Path, line: int, columns: Sequence[str], kind: type[Record]) -> None:
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    faults = {
        "missing": [name for name in needed if name not in columns],
        "unknown": [name or "one without a name" for name in columns if name not in kind.model_fields],
        "there twice": list(dict.fromkeys(name for name in columns if columns.count(name) > 1)),
    }
    if len(columns) == 1 < len(needed):
        message = f"there is one, {columns[0][:_MOST_SHOWN]!r}; cells are separated by commas"
        raise DocumentError([Problem(str(path), line, "columns", message)])
    if said := [f"{what}: {', '.join(names)}" for what, names in faults.items() if names]:
        raise DocumentError([Problem(str(path), line, "columns", "; ".join(said))])


def _problems(path: Path, line: int, cells: dict[str, str], error: ValidationError) -> Iterator[Problem]:
    for fault in error.errors():
        if fault["type"] == "fault_at":
            yield Problem(str(path), line, str(fault["ctx"]["at"][0]), fault["msg"])
            continue
        column = str(fault["loc"][0])
        message = f"{fault['msg'][0].lower()}{fault['msg'][1:]}".removeprefix("value error, ")
        shown = f"{cells[column]!r}: {message}" if cells[column] else "empty"
        yield Problem(str(path), line, column, shown)


def _some(problems: Sequence[Problem]) -> list[Problem]:
    shown = list(problems[:_MOST_PROBLEMS])
    if more := len(problems) - len(shown):
        shown[-1] = replace(shown[-1], message=f"{shown[-1].message} (and {more} faults more)")
    return shown
