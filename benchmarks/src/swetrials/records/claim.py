"""What two runs allow to be claimed about each other, and what it would take to claim more."""

from pydantic import Field

from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import Estimate, PairedDifference
from swetrials.records.record import Record


class CostRatio(Record):
    """How many times as much a trial of the first costs, over tasks that both did at a known cost.

    Of completed trials; where resolve rates are compared, of all trials in them.
    """

    ratio: Estimate = Field(description="mean cost of the first over that of the second")
    p: float | None = Field(None, description="two-sided sign-flip permutation test of the difference in dollars")
    lower_bound: bool = Field(False, description="a cost of one of the two is known to be at least so much")
    same_basis: bool = Field(True, description="both are worked out in the same way: prices of tokens, hours, other")


class Settling(Record):
    """How much more work would probably settle which of two scores higher, were the difference what it seems to be.

    Simulated from the observed differences by task and, for repeats, the noise between repeats.
    """

    power: float = Field(description="the probability of settling it that is aimed at")
    power_now: float = Field(description="that of another benchmark of the same size")
    more_tasks: int | None = Field(description="fewest that reach it, run as often as now; None: not within the limit")
    tasks_limit: int
    more_repeats: int | None = Field(
        description="fewest more repeats of the same tasks, by both, that reach it; None: not within the limit, or not "
        "known"
    )
    repeats_limit: int
    repeat_noise_known: bool = Field(description="both have repeats to measure it by")


class Claim(Record):
    """Two runs over shared tasks: what may be said of score and cost."""

    rank_by: RankBy = Field("rubric", description="what the two are set apart by")
    rehearsal: bool = Field(description="of the scripted model: it says nothing about any model")
    score: PairedDifference = Field(description="of scores, or of resolve rates")
    cost: CostRatio
    settling: Settling | None = Field(description="None: settled already, or fewer than two shared tasks")
