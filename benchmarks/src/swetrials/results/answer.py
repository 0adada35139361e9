"""What some trials earn as an answer: by what they are ranked, which candidate leads, and what is not earned yet.

All of it is derived from the trials' rows; the words are made in :mod:`swetrials.results.report.answer`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from swetrials.records.answer import NotEarned
from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import Leaderboard
from swetrials.records.verification import Evidence
from swetrials.records.words import counted
from swetrials.results.candidates import CandidateTrials, by_candidate, candidate_of, labels
from swetrials.results.figures import Figures
from swetrials.results.leaderboard import SIGNIFICANCE, leaderboard
from swetrials.results.mixtures import mixed
from swetrials.results.paired import holm, sign_flip_p, task_differences
from swetrials.results.ranking import rank_by_of, settled
from swetrials.results.resampling import BOOTSTRAP_TASKS, dominant_share, task_means
from swetrials.results.sealing_words import SEALED, all_sealed, seal, telling, unlike, whys
from swetrials.results.trial_row import TrialRow


@dataclass(frozen=True)
class Ground:
    """The trials of one scope, all of real models or all of the scripted one."""

    rows: Sequence[TrialRow]

    @cached_property
    def everyone(self) -> list[CandidateTrials]:
        """The trials by candidate."""
        return by_candidate(self.rows)

    @cached_property
    def figures(self) -> Figures:
        """Counts over all trials; no mean of these is of anybody."""
        return Figures(self.rows)

    @cached_property
    def board(self) -> Leaderboard:
        """The leaderboard.

        Raises:
            MixtureError: the trials may not be set beside each other.
        """
        return leaderboard(self.rows)

    @property
    def tasks(self) -> int:
        """How many tasks were run."""
        return len({row.task for row in self.rows})

    @property
    def sealed(self) -> bool:
        """Whether every trial that counts is proven to have reached its model alone."""
        return all_sealed(self.rows)

    @property
    def rehearsal(self) -> bool:
        """Whether the model was scripted."""
        return self.rows[0].rehearsal

    @property
    def rank_by(self) -> RankBy:
        """What is ranked."""
        return rank_by_of(self.rows)

    @property
    def by_rubric(self) -> bool:
        """Whether a judge's scores are in the means that are ranked."""
        return self.rank_by == "rubric" and self.figures.scored > 0

    @property
    def by_tests(self) -> bool:
        """Whether the tests gave verdicts."""
        return bool(self.verdicts)

    @cached_property
    def verdicts(self) -> list[Evidence]:
        """What each verdict of the tests stands on; an older record does not tell it, and had exit codes alone."""
        tested = (row for row in self.figures.valid if row.tests_passed is not None or row.resolved is not None)
        return [row.evidence or "exit-code" for row in tested]

    @property
    def judges(self) -> list[str]:
        """Whose scores these are."""
        return sorted({row.judge for row in self.rows if row.judge})


def grounds(rows: Sequence[TrialRow]) -> list[Ground]:
    """Return the trials by scope, real models before rehearsals."""
    groups: dict[tuple[bool, str], list[TrialRow]] = {}
    for row in rows:
        groups.setdefault((row.rehearsal, row.scope), []).append(row)
    return [Ground(settled(groups[key])) for key in sorted(groups)]


def untold_by_tests(best: CandidateTrials, others: Sequence[CandidateTrials]) -> list[CandidateTrials]:
    """Return those of the others whose passed tests cannot be told apart from the best one's.

    The sign-flip test over the tasks on which both have a verdict, adjusted for all of them after Holm.
    """
    differences = [task_differences(best.tests, other.tests) for other in others]
    ps = holm([sign_flip_p(found) if len(found) > 1 else 1.0 for found in differences])
    return [other for other, p in zip(others, ps, strict=True) if p > SIGNIFICANCE]


def not_earned(ground: Ground) -> Iterator[NotEarned]:
    """Yield each part of an answer that these trials do not earn, the weightiest first."""
    of = ground.figures
    if ground.rehearsal:
        yield NotEarned(code="rehearsal", text="rehearsal: scripted model, ranks nothing")
    if not ground.by_rubric and not ground.by_tests:
        yield NotEarned(code="not_scored", text="not scored yet: neither a rubric nor tests gave a verdict")
    if ground.by_rubric:
        yield NotEarned(code="scored_by_rubric", text="scored by a rubric: a judge's view of documents and patch")
    yield from _of_verdicts(ground)
    yield from _of_sealing(ground)
    if own := {row.task for row in ground.rows if not row.source}:
        yield NotEarned(
            code="made_by_hand", text=f"{counted(len(own), 'task')} made by hand, none mined from merged changes"
        )
    for what in mixed(ground.rows):
        yield NotEarned(code="mixed", text=f"over several: {what}")
    sources = sorted({row.source for row in ground.rows if row.source})
    if sources:
        told = "figures of somebody else, not measured here, and how their tasks were made is not told"
        yield NotEarned(code="imported", text=f"{told}: {', '.join(sources)}")
    yield from _of_size(ground)
    if of.infrastructure:
        text = f"{counted(of.infrastructure, 'trial')} failed for infrastructure, which says nothing about a model"
        yield NotEarned(code="infrastructure", text=text)
    if of.unscored and ground.by_rubric:
        text = f"{counted(of.unscored, 'completed trial')} without a score"
        yield NotEarned(code="unscored", text=text)
    yield from _of_costs(ground)
    if not ground.rehearsal:
        yield from _heavy(ground)


def _of_verdicts(ground: Ground) -> Iterator[NotEarned]:
    of, verdicts = ground.figures.resolve, ground.verdicts
    by_exit_code, weak = verdicts.count("exit-code"), verdicts.count("weak")
    if by_exit_code:
        few = f" in {by_exit_code} of {counted(len(verdicts), 'verdict')}" if by_exit_code < len(verdicts) else ""
        text = f"exit codes only{few}: no test was seen to fail before the change"
        yield NotEarned(code="exit_codes_only", text=text)
    if weak:
        text = f"weak evidence in {counted(weak, 'verdict')}: the patch changes what the test runner loads"
        yield NotEarned(code="weak_evidence", text=text)
    if of.doubtful:
        text = f"{counted(of.doubtful, 'doubtful verdict')}: the patch could have forged the result"
        yield NotEarned(code="doubtful", text=text)
    if ground.rank_by == "resolved" and of.void:
        text = f"{counted(of.void, 'trial')} void: the verification says nothing of the patch"
        yield NotEarned(code="void", text=text)
    if ground.rank_by == "resolved" and of.unchecked and of.checked:
        yield NotEarned(code="unchecked", text=f"{counted(of.unchecked, 'completed trial')} that no test has checked")


def _of_costs(ground: Ground) -> Iterator[NotEarned]:
    """Name what is missing in the costs of those trials whose costs are told."""
    of = ground.figures
    rows, what = (of.resolve.counted, "trial") if ground.rank_by == "resolved" else (of.completed, "completed trial")
    unknown, bounds = sum(row.cost_usd is None for row in rows), sum(row.cost_is_lower_bound for row in rows)
    if unknown:
        yield NotEarned(code="cost_unknown", text=f"the cost of {counted(unknown, what)} is not known")
    if bounds:
        text = f"the cost of {counted(bounds, what)} is at least what is told"
        yield NotEarned(code="cost_is_lower_bound", text=text)


def _of_sealing(ground: Ground) -> Iterator[NotEarned]:
    rows = telling(ground.rows)
    unsealed = [row for row in rows if seal(row) != SEALED]
    if all(row.sealing is None for row in rows):
        yield NotEarned(code="not_sealed", text="not sealed: no record proves that an agent reached its model alone")
    elif unsealed:
        whole = f"not sealed: {len(unsealed)} of {counted(len(rows), 'trial')}"
        reasons = f" ({'; '.join(whys(rows))})" if whys(rows) else ""
        yield NotEarned(code="not_sealed", text=f"{whole}{reasons}")
    names = labels([one.candidate for one in ground.everyone])
    if apart := unlike({names[one.candidate.key]: one.rows for one in ground.everyone}):
        yield NotEarned(code="not_run_alike", text=f"not run alike: {apart}")


def _heavy(ground: Ground) -> Iterator[NotEarned]:
    shares = [dominant_share(task_means(one.ranked_costs)) for one in ground.everyone if one.ranked_costs]
    heavy = sum(share is not None for share in shares)
    if heavy:
        whose = f"the cost of {counted(heavy, 'model')}"
        text = f"one task is over a quarter of {whose}: such an interval holds 84 to 90 %, not 95 %"
        yield NotEarned(code="heavy_task", text=text)


def _of_size(ground: Ground) -> Iterator[NotEarned]:
    if len(ground.everyone) == 1:
        yield NotEarned(code="one_model", text="one model behind one agent: nothing to compare it with")
    if ground.tasks < BOOTSTRAP_TASKS:
        yield NotEarned(code="few_tasks", text=f"{counted(ground.tasks, 'task')}: too few for narrow intervals")
    runs = {(candidate_of(row), row.task) for row in ground.rows}
    if len(runs) == len(ground.rows):
        yield NotEarned(code="one_run_each", text="one run each: how much a second would differ is not known")
