"""What a measurement gives: a figure without and with the thing measured, and the limit it has to keep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    ``base`` and ``measured`` are in ``unit``; ``added``, in ``added_unit``, is what counts against ``limit``.
    """

    what: str
    unit: str
    base: float | None
    measured: float
    added: float
    added_unit: str
    limit: float | None = None

    @property
    def within(self) -> bool:
        """Whether the limit, if there is one, is kept."""
        return self.limit is None or self.added <= self.limit


def difference(what: str, unit: str, base: Sequence[float], measured: Sequence[float], limit: float | None) -> Figure:
    """Return how much longer the median got, in the unit itself."""
    without, with_it = median(base), median(measured)
    return Figure(what, unit, without, with_it, with_it - without, unit, limit)


def percentage(
    what: str,
    unit: str,
    base: Sequence[float],
    measured: Sequence[float],
    limit: float | None,
    pick: Callable[[Sequence[float]], float] = min,
) -> Figure:
    """Return by how many per cent a run got longer: of several, the shortest or what ``pick`` picks."""
    without, with_it = pick(base), pick(measured)
    return Figure(what, unit, without, with_it, (with_it / without - 1) * 100, "%", limit)


def show(figures: Sequence[Figure]) -> None:
    """Print a table."""
    table = Table("what", "unit", "without", "with", "ratio", "added", "limit", "", box=None, pad_edge=False)
    for figure in figures:
        table.add_row(
            figure.what,
            figure.unit,
            "" if figure.base is None else f"{figure.base:.2f}",
            f"{figure.measured:.2f}",
            f"{figure.measured / figure.base:.3f}" if figure.base else "",
            f"{figure.added:+.2f} {figure.added_unit}",
            "" if figure.limit is None else f"{figure.limit:g} {figure.added_unit}",
            "" if figure.limit is None else "ok" if figure.within else "TOO MUCH",
        )
    Console().print(table)
