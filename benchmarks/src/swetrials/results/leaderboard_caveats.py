"""What a reader of a leaderboard has to know before taking its figures for more than they are."""

from collections.abc import Callable, Iterator, Sequence

from swetrials.records.leaderboard import ModelStanding, ResolveStanding
from swetrials.results.candidates import by_candidate
from swetrials.results.ranking import rank_by_of
from swetrials.results.resampling import BOOTSTRAP_TASKS
from swetrials.results.sealing_words import all_sealed, sealing_words, unlike
from swetrials.results.trial_row import TrialRow


def caveats(standings: Sequence[ModelStanding], rows: Sequence[TrialRow]) -> Iterator[str]:
    """Yield one sentence for each thing that limits what these trials can say."""
    if rows[0].rehearsal:
        yield "All of it was made with the rehearsal model: it shows how the harness works, nothing about any model."
    sources = sorted({row.source for row in rows if row.source is not None})
    if sources:
        yield f"Figures were imported from: {', '.join(sources)}."
    yield from of_sealing(standings, rows)
    resolved = rank_by_of(rows) == "resolved"
    yield from _of_samples(standings, rows, resolved=resolved)
    yield from _of_failures(standings, resolved=resolved)
    yield from _of_costs(standings)
    if resolved:
        yield from _of_resolving(standings)
    if not resolved or any(row.score is not None for row in rows):
        yield from _of_judging(standings, rows)


def of_sealing(standings: Sequence[ModelStanding], rows: Sequence[TrialRow]) -> Iterator[str]:
    """Yield what has to be said beside a ranking of trials that did not run alike, or were not sealed."""
    labels = {one.key: one.label for one in standings}
    groups = {labels[one.candidate.key]: one.rows for one in by_candidate(rows)}
    if apart := unlike(groups):
        yield f"Not run alike, so that they compare roughly: {apart}. {_OPEN_TO}"
    elif not all_sealed(rows) and any(row.sealing for row in rows):
        yield f"Not all of it was sealed: {sealing_words(rows)}. {_OPEN_TO}"


_OPEN_TO = "An agent that reaches more than its model can look a fix up."


def _of_samples(standings: Sequence[ModelStanding], rows: Sequence[TrialRow], *, resolved: bool) -> Iterator[str]:
    tasks = len({row.task for row in rows})
    if tasks < BOOTSTRAP_TASKS:
        alone = "A single task: means have no intervals, and another task may come out otherwise."
        shape = "" if resolved else ", and assume that scores vary as a bell curve does"
        yield alone if tasks == 1 else f"{tasks} tasks are few: intervals are wide{shape}."
    if tasks > 1 and max(one.repeats for one in standings) == 1:
        yield (
            "Each task was run once: how much a second run would differ is inside the intervals, but cannot be told "
            "apart from how tasks differ."
        )
    apart = [one.label for one in standings if one.tasks < tasks]
    if apart:
        yield f"Not run on all {tasks} tasks, so that their means are over other work: {_list(apart)}."


def _of_failures(standings: Sequence[ModelStanding], *, resolved: bool) -> Iterator[str]:
    failing = [f"{one.label} ({one.completed} of {one.valid})" for one in standings if one.completed < one.valid]
    if failing:
        yield f"{_FAILED_NOT_RESOLVED if resolved else _FAILED_NOT_SCORED} Completed: {_list(failing)}."
    invalid = [f"{one.label} ({one.trials - one.valid})" for one in standings if one.valid < one.trials]
    if invalid:
        yield f"Trials that failed for another reason than model or agent are in no mean: {_list(invalid)}."


_FAILED_NOT_SCORED = "Failed trials are outside the means of scores and costs, and inside the completion rate."
_FAILED_NOT_RESOLVED = (
    "Failed trials are inside the resolve rate and its costs: not resolved, unless what they left passes the tests."
)


def _of_costs(standings: Sequence[ModelStanding]) -> Iterator[str]:
    if len({one.hosting for one in standings if one.ranked_cost_usd.value is not None}) > 1:
        yield (
            "Costs stand on different bases (prices of tokens, hours of machines): across them they compare roughly, "
            "and the combined frontier with them."
        )
    unknown = [one.label for one in standings if one.trials_without_cost or _unpriced(one)]
    if unknown:
        yield f"Costs are not known for every trial, so that they are on no frontier: {_list(unknown)}."
    heavy = [
        f"{one.label} ({share:.0%})" for one in standings if (share := one.ranked_cost_usd.largest_share) is not None
    ]
    if heavy:
        yield (
            "One task is over a quarter of the cost, where an interval holds 84 to 90 % rather than 95 %: "
            f"{_list(heavy)}."
        )
    tokens = [one.label for one in standings if one.tokens_are_lower_bound]
    if tokens:
        yield f"Tokens are at least what is shown, as a trial was cut: {_list(tokens)}."
    bounds = [one.label for one in standings if one.ranked_cost_is_lower_bound]
    if bounds:
        yield f"Costs are at least what is shown, and a place on the frontier may be too good: {_list(bounds)}."


def _unpriced(one: ModelStanding) -> bool:
    return one.ranked.value is not None and one.ranked_cost_usd.value is None


def _of_resolving(standings: Sequence[ModelStanding]) -> Iterator[str]:
    def told(number: Callable[[ResolveStanding], int]) -> str:
        return _list([f"{one.label} ({n})" for one in standings if one.resolve and (n := number(one.resolve))])

    if found := told(lambda one: one.evidence.get("exit-code", 0)):
        yield f"Verdicts by exit codes alone, which are weak evidence as no single test is told: {found}."
    if found := told(lambda one: one.evidence.get("weak", 0)):
        yield f"Verdicts that the patch may have swayed, as it changes what the runner loads: {found}."
    if found := told(lambda one: one.doubtful):
        yield f"Verdicts that the patch could have forged: {found}."
    if found := told(lambda one: one.void):
        yield f"Trials whose verification says nothing of the patch are in no rate: {found}."
    if found := told(lambda one: one.unchecked):
        yield f"Completed trials that no test has checked are in no rate: {found}."


def _of_judging(standings: Sequence[ModelStanding], rows: Sequence[TrialRow]) -> Iterator[str]:
    if rank_by_of(rows) == "rubric":
        yield from _of_unscored(standings)
    scored = [row for row in rows if row.score is not None]
    ungrounded = sum(row.repo_grounded is False for row in scored)
    if ungrounded:
        yield f"In {ungrounded} of {len(scored)} scored trials the judge read no file of the repository."


def _of_unscored(standings: Sequence[ModelStanding]) -> Iterator[str]:
    unscored = [f"{one.label} ({one.completed - one.scored})" for one in standings if one.scored < one.completed]
    if unscored:
        yield f"Completed trials without a score are not in the score mean: {_list(unscored)}."


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
