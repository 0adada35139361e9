"""The tiers of a leaderboard in the order in which a reader expects them."""

from swetrials.records.dataset import in_tier_order
from swetrials.records.leaderboard import Leaderboard


def tiers_of(board: Leaderboard) -> list[str]:
    """Return the tiers that were measured: the easiest first, those of another dataset's own naming last."""
    return in_tier_order(tier for standing in board.standings for tier in standing.tiers)
