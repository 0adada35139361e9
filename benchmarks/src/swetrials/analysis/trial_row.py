"""One trial as the statistics see it."""

from dataclasses import dataclass, field

from swetrials.records.leaderboard import HostingBasis


@dataclass(frozen=True, slots=True)
class TrialRow:
    """The figures of one trial, whether it was run here or imported.

    A trial counts in the score mean when it is ``completed``. One that is ``valid`` but not completed (the model's or
    the agent's failure) counts in the completion rate, and as 0 in the mean with failures. One that is not
    ``valid`` failed for another reason than model or agent, and counts in neither.
    """

    folder: str
    """Relative to the results tree; where every figure of this trial can be traced to."""

    model: str
    """The slug."""

    agent: str
    skill: str
    provider: str
    scope: str
    task: str
    repeat: int
    tier: str
    """The dataset's ``complexity``."""

    outcome: str
    completed: bool
    valid: bool
    score: float | None
    """0 to 100; ``None``: not scored, or it failed."""

    unit_scores: dict[str, float] = field(default_factory=dict)
    """Of each artifact, 0 to 100, by ``records.evaluation.UNITS``."""

    cost_usd: float | None = None
    """Over all attempts; ``None``: unknown."""

    cost_basis: str = "none"
    cost_is_lower_bound: bool = False
    latency_seconds: float | None = None
    api_seconds: float | None = None
    waiting_seconds: float | None = None
    num_turns: int | None = None
    fresh_input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    tests_passed: bool | None = None
    repo_grounded: bool | None = None
    rehearsal: bool = False
    source: str | None = None
    """Where imported figures are from; ``None``: measured by this harness."""

    dataset: str | None = None
    task_sha256: str | None = None
    """Of the task as it was worded; ``None``: not known. Two wordings are two tasks, whatever their name."""

    @property
    def hosting(self) -> HostingBasis:
        """What the cost of this trial is worked out from."""
        if self.cost_basis in {"metered", "reported"}:
            return "metered"
        return "hardware" if self.cost_basis == "hardware" else "other"
