"""The answer in a sentence or two: what scores highest, what cannot be told from it, and which of these costs least."""

from collections.abc import Iterator, Sequence

from swetrials.records.leaderboard import Leaderboard, ModelStanding, Verdict
from swetrials.results.report import estimates
from swetrials.results.report import wording as figures

_MOST_NAMES = 5
"""How many a sentence names."""


def headline(board: Leaderboard) -> list[str]:
    """Return what these trials answer, one sentence each; a rehearsal answers nothing about models."""
    if board.rehearsal:
        return ["A rehearsal: the model is scripted. These figures show that the harness works and rank nothing."]
    scored = [standing for standing in board.standings if standing.score.value is not None]
    if not scored:
        return [f"{_counted_trials(board)}, and {_without_scores(board)}."]
    best, others = scored[0], scored[1:]
    tied, unknown = _with_verdict("tied", best, others, board), _with_verdict("unknown", best, others, board)
    return [
        *_of_best(best, len(scored)),
        *_of_ties(tied),
        *_of_unknown(unknown),
        *_of_the_rest(len(others) - len(tied) - len(unknown), len(others)),
        *_of_cheapest(best, tied),
    ]


def _without_scores(board: Leaderboard) -> str:
    if any(standing.completed for standing in board.standings):
        return "none has a score yet: judge them with `swetrials judge`"
    if any(standing.valid for standing in board.standings):
        return "none completed: see what became of them under Failures"
    return "each failed for another reason than model or agent: they say nothing about any model"


def _of_best(best: ModelStanding, scored: int) -> Iterator[str]:
    score = _with_interval(best.score.value or 0.0, estimates.interval(best.score, estimates.points), estimates.points)
    verb = "scores highest" if scored > 1 else "scores"
    yield f"{best.label} {verb}: {score} of 100, {cost_words(best)}{_completion(best)}."


def _of_ties(tied: Sequence[ModelStanding]) -> Iterator[str]:
    if tied:
        yield f"These trials do not tell it apart from {_some(tied)}."


def _of_unknown(unknown: Sequence[ModelStanding]) -> Iterator[str]:
    if unknown:
        yield f"It cannot be compared with {_some(unknown)}: too few tasks were completed by both."


def _of_the_rest(behind: int, others: int) -> Iterator[str]:
    if behind and behind == others:
        yield "Every other one is behind it by more than the noise of these trials."


def _some(standings: Sequence[ModelStanding]) -> str:
    names = [f"{one.label} ({estimates.points(one.score.value or 0.0)})" for one in standings[:_MOST_NAMES]]
    return _listed(names + ([f"{len(standings) - _MOST_NAMES} more"] if len(standings) > _MOST_NAMES else []))


def _of_cheapest(best: ModelStanding, tied: Sequence[ModelStanding]) -> Iterator[str]:
    priced = [one for one in (best, *tied) if one.cost_usd.value is not None and not one.cost_is_lower_bound]
    if not tied or not priced:
        return
    cheapest = min(priced, key=lambda one: one.cost_usd.value or 0.0)
    if cheapest is best:
        yield "None of those is known to cost less."
        return
    saving = _saving(best, cheapest)
    yield f"The cheapest of them is {cheapest.label}, {cost_words(cheapest)}{saving}{_completion(cheapest)}."


def _saving(best: ModelStanding, cheapest: ModelStanding) -> str:
    dear, cheap = best.cost_usd.value, cheapest.cost_usd.value
    if not dear or cheap is None or best.cost_is_lower_bound:
        return ""
    roughly = "" if best.hosting == cheapest.hosting else ", roughly, as the two costs stand on different bases"
    return f" ({1 - cheap / dear:.0%} less{roughly})"


def _with_verdict(
    verdict: Verdict, best: ModelStanding, others: Sequence[ModelStanding], board: Leaderboard
) -> list[ModelStanding]:
    return [one for one in others if board.between(best.key, one.key).verdict == verdict]


def cost_words(standing: ModelStanding) -> str:
    """Return what a trial costs, as a part of a sentence."""
    found = estimates.cost(standing)
    if standing.cost_usd.value is None:
        return "at an unknown cost"
    if not standing.cost_usd.value and not standing.cost_is_lower_bound:
        return f"{found.text} of charge"
    note = f" ({found.note})" if standing.cost_usd.low is not None else ""
    return f"{'for' if standing.cost_is_lower_bound else 'at'} {found.text}{note} a trial"


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
