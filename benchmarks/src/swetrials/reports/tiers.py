"""The tiers of a leaderboard in the order in which a reader expects them."""

from swetrials.records.judged_inputs import TIERS
from swetrials.records.leaderboard import Leaderboard


def tiers_of(board: Leaderboard) -> list[str]:
    """Return the tiers that were measured: the easiest first, those of another dataset's own naming last."""
    found = {tier for standing in board.standings for tier in standing.tiers}
    return [*(tier for tier in TIERS if tier in found), *sorted(found - set(TIERS))]
