"""The tables of what was resolved, and of what the verdicts stand on."""

from collections.abc import Callable
from typing import Final

from swetrials.records.leaderboard import Leaderboard, ModelStanding, ResolveStanding
from swetrials.records.verification import Evidence
from swetrials.results.report import estimates
from swetrials.results.report import wording as figures
from swetrials.results.report.estimates import by_k, cell
from swetrials.results.report.html_tables import Cell, Table, table

Column = Callable[[ModelStanding], Cell | str]
"""From a line of the leaderboard to a cell."""


def columns(board: Leaderboard) -> dict[str, Column]:
    """Return the columns of the leaderboard that say how many tasks were resolved, and what one took."""
    found: dict[str, Column] = {
        "resolve rate": lambda s: cell(s.ranked, estimates.percent),
        "resolved": lambda s: _of(s, lambda of: Cell(f"{of.resolved} of {of.trials}", _left_out(s, of))),
        "dollars per resolved task": lambda s: _of(
            s, lambda of: estimates.per_resolved(of.usd_per_resolved, estimates.dollars)
        ),
        "time per resolved task": lambda s: _of(
            s, lambda of: estimates.per_resolved(of.minutes_per_resolved, estimates.minutes)
        ),
    }
    if any(s.score.value is not None for s in board.standings):
        found["score by a rubric"] = lambda s: cell(s.score, estimates.points)
    return found


def reliability_table(board: Leaderboard) -> Table | None:
    """Return what repeats say; ``None``: nothing was repeated."""
    rows = [
        (
            s.label,
            str(found.tasks),
            cell(found.flip_rate, estimates.share),
            by_k(found.pass_at_k),
            by_k(found.pass_k),
        )
        for s in board.standings
        if s.resolve and (found := s.resolve.reliability) is not None
    ]
    some, every = "one of k repeats resolves (pass@k)", "all of k resolve (pass^k)"
    heads = ("model", "tasks repeated", "two repeats differ", some, every)
    return table(heads, rows, words=(some, every)) if rows else None


_EVIDENCE: Final[dict[Evidence, str]] = {
    "tests": "by single tests",
    "exit-code": "by exit codes alone",
    "weak": "weak: the patch changes what the runner loads",
}


def verdict_table(board: Leaderboard) -> Table:
    """Return what the verdicts stand on, what there is to doubt in them, and how many trials have none."""
    rows = [(s.label, *_counts(s, s.resolve)) for s in board.standings if s.resolve]
    heads = (
        "model", *_EVIDENCE.values(), "failed, and so not resolved", "doubtful", "with a regression", "void",
        "not checked", "infrastructure",
    )  # fmt: skip
    return table(heads, rows)


def _counts(standing: ModelStanding, of: ResolveStanding) -> list[str]:
    verdicts = [of.evidence.get(kind, 0) for kind in _EVIDENCE]
    regressed = figures.UNKNOWN if of.regressed is None else str(of.regressed)
    rest = (of.void, of.unchecked, standing.trials - standing.valid)
    return [*map(str, (*verdicts, of.trials - sum(verdicts), of.doubtful)), regressed, *map(str, rest)]


def _of(standing: ModelStanding, form: Callable[[ResolveStanding], Cell]) -> Cell:
    return form(standing.resolve) if standing.resolve and standing.resolve.trials else Cell(figures.UNKNOWN)


def _left_out(standing: ModelStanding, of: ResolveStanding) -> str:
    """Return which trials are in no rate."""
    told = {"void": of.void, "not checked": of.unchecked, "infrastructure": standing.trials - standing.valid}
    return ", ".join(f"{number} more {what}" for what, number in told.items() if number)
