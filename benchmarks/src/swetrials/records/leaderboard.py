"""Models side by side: each figure with its interval, each pair with what can be said of it."""

from typing import Final, Literal, Self

from pydantic import Field

from swetrials.records.dataset import RankBy
from swetrials.records.metrics import HostingRecord
from swetrials.records.record import SCHEMA_VERSION, Record
from swetrials.records.verification import Evidence

LEVEL: Final = 0.95
"""Of every interval: intervals made this way hold the true figure in 95 of 100 benchmarks of this kind."""

HostingBasis = Literal["metered", "hardware", "other"]
"""What a run's costs are worked out from; costs of different bases are not quite comparable.

``metered``: tokens times a price. ``hardware``: seconds of a box times its hourly rate. ``other``: anything else.
"""

Verdict = Literal["better", "worse", "tied", "unknown"]
"""``tied``: the trials do not tell the two apart. ``unknown``: too few shared tasks to say even that."""


class Estimate(Record):
    """A figure with the interval that the choice of tasks leaves open, and what it stands on."""

    value: float | None = Field(None, description="None: unknown")
    low: float | None = Field(None, description="None: no interval, as with a single task")
    high: float | None = None
    level: float = LEVEL
    tasks: int = Field(0, description="tasks with at least one trial that counts; each has the same weight")
    trials: int = Field(0, description="trials that count, repeats among them")
    largest_share: float | None = Field(
        None,
        exclude_if=lambda share: share is None,
        description="of a cost or a saving: what one task is of the whole, where it is over a quarter, so that the "
        "interval holds less often than it says",
    )

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval; ``None`` when there is none."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def in_percent(self) -> Self:
        """The same share as 0 to 100."""
        ends = {name: None if (one := getattr(self, name)) is None else 100 * one for name in ("value", "low", "high")}
        return self.model_copy(update=ends)


class Candidate(Record):
    """What is compared: a model behind an agent, with a skill, on a provider, hosted in one way."""

    model: str = Field(description="the slug")
    agent: str
    skill: str
    provider: str
    hosted: HostingRecord | None = Field(
        None, exclude_if=lambda hosted: hosted is None, description="how the model was hosted; absent: nobody told"
    )

    @property
    def key(self) -> str:
        """The four names, and how the model was hosted where that is told, as one text, unique within a leaderboard."""
        told = self.hosted.model_dump(exclude_none=True) if self.hosted else {}
        return "/".join((self.model, self.agent, self.skill, self.provider, *(f"{k}={v}" for k, v in told.items())))


class PassK(Record):
    """How likely ``k`` repeats of a task all succeed, or one of them, as a mean over tasks; without bias."""

    k: int = Field(ge=1)
    probability: Estimate


class Reliability(Record):
    """What the repeats say of how dependable a candidate is; only tasks with two or more valid trials are in it."""

    tasks: int
    repeats: int = Field(description="the fewest valid repeats of one of these tasks: the largest k")
    pass_k: tuple[PassK, ...] = Field(description="that all k succeed; for k from 1 to repeats")
    pass_at_k: tuple[PassK, ...] = Field((), description="that one of k succeeds at least; likewise")
    flip_rate: Estimate = Field(description="how likely two repeats of one task end differently, mean over tasks")


class PerResolved(Record):
    """What one resolved task takes: all that the trials in the resolve rate took, failures too, over those resolved."""

    ratio: Estimate = Field(Estimate(), description="None: none was resolved, or what a trial took is not known")
    more_than: float | None = Field(
        None,
        exclude_if=lambda spent: spent is None,
        description="none was resolved: all that was spent, so that one takes more; absent otherwise",
    )
    lower_bound: bool = Field(
        False, exclude_if=lambda bound: not bound, description="part of it is known to be at least so much"
    )


class ResolveStanding(Record):
    """How many tasks were resolved, and what that took. Resolved is the patch's, however the trial ended."""

    rate: Estimate = Field(description="share of the trials that count which resolved their task; mean over tasks")
    trials: int = Field(description="that count: valid ones with a verdict, and failures without one as not resolved")
    resolved: int = Field(description="of these")
    unchecked: int = Field(0, description="completed trials without a verdict; they are in no rate")
    void: int = Field(0, description="trials whose verification says nothing of the patch; likewise")
    regressed: int | None = Field(
        None, description="trials whose patch broke a test that had to stay green; None: no single test was told"
    )
    doubtful: int = Field(0, description="trials with a verdict that their patch could have forged")
    evidence: dict[Evidence, int] = Field({}, description="verdicts by what they stand on")
    reliability: Reliability | None = Field(None, description="None: no repeats")
    cost_usd: Estimate = Field(
        Estimate(), description="per trial that counts, failures too; None when one of them has no price"
    )
    usd_per_resolved: PerResolved = PerResolved()
    minutes_per_resolved: PerResolved = PerResolved()


class TierStanding(Record):
    """A candidate on the tasks of one difficulty."""

    ranked: Estimate = Field(description="0 to 100: the score, or in percent the resolve rate")
    ranked_cost_usd: Estimate = Field(description="what stands beside it, as in the line itself")

    tasks: int
    trials: int
    valid: int
    completed: int
    score: Estimate = Field(description="mean over tasks, completed trials alone")
    cost_usd: Estimate = Field(description="mean over tasks, completed trials alone")
    completion: Estimate = Field(description="share of valid trials that completed")


class FrontierPlace(Record):
    """Whether nothing else is at least as good on both score and cost and better on one."""

    on_frontier: bool | None = Field(None, description="None: score or cost is not known")
    probability: float | None = Field(None, description="share of the resamples of tasks in which it is so")


class UsageMeans(Record):
    """Means over tasks, completed trials alone; trials that do not tell a figure are not in its mean."""

    num_turns: Estimate = Estimate()
    fresh_input_tokens: Estimate = Estimate()
    cache_read_tokens: Estimate = Estimate()
    cache_write_tokens: Estimate = Estimate()
    output_tokens: Estimate = Estimate()
    api_seconds: Estimate = Estimate()
    waiting_seconds: Estimate = Estimate()


class ModelStanding(Candidate):
    """One line of the leaderboard."""

    label: str = Field(description="the model alone where no other line has it, else with what tells them apart")
    hosting: HostingBasis
    source: str | None = Field(None, description="where imported figures are from; None: measured by this harness")
    rehearsal: bool = False

    tasks: int
    trials: int
    valid: int = Field(description="trials that say something about model or agent")
    completed: int
    scored: int = Field(description="completed trials with a score")
    repeats: int = Field(description="the most trials of one task")

    ranked: Estimate = Field(description="0 to 100, what the list is ordered by: score, or in percent resolve.rate")
    ranked_cost_usd: Estimate = Field(description="what stands beside it: cost_usd, or resolve.cost_usd")
    ranked_cost_is_lower_bound: bool = Field(False, description="it is at least what it says")
    resolve: ResolveStanding | None = Field(None, description="None: no trial has a verdict of the tests")
    score: Estimate = Field(description="0 to 100; mean over tasks, completed trials alone")
    score_failures_as_zero: Estimate = Field(description="over valid trials; one that did not complete counts 0")
    score_all_trials: Estimate = Field(description="over every trial; one without a score counts 0")
    units: dict[str, Estimate] = Field({}, description="score of each artifact, completed trials alone")
    repeat_sd_points: float | None = Field(
        None, description="standard deviation of the score between repeats of one task; None: no repeats"
    )
    cost_usd: Estimate = Field(description="per trial, completed trials alone; None when one of them has no price")
    cost_is_lower_bound: bool = False
    tokens_are_lower_bound: bool = Field(False, description="the means of tokens are at least what they say")
    trials_without_cost: int = Field(0, description="completed trials the cost of which is not known")
    latency_seconds: Estimate = Field(description="per trial, completed trials alone")
    completion: Estimate = Field(description="share of valid trials that completed")
    tests_passed: Estimate = Field(description="share of valid trials with a verdict of the tests whose tests passed")
    tiers: dict[str, TierStanding] = {}
    completion_reliability: Reliability | None = Field(None, description="None: no repeats")
    tests_reliability: Reliability | None = Field(None, description="None: no repeats, or no tests")
    frontier_of_hosting: FrontierPlace = FrontierPlace()
    frontier_combined: FrontierPlace = FrontierPlace()
    failures: dict[str, int] = Field({}, description="valid trials that did not complete, by outcome kind")
    other_failures: dict[str, int] = Field({}, description="trials that are not valid, by outcome kind")
    means: UsageMeans = UsageMeans()


class PairedDifference(Record):
    """Two candidates over the tasks that both completed."""

    a: str = Field(description="key of a standing")
    b: str
    difference: Estimate = Field(
        description="points that a is ranked above b, of a resolve rate percentage points: mean over shared tasks"
    )
    difference_failures_as_zero: Estimate = Field(
        description="of scores, the same over the tasks in which both have a valid trial; one that did not complete "
        "counts 0. Not tested: it has no interval, as none holds where failures are rare"
    )
    completion_difference: Estimate = Field(
        Estimate(), description="share of trials that a completed above b's, over the same tasks; without an interval"
    )
    completion_p: float | None = Field(None, description="two-sided sign-flip permutation test of it")
    completion_p_holm: float | None = Field(None, description="the same, adjusted for all pairs of the leaderboard")
    p: float | None = Field(None, description="two-sided sign-flip permutation test of the difference")
    p_holm: float | None = Field(None, description="the same, adjusted for all pairs of the leaderboard")
    probability_a_better: float | None = Field(
        None, description="share of the resamples of tasks in which a is above b; equal ones count half"
    )
    verdict: Verdict = Field("unknown", description="of a, from p_holm, and the tie band where a fixed one was given")

    def reversed(self) -> Self:
        """Return the same with ``b`` first."""
        chance = self.probability_a_better
        opposite: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
        return self.model_copy(
            update={
                "a": self.b,
                "b": self.a,
                "difference": _negative(self.difference),
                "difference_failures_as_zero": _negative(self.difference_failures_as_zero),
                "completion_difference": _negative(self.completion_difference),
                "probability_a_better": None if chance is None else 1 - chance,
                "verdict": opposite.get(self.verdict, self.verdict),
            }
        )


class TieBand(Record):
    """Within how many points two scores or resolve rates count as equal where only the means are at hand."""

    points: float | None = Field(None, ge=0, description="None: the trials do not tell")
    fixed: bool = Field(description="given by the user; else derived from the noise of these trials")
    derivation: str


class Leaderboard(Record):
    """All candidates of one scope, the best first; those without a figure to rank by last."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    scope: str
    dataset: str | None = None
    rank_by: RankBy = "rubric"
    rehearsal: bool = Field(description="all of it is scripted: figures of the harness, nothing about any model")
    tasks: tuple[str, ...]
    standings: tuple[ModelStanding, ...]
    pairs: tuple[PairedDifference, ...] = Field(description="each pair once, the one higher on the list as a")
    tie_band: TieBand
    seed: int
    resamples: int
    caveats: tuple[str, ...] = ()

    def standing(self, key: str) -> ModelStanding:
        """Return one line.

        Raises:
            KeyError: no line has this key.
        """
        for standing in self.standings:
            if standing.key == key:
                return standing
        raise KeyError(key)

    def between(self, a: str, b: str) -> PairedDifference:
        """Return the comparison of two lines, seen from the first.

        Raises:
            KeyError: no pair of lines has these keys.
        """
        for pair in self.pairs:
            if (pair.a, pair.b) == (a, b):
                return pair
            if (pair.b, pair.a) == (a, b):
                return pair.reversed()
        raise KeyError(a, b)


def _negative(estimate: Estimate) -> Estimate:
    value, low, high = (None if x is None else -x for x in (estimate.value, estimate.low, estimate.high))
    return estimate.model_copy(update={"value": value, "low": high, "high": low})
