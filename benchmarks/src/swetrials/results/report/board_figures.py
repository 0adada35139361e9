"""The charts of one leaderboard: which there are, drawn, each with how to read it."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from swetrials.records.leaderboard import Leaderboard
from swetrials.results.ranking import WORDS
from swetrials.results.report.charts.bars import time_chart, token_chart
from swetrials.results.report.charts.drawing import Drawing, draw
from swetrials.results.report.charts.failures import counted, failure_chart
from swetrials.results.report.charts.frontier import frontier_chart, has_a_place, names_all
from swetrials.results.report.charts.intervals import cost_chart, score_chart, tier_chart
from swetrials.results.report.charts.pairs import TIED, UNTOLD, pair_chart
from swetrials.results.report.charts.sizes import DESK, DESK_ROWS, PHONE, PHONE_ROWS
from swetrials.results.report.charts.task_map import FAILED, NOT_VALID, PARTLY, UNSCORED, VOID, task_map
from swetrials.results.report.charts.units import unit_chart
from swetrials.results.task_grid import TaskCell


@dataclass(frozen=True)
class Figure:
    """A drawn chart with how to read it."""

    drawing: Drawing
    phone: Drawing | None
    """The same for a narrow screen, where that can be read better."""

    caption: str


def against_cost(board: Leaderboard) -> str:
    """Return what the frontier is of, as a heading."""
    return f"{WORDS[board.rank_by].figure.capitalize()} against cost"


class BoardFigures:
    """Draws the charts of one leaderboard. Each method returns none where there is nothing to draw."""

    def __init__(self, board: Leaderboard, cells: Sequence[TaskCell], prefix: str) -> None:
        """Keep what is drawn.

        Args:
            board: the figures.
            cells: what each candidate did on each task.
            prefix: of the charts' names, which are unique on a page.
        """
        self._board = board
        self._cells = cells
        self._prefix = prefix
        self._words = WORDS[board.rank_by]

    def frontier(self) -> Sequence[Figure]:
        """What is ranked against cost."""
        if not any(map(has_a_place, self._board.standings)):
            return ()
        left_out = [s.label for s in self._board.standings if not has_a_place(s)]
        without = f"Without a {self._words.figure}, or a cost above nothing, and so not here"
        missing = f" {without}: {', '.join(left_out)}." if left_out else ""
        nameless = "" if names_all(self._board) else " Of so many, those on a frontier alone are named."
        return self._figure(
            "frontier",
            against_cost(self._board),
            "Up is better, left is cheaper. Bars are 95% intervals. The dashed line joins what nothing beats on both "
            f"{self._words.figure} and cost.{nameless}{missing}",
            frontier_chart(self._board, DESK),
            frontier_chart(self._board, PHONE),
        )

    def scores(self) -> Sequence[Figure]:
        """Mean scores, or resolve rates."""
        if not self._ranked:
            return ()
        return self._figure(
            "scores" if self._by_rubric else "resolve-rates",
            "Mean scores" if self._by_rubric else "Resolve rates",
            "Bars are 95% intervals over the choice of tasks. Two whose bars overlap may still differ: the pairs "
            "below compare them task by task.",
            score_chart(self._board, DESK_ROWS),
            score_chart(self._board, PHONE_ROWS),
        )

    def pairs(self) -> Sequence[Figure]:
        """Every pair."""
        if not self._board.pairs or not self._ranked:
            return ()
        above, did = ("scores above", "completed") if self._by_rubric else ("is above", "were checked on")
        return self._figure(
            "pairs",
            "Pair by pair",
            f"In each row, by how many {self._words.points} its model {above} the column's (blue) or below it "
            f"(orange), over the tasks that both {did}. “{TIED}”: tied, for these trials cannot decide it once all "
            f"pairs are looked at together. “{UNTOLD}”: too few tasks to compare.",
            pair_chart(self._board),
        )

    def tiers(self) -> Sequence[Figure]:
        """What is ranked by difficulty."""
        if not self._ranked:
            return ()
        what = "Completed trials alone, with" if self._by_rubric else "With"
        return self._figure(
            "tiers",
            "Mean scores by difficulty" if self._by_rubric else "Resolve rates by difficulty",
            f"{what} 95% intervals, which are wide where a tier has few tasks.",
            tier_chart(self._board),
        )

    def tasks(self) -> Sequence[Figure]:
        """Every task by every model."""
        if not self._ranked:
            return ()
        marks = (
            f"Mean score of the completed trials; yellow is high. {FAILED}: none completed; {PARTLY}: some did not; "
            f"{UNSCORED}: not scored"
            if self._by_rubric
            else f"Resolved trials in per cent; yellow is all of them. {UNSCORED}: not checked; {VOID}: the "
            "verification says nothing of the patch"
        )
        return self._figure(
            "tasks",
            "Task by task",
            f"{marks}; {NOT_VALID}: failed for another reason than model or agent. In each tier, the tasks that came "
            "out best are on top.",
            task_map(self._board, self._cells),
        )

    def units(self) -> Sequence[Figure]:
        """What the artifacts are worth."""
        if not any(standing.units for standing in self._board.standings):
            return ()
        return self._figure(
            "artifacts",
            "Mean score of each artifact",
            "Each artifact is worth 0 to 100, and the score of a trial is the mean of the five.",
            unit_chart(self._board),
        )

    def costs(self) -> Sequence[Figure]:
        """Mean costs."""
        if not any(standing.ranked_cost_usd.value for standing in self._board.standings):
            return ()
        return self._figure(
            "costs",
            "Mean costs",
            "Cheapest first, with 95% intervals. Each step is a factor.",
            cost_chart(self._board, DESK_ROWS),
            cost_chart(self._board, PHONE_ROWS),
        )

    def tokens(self) -> Sequence[Figure]:
        """What the tokens are."""
        means = [standing.means for standing in self._board.standings]
        if all(m.fresh_input_tokens.value is None and m.output_tokens.value is None for m in means):
            return ()
        return self._figure(
            "tokens",
            "Tokens by bucket",
            "No token is in two buckets. Cache reads are cheap and many, so the right side leaves them out.",
            token_chart(self._board, DESK_ROWS),
            token_chart(self._board, PHONE_ROWS),
        )

    def times(self) -> Sequence[Figure]:
        """Where the time went."""
        if all(standing.latency_seconds.value is None for standing in self._board.standings):
            return ()
        return self._figure(
            "times",
            "Where the time went",
            "Wall time from start to end. It is split where every request was timed.",
            time_chart(self._board, DESK_ROWS),
            time_chart(self._board, PHONE_ROWS),
        )

    def failures(self) -> Sequence[Figure]:
        """What became of trials that did not complete."""
        if not any(counted(standing) for standing in self._board.standings):
            return ()
        return self._figure(
            "failures",
            "Failures by kind",
            "Trials that did not complete, whoever's account it is on; models without any are left out.",
            failure_chart(self._board),
        )

    @property
    def _ranked(self) -> bool:
        return any(standing.ranked.value is not None for standing in self._board.standings)

    @property
    def _by_rubric(self) -> bool:
        return self._board.rank_by == "rubric"

    def _figure(
        self,
        name: str,
        title: str,
        caption: str,
        desk: alt.TopLevelMixin,
        phone: alt.TopLevelMixin | None = None,
    ) -> Sequence[Figure]:
        name = f"{self._prefix}{name}"
        small = draw(phone, f"{name}-phone", title, caption) if phone is not None else None
        return (Figure(draw(desk, name, title, caption), small, caption),)
