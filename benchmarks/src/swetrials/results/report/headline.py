"""The answer in a sentence or two: what comes first, what cannot be told from it, and which of these costs least."""

from collections.abc import Iterator, Mapping, Sequence

from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import Leaderboard, ModelStanding, PerResolved, Verdict
from swetrials.results.ranking import WORDS
from swetrials.results.report import estimates
from swetrials.results.report import wording as figures

_MOST_NAMES = 5
"""How many a sentence names."""


def headline(board: Leaderboard) -> list[str]:
    """Return what these trials answer, one sentence each; a rehearsal answers nothing about models."""
    if board.rehearsal:
        return ["A rehearsal: the model is scripted. These figures show that the harness works and rank nothing."]
    ranked = [standing for standing in board.standings if standing.ranked.value is not None]
    if not ranked:
        return [f"{_counted_trials(board)}, and {_without_figures(board)}."]
    best, others = ranked[0], ranked[1:]
    if board.rank_by == "resolved" and not best.ranked.value:
        return [_nothing_resolved(ranked)]
    tied, unknown = _with_verdict("tied", best, others, board), _with_verdict("unknown", best, others, board)
    return [
        _of_best(best, len(ranked), board.rank_by),
        *_of_ties(tied, board.rank_by),
        *_of_unknown(unknown, board.rank_by),
        *_of_the_rest(len(others) - len(tied) - len(unknown), len(others)),
        *_of_cheapest(best, tied, board.rank_by),
    ]


def _without_figures(board: Leaderboard) -> str:
    if any(standing.completed for standing in board.standings):
        words = WORDS[board.rank_by]
        return f"none has a {words.figure} yet: judge them with `{words.settled_by}`"
    if any(standing.valid for standing in board.standings):
        return "none completed: see what became of them under Failures"
    return "each failed for another reason than model or agent: they say nothing about any model"


def _nothing_resolved(ranked: Sequence[ModelStanding]) -> str:
    who = "No model resolves" if len(ranked) > 1 else f"{ranked[0].label} does not resolve"
    return f"{who} any task: {rate_words(ranked[0])}, {price_words(ranked[0], 'resolved')}."


def _of_best(best: ModelStanding, ranked: int, rank_by: RankBy) -> str:
    price = price_words(best, rank_by)
    if rank_by == "resolved":
        return f"{best.label} resolves {'the most, ' if ranked > 1 else ''}{rate_words(best)}, {price}."
    score = _with_interval(best.score.value or 0.0, estimates.interval(best.score, estimates.points), estimates.points)
    verb = WORDS[rank_by].most if ranked > 1 else "scores"
    return f"{best.label} {verb}: {score} of 100, {price}{_completion(best)}."


def rate_words(standing: ModelStanding) -> str:
    """Return a resolve rate with its interval: ``63 % (48 to 76)``."""
    rate = standing.ranked
    interval = "" if rate.low is None or rate.high is None else f" ({rate.low:.0f} to {rate.high:.0f})"
    return f"{rate.value or 0.0:.0f} %{interval}"


def _of_ties(tied: Sequence[ModelStanding], rank_by: RankBy) -> Iterator[str]:
    if tied:
        yield f"These trials do not tell it apart from {_some(tied, rank_by)}."


def _of_unknown(unknown: Sequence[ModelStanding], rank_by: RankBy) -> Iterator[str]:
    if unknown:
        done = "completed by both" if rank_by == "rubric" else "checked for both"
        yield f"It cannot be compared with {_some(unknown, rank_by)}: too few tasks were {done}."


def _of_the_rest(behind: int, others: int) -> Iterator[str]:
    if behind and behind == others:
        yield "Every other one is behind it by more than the noise of these trials."


def _some(standings: Sequence[ModelStanding], rank_by: RankBy) -> str:
    names = [f"{one.label} ({_figure(one, rank_by)})" for one in standings[:_MOST_NAMES]]
    return _listed(names + ([f"{len(standings) - _MOST_NAMES} more"] if len(standings) > _MOST_NAMES else []))


def _figure(standing: ModelStanding, rank_by: RankBy) -> str:
    value = standing.ranked.value or 0.0
    return f"{value:.0f} %" if rank_by == "resolved" else estimates.points(value)


def _of_cheapest(best: ModelStanding, tied: Sequence[ModelStanding], rank_by: RankBy) -> Iterator[str]:
    priced = {one.key: price for one in (best, *tied) if (price := _known_price(one, rank_by)) is not None}
    if not tied or not priced:
        return
    cheapest = min((one for one in (best, *tied) if one.key in priced), key=lambda one: priced[one.key])
    if cheapest is best:
        yield "None of those is known to cost less."
        return
    words, saving = price_words(cheapest, rank_by), _saving(best, cheapest, priced)
    completion = _completion(cheapest) if rank_by == "rubric" else ""
    yield f"The cheapest of them is {cheapest.label}, {words}{saving}{completion}."


def _known_price(standing: ModelStanding, rank_by: RankBy) -> float | None:
    """Return what is compared of costs: dollars of a trial, or of a resolved task; not what is but a lower bound."""
    if rank_by == "rubric":
        return None if standing.cost_is_lower_bound else standing.cost_usd.value
    of = standing.resolve.usd_per_resolved if standing.resolve else PerResolved()
    return None if of.lower_bound else of.ratio.value


def _saving(best: ModelStanding, cheapest: ModelStanding, priced: Mapping[str, float]) -> str:
    dear, cheap = priced.get(best.key), priced[cheapest.key]
    if not dear:
        return ""
    roughly = "" if best.hosting == cheapest.hosting else ", roughly, as the two costs stand on different bases"
    return f" ({1 - cheap / dear:.0%} less{roughly})"


def _with_verdict(
    verdict: Verdict, best: ModelStanding, others: Sequence[ModelStanding], board: Leaderboard
) -> list[ModelStanding]:
    return [one for one in others if board.between(best.key, one.key).verdict == verdict]


def price_words(standing: ModelStanding, rank_by: RankBy) -> str:
    """Return what stands beside the figure that is ranked: the cost of a resolved task, or of a trial."""
    return _per_resolved_words(standing) if rank_by == "resolved" else cost_words(standing)


def _per_resolved_words(standing: ModelStanding) -> str:
    of = standing.resolve.usd_per_resolved if standing.resolve else PerResolved()
    if standing.ranked_cost_usd.value == 0 and not of.lower_bound:
        return "free of charge"
    if of.more_than is not None:
        return f"for over {estimates.dollars(of.more_than)}"
    if of.ratio.value is None:
        return "at an unknown cost"
    found = estimates.per_resolved(of, estimates.dollars)
    note = f" ({found.note})" if found.note else ""
    return f"{'for' if of.lower_bound else 'at'} {found.text}{note} per resolved task"


def cost_words(standing: ModelStanding) -> str:
    """Return what a completed trial costs, as a part of a sentence."""
    mean, bound = standing.cost_usd, standing.cost_is_lower_bound
    if mean.value is None:
        return "at an unknown cost"
    found = estimates.mean_cost(mean, lower_bound=bound)
    if not mean.value and not bound:
        return f"{found.text} of charge"
    note = f" ({found.note})" if mean.low is not None else ""
    return f"{'for' if bound else 'at'} {found.text}{note} a trial"


def _completion(standing: ModelStanding) -> str:
    if standing.completed == standing.valid:
        return ""
    return f"; it completed {standing.completed} of {standing.valid} trials, and the mean is over these"


def _with_interval(value: float, interval: str, form: estimates.Format) -> str:
    return f"{form(value)} ({interval})" if interval else form(value)


def _counted_trials(board: Leaderboard) -> str:
    return figures.counted(sum(standing.trials for standing in board.standings), "trial")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
