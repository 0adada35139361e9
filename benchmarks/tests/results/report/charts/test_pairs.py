"""What stands in the cells of the matrix of pairs."""

import pytest

from results.simulated import published_board
from swetrials.records.leaderboard import Leaderboard, PairedDifference
from swetrials.results.report.charts.pairs import told


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    return published_board()


def pair(board: Leaderboard, a: str, b: str) -> PairedDifference:
    both = [one for once in board.pairs for one in (once, once.reversed())]
    [found] = [one for one in both if (board.standing(one.a).model, board.standing(one.b).model) == (a, b)]
    return found


def test_what_is_decided_is_told_in_points_from_both_sides(board: Leaderboard) -> None:
    decided = pair(board, "claude-opus-5", "qwen3-coder-30b")
    assert (told(decided), told(decided.reversed())) == ("+40", "-40")


def test_a_tie_tells_no_figure_that_looks_like_a_decision(board: Leaderboard) -> None:
    tied = pair(board, "claude-opus-5", "qwen3.8-27b")
    assert tied.probability_a_better is not None and tied.probability_a_better > 0.98
    assert (told(tied), told(tied.reversed())) == ("=", "=")


def test_too_few_tasks_are_not_a_tie(board: Leaderboard) -> None:
    few = pair(board, "claude-opus-5", "glm-5.3").model_copy(update={"verdict": "unknown"})
    assert told(few) == "?"
