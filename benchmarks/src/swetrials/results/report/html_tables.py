"""Tables as the page shows them: plain text, links and notes; the template alone makes markup of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One cell."""

    text: str
    note: str = ""
    """In small letters below: an interval, what a figure stands on."""

    href: str | None = None


@dataclass(frozen=True)
class Table:
    """Columns and rows; the first cell of a row names it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: frozenset[str] = frozenset()
    """Columns of words, set to the left as the first one is; the others hold figures."""


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell | str]], words: Iterable[str] = ()) -> Table:
    """Return a table; a plain text becomes a cell."""
    cells = tuple(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
    return Table(tuple(columns), cells, frozenset(words))
