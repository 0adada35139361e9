"""Figures of an evaluation of the router as people read them; unknown is a dash."""

from collections.abc import Callable

from swetrials.records.leaderboard import Estimate
from swetrials.results.report.wording import UNKNOWN


def dollars(value: float | None) -> str:
    """Return an amount with cents."""
    return UNKNOWN if value is None else f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def percent(value: float | None) -> str:
    """Return a percentage with one decimal."""
    return UNKNOWN if value is None else f"{value:.1f} %"


def points(value: float | None) -> str:
    """Return a difference of scores with its sign."""
    return UNKNOWN if value is None else f"{value:+.1f}"


def with_interval(estimate: Estimate, form: Callable[[float | None], str]) -> str:
    """Return a figure, and in brackets its interval where it has one."""
    if estimate.low is None or estimate.high is None:
        return form(estimate.value)
    return f"{form(estimate.value)} ({estimate.low:.1f} to {estimate.high:.1f})"
