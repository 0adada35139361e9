"""Estimates as people read them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import Estimate, ModelStanding, PassK, PerResolved
from swetrials.results.report import wording as figures
from swetrials.results.report.html_tables import Cell

Format = Callable[[float], str]

_SMALL = 0.1
_MINUTE, _HOUR = 60, 3600
_MILLION = 1_000_000


def cell(estimate: Estimate, form: Format, unknown: str = figures.UNKNOWN) -> Cell:
    """Return a figure with its interval below; the ends of an interval are not known where a figure has none."""
    if estimate.value is None:
        return Cell(unknown)
    return Cell(form(estimate.value), interval(estimate, form))


def interval(estimate: Estimate, form: Format) -> str:
    """Return an interval in words, empty where there is none."""
    return "" if estimate.low is None or estimate.high is None else f"{form(estimate.low)} to {form(estimate.high)}"


def points(value: float) -> str:
    """Return a score of 0 to 100."""
    return f"{value:.1f}"


def percent(value: float) -> str:
    """Return a resolve rate of 0 to 100."""
    return f"{value:.0f}%"


def signed_percent(value: float) -> str:
    """Return a difference of resolve rates, in percentage points."""
    return f"{value:+.0f}"


RANKED: Final[Mapping[RankBy, Format]] = {"rubric": points, "resolved": percent}
"""How what is ranked is written, by what that is."""


def signed_points(value: float) -> str:
    """Return a difference of scores."""
    return f"{value:+.1f}"


def share(value: float) -> str:
    """Return a share of 0 to 1 in per cent."""
    return f"{value:.0%}"


def chance(value: float | None) -> str:
    """Return a chance in per cent. It comes from resampling, which proves no certainty: none is 0 or 100."""
    return figures.UNKNOWN if value is None else f"{min(max(round(value * 100), 1), 99)}%"


def dollars(value: float) -> str:
    """Return an amount to the cent, and a small one to two digits."""
    return f"${value:,.2f}" if value >= _SMALL or value == 0 else f"${value:.2g}"


def duration(value: float) -> str:
    """Return a duration in the unit that suits it: seconds, minutes or hours."""
    if value < _MINUTE:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / _MINUTE:.0f} min" if value < 2 * _HOUR else f"{value / _HOUR:.1f} h"


def probability(value: float | None) -> str:
    """Return the p of a test."""
    return figures.UNKNOWN if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: float) -> str:
    """Return a count, of tokens or turns, without a fraction above ten."""
    if value >= _MILLION:
        return f"{value / _MILLION:,.2f} M"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def minutes(value: float) -> str:
    """Return minutes in the unit that suits them."""
    return duration(_MINUTE * value)


def cost(standing: ModelStanding) -> Cell:
    """Return what a trial of a line costs, of those that its rank stands on."""
    mean, missing = standing.ranked_cost_usd, standing.trials_without_cost
    if mean.value is None:
        return Cell("unknown", f"no price for {figures.counted(missing, 'trial')}" if missing else "")
    return mean_cost(mean, lower_bound=standing.ranked_cost_is_lower_bound)


def by_k(chances: Sequence[PassK]) -> str:
    """Return how likely something is of k repeats, for each k."""
    told = ((one.k, one.probability.value) for one in chances)
    return ", ".join(f"k={k}: {share(value)}" for k, value in told if value is not None)


def mean_cost(mean: Estimate, *, lower_bound: bool) -> Cell:
    """Return a mean cost: unknown, at least so much, free, or an amount."""
    found = _with_heavy_task(cell(mean, dollars, "unknown"), mean)
    if lower_bound and mean.value is not None:
        return Cell(f"at least {found.text}", found.note)
    return Cell("free", "declared so") if mean.value == 0 else found


def per_resolved(of: PerResolved, form: Format) -> Cell:
    """Return what one resolved task takes: unknown, more than all that was spent, at least so much, or so."""
    if of.more_than is not None:
        return Cell(f"over {form(of.more_than)}" if of.more_than else "free", "none was resolved")
    if of.ratio.value is None:
        return Cell("unknown")
    found = cell(of.ratio, form)
    return Cell(f"at least {found.text}", found.note) if of.lower_bound else found


def _with_heavy_task(found: Cell, of: Estimate) -> Cell:
    if of.largest_share is None:
        return found
    heavy = f"one task is {of.largest_share:.0%} of it"
    return Cell(found.text, f"{found.note}; {heavy}" if found.note else heavy)
