"""Estimates as people read them."""

from collections.abc import Callable

from swetrials.records.leaderboard import Estimate, ModelStanding
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


def cost(standing: ModelStanding) -> Cell:
    """Return what a completed trial of a line costs: unknown, free, at least so much, or an amount."""
    if standing.cost_usd.value is None:
        missing = standing.trials_without_cost
        return Cell("unknown", f"no price for {figures.counted(missing, 'trial')}" if missing else "")
    found = cell(standing.cost_usd, dollars)
    if standing.cost_usd.largest_share is not None:
        heavy = f"one task is {standing.cost_usd.largest_share:.0%} of it"
        found = Cell(found.text, f"{found.note}; {heavy}" if found.note else heavy)
    if standing.cost_is_lower_bound:
        return Cell(f"at least {found.text}", found.note)
    return Cell("free", "declared so") if standing.cost_usd.value == 0 else found
