"""What trials are ranked by, and the words for it.

Models are ranked by whether their patches **resolve** the tasks, or by the score of a judge's **rubric**. Either way a
trial's figure is 0 to 100, and everything that ranks takes it from :attr:`~swetrials.results.figures.Figures.ranked`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from swetrials.records.dataset import RankBy
from swetrials.results.trial_row import TrialRow


@dataclass(frozen=True)
class RankingWords:
    """What is ranked, as people call it."""

    figure: str
    """Of one candidate: ``score``, ``resolve rate``."""

    figures: str
    """Of several."""

    mean: str
    """Of a candidate over tasks."""

    axis: str
    """The same with the scale that it is drawn on."""

    short_axis: str
    """The same without what it is of."""

    points: str
    """The unit of a difference."""

    sign: str
    """What stands right behind a figure of 0 to 100; empty: nothing."""

    does: str
    """What a model does that has it."""

    well: str
    """How, where it does so as another does: at least as ``well``."""

    most: str
    """What the best of several does."""

    higher: str
    """What the better of two does."""

    lower: str
    """What the other one does."""

    differ: str
    """What two do that are not equal."""

    equal: str
    """What figures of two candidates count as where they do not differ."""

    known: str
    """What a task is that has a figure."""

    trial: str
    """What the cost beside it is a mean over."""

    nothing_shared: str
    """Why two have no costs to compare."""

    form: str
    """How a difference is written."""

    settled_by: str
    """The command that gives what is ranked to trials that have none."""


WORDS: Final[Mapping[RankBy, RankingWords]] = {
    "rubric": RankingWords(
        figure="score",
        figures="scores",
        mean="mean score",
        axis="mean score of completed trials (0 to 100)",
        short_axis="mean score (0 to 100)",
        points="points",
        sign="",
        does="scores",
        well="well",
        most="scores highest",
        higher="scores higher",
        lower="scores lower",
        differ="score differently",
        equal="equal scores",
        known="scored task",
        trial="completed trial",
        nothing_shared="no task was completed by both",
        form="+.1f",
        settled_by="swetrials judge",
    ),
    "resolved": RankingWords(
        figure="resolve rate",
        figures="resolve rates",
        mean="resolve rate",
        axis="resolve rate, mean over tasks (%)",
        short_axis="resolve rate (%)",
        points="percentage points",
        sign=" %",
        does="resolves",
        well="much",
        most="resolves the most",
        higher="resolves more",
        lower="resolves less",
        differ="resolve more or less",
        equal="equal resolve rates",
        known="checked task",
        trial="trial, failures too",
        nothing_shared="no task was checked for both",
        form="+.0f",
        settled_by="swetrials judge --judge tests",
    ),
}


def rank_by_of(rows: Iterable[TrialRow]) -> RankBy:
    """Return what these trials are ranked by together: what they say.

    Where none says it: by rubric where one of them has a score, else resolved where one has a verdict of the tests.
    Trials that say different things are refused or told by :mod:`swetrials.results.mixtures`.
    """
    rows = list(rows)
    told = {row.rank_by for row in rows if row.rank_by is not None}
    if len(told) == 1:
        return told.pop()
    scored = any(row.score is not None for row in rows)
    return "resolved" if not scored and any(row.resolved is not None for row in rows) else "rubric"


def settled(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return trials that are ranked together, each of which knows by what.

    What says nothing, as older records do, is ranked as :func:`rank_by_of` says of all of them.
    """
    if rank_by_of(rows) == "rubric":  # which is what a row that says nothing counts as
        return list(rows)
    return [row if row.rank_by is not None else replace(row, rank_by="resolved") for row in rows]
