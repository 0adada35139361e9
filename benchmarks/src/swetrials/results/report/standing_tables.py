"""The tables whose lines are those of the leaderboard."""

from collections.abc import Callable, Sequence

from swetrials.records.evaluation import UNITS
from swetrials.records.leaderboard import Estimate, Leaderboard, ModelStanding, PairedDifference
from swetrials.results.candidates import by_candidate, told_apart
from swetrials.results.figures import Figures
from swetrials.results.ranking import WORDS
from swetrials.results.report import estimates, resolve_tables
from swetrials.results.report import wording as figures
from swetrials.results.report.charts.hosting import SHORT
from swetrials.results.report.charts.units import UNIT_NAMES
from swetrials.results.report.estimates import by_k, cell
from swetrials.results.report.html_tables import Cell, Table, table
from swetrials.results.report.tiers import tiers_of
from swetrials.results.trial_background import TrialBackground, mean_queue_seconds
from swetrials.results.trial_row import TrialRow

Column = resolve_tables.Column


def standing_table(board: Leaderboard) -> Table:
    """Return the leaderboard: what is ranked, with what it stands on, cost, time, and the place on the frontiers."""
    told = {s.key: told_apart(s) for s in board.standings}
    names = next(iter(told.values()), {})
    differing = [name for name in names if len({words[name] for words in told.values()}) > 1]
    columns: dict[str, Column] = {
        "model": lambda s: Cell(s.label, " · ".join(word for name in differing if (word := told[s.key][name]))),
        **(_score_columns(board) if board.rank_by == "rubric" else resolve_tables.columns(board)),
        "cost a trial": estimates.cost,
        "cost from": lambda s: SHORT[s.hosting] if s.ranked_cost_usd.value else figures.UNKNOWN,
        "time a trial": lambda s: cell(s.latency_seconds, estimates.duration),
        "frontier": _frontier,
    }
    if board.rank_by == "resolved":
        del columns["time a trial"]  # of completed ones, beside the time of a resolved task
    if board.rehearsal:
        del columns["frontier"]
    rows = [[form(standing) for form in columns.values()] for standing in board.standings]
    return table(list(columns), rows, words=("cost from",))


def _score_columns(board: Leaderboard) -> dict[str, Column]:
    """Return both denominators, completion, and the tests' word where there is one."""
    columns: dict[str, Column] = {
        "score": lambda s: cell(s.score, estimates.points),
        "failures as 0": lambda s: cell(s.score_failures_as_zero, estimates.points),
        "all trials, unscored as 0": lambda s: cell(s.score_all_trials, estimates.points),
        "completed": lambda s: Cell(f"{s.completed} of {s.valid}", _not_valid(s)),
        "tests passed": lambda s: cell(s.tests_passed, estimates.share),
    }
    if all(s.tests_passed.value is None for s in board.standings):
        del columns["tests passed"]
    return columns


def reliability_table(board: Leaderboard) -> Table | None:
    """Return what repeats say; ``None``: nothing was repeated."""
    if board.rank_by == "resolved":
        return resolve_tables.reliability_table(board)
    rows = [
        (s.label, what, str(found.tasks), cell(found.flip_rate, estimates.share), by_k(found.pass_k))
        for s in board.standings
        for what, found in (("completed", s.completion_reliability), ("tests passed", s.tests_reliability))
        if found is not None
    ]
    columns = ("model", "what counts", "tasks repeated", "two repeats differ", "all of k repeats succeed")
    return table(columns, rows, words=("what counts", "all of k repeats succeed")) if rows else None


def pair_table(board: Leaderboard) -> Table:
    """Return every pair: difference, interval, adjusted p, chance, and what may be said."""
    form = estimates.signed_points if board.rank_by == "rubric" else estimates.signed_percent
    columns: dict[str, Callable[[PairedDifference], Cell | str]] = {
        "pair": lambda pair: f"{board.standing(pair.a).label} against {board.standing(pair.b).label}",
        _difference(board): lambda pair: cell(pair.difference, form),
        "failures as 0": lambda pair: _untested(pair.difference_failures_as_zero, form),
        "completed": lambda pair: Cell(_share_difference(pair), f"p {estimates.probability(pair.completion_p_holm)}"),
        "shared tasks": lambda pair: str(pair.difference.tasks),
        "p (Holm)": lambda pair: estimates.probability(pair.p_holm),
        "first is better": lambda pair: estimates.chance(pair.probability_a_better),
        "verdict": lambda pair: pair.verdict,
    }
    if board.rank_by == "resolved":
        del columns["failures as 0"], columns["completed"]
    rows = [[said(pair) for said in columns.values()] for pair in board.pairs]
    return table(list(columns), rows, words=("verdict",))


def _difference(board: Leaderboard) -> str:
    return "difference" if board.rank_by == "rubric" else f"difference ({WORDS[board.rank_by].points})"


def tier_table(board: Leaderboard) -> Table:
    """Return what is ranked, on how many trials it stands, and cost in each tier."""
    tiers, words = tiers_of(board), WORDS[board.rank_by]
    by_rubric = board.rank_by == "rubric"
    heads = (words.figure, "completed" if by_rubric else "checked", "cost")
    columns = ("model", *(f"{tier}: {what}" for tier in tiers for what in heads))
    rows = []
    for standing in board.standings:
        cells = [Cell(standing.label)]
        for tier in tiers:
            of_tier = standing.tiers.get(tier)
            if of_tier is None:
                cells += [Cell(figures.UNKNOWN)] * 3
                continue
            counted = of_tier.completed if by_rubric else of_tier.ranked.trials
            cost = cell(of_tier.ranked_cost_usd, estimates.dollars, "unknown")
            ranked = cell(of_tier.ranked, estimates.RANKED[board.rank_by])
            cells += [ranked, Cell(f"{counted} of {of_tier.valid}"), cost]
        rows.append(cells)
    return table(columns, rows)


def unit_table(board: Leaderboard) -> Table:
    """Return the mean score of each artifact."""
    units = [unit for unit in UNITS if any(unit in standing.units for standing in board.standings)]
    rows: list[Sequence[Cell | str]] = [
        (s.label, *(cell(s.units.get(unit, Estimate()), estimates.points) for unit in units)) for s in board.standings
    ]
    return table(("model", *(UNIT_NAMES[unit] for unit in units)), rows)


def token_table(board: Leaderboard, rows: Sequence[TrialRow]) -> Table:
    """Return the mean tokens of a completed trial by bucket, turns, and what all trials cost together."""
    totals = {trials.candidate.key: _total_cost(trials) for trials in by_candidate(rows)}
    columns = (
        "model", "turns", "fresh input", "cache read", "cache write", "output", "cost a trial", "all trials together",
    )  # fmt: skip
    return table(
        columns,
        [
            (
                s.label,
                cell(s.means.num_turns, estimates.count),
                *(_tokens(s, bucket) for bucket in _BUCKETS),
                estimates.cost(s),
                totals[s.key],
            )
            for s in board.standings
        ],
    )


def time_table(board: Leaderboard, backgrounds: Sequence[TrialBackground]) -> Table:
    """Return where the time of a completed trial went."""
    queues = {
        trials.candidate.key: mean_queue_seconds(b for b in backgrounds if b.row.folder in folders)
        for trials in by_candidate([b.row for b in backgrounds])
        if (folders := {row.folder for row in trials.rows})
    }
    rows = [
        (
            s.label,
            cell(s.latency_seconds, estimates.duration),
            cell(s.means.api_seconds, estimates.duration),
            cell(s.means.waiting_seconds, estimates.duration),
            _queue(queues[s.key]),
        )
        for s in board.standings
    ]
    return table(("model", "wall", "model (API)", "waiting to retry", "queue, before the start"), rows)


def _not_valid(standing: ModelStanding) -> str:
    invalid = standing.trials - standing.valid
    return f"{invalid} more not valid" if invalid else ""


def _frontier(standing: ModelStanding) -> Cell:
    combined, own = standing.frontier_combined, standing.frontier_of_hosting
    if combined.on_frontier is None:
        return Cell(figures.UNKNOWN)
    word = "yes" if combined.on_frontier else "own basis" if own.on_frontier else "no"
    return Cell(word, f"{estimates.chance(combined.probability)}; own {estimates.chance(own.probability)}")


def _total_cost(of: Figures) -> str:
    total = of.total_cost_usd
    if total is None:
        return "unknown"
    return f"{'at least ' if of.total_cost_is_lower_bound else ''}{estimates.dollars(total)}"


_BUCKETS = ("fresh_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")


def _tokens(standing: ModelStanding, bucket: str) -> Cell:
    """Return the mean of a bucket: at least so much where a trial was cut, and of how many trials where not of all."""
    estimate: Estimate = getattr(standing.means, bucket)
    found = cell(estimate, estimates.count)
    if estimate.value is None:
        return found
    partly = "" if estimate.trials == standing.completed else f"of {estimate.trials} of {standing.completed} trials"
    note = "; ".join(part for part in (found.note, partly) if part)
    return Cell(f"{'at least ' if standing.tokens_are_lower_bound else ''}{found.text}", note)


def _untested(estimate: Estimate, form: estimates.Format) -> Cell:
    return Cell(figures.UNKNOWN) if estimate.value is None else Cell(form(estimate.value), "not tested")


def _share_difference(pair: PairedDifference) -> str:
    value = pair.completion_difference.value
    return figures.UNKNOWN if value is None else f"{value:+.0%}"


def _queue(seconds: float | None) -> str:
    return figures.UNKNOWN if seconds is None else estimates.duration(seconds)
