"""One trial as the statistics see it."""

from dataclasses import dataclass, field

from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import HostingBasis
from swetrials.records.metrics import HostingRecord
from swetrials.records.usage import Completeness
from swetrials.records.verification import Evidence


@dataclass(frozen=True, slots=True)
class TrialRow:
    """The figures of one trial, whether it was run here or imported.

    ``completed``: model and agent did what was asked. ``valid`` but not completed: the model's or the agent's failure.
    Not ``valid``: it failed for another reason. Which of them count in which figure stands in
    :mod:`swetrials.results.figures`.
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

    judged_score: float | None = None
    """What the judge gave, whatever became of the trial; that of a failed trial is in no mean."""

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
    total_tokens: int | None = None
    """Prompt and output; more than the buckets where a prompt was told as a whole, and not its parts."""

    tokens_completeness: Completeness = "unknown"
    """Of the four buckets: ``lower_bound`` makes each of them an "at least"."""

    tests_passed: bool | None = None
    """The tests' word on the patch, whatever became of the trial; ``None``: they gave none."""

    resolved: bool | None = None
    """Whether the patch resolves the task, likewise: by each test, or by how commands ended where that is all."""

    tests_report: str | None = None
    """How the tests told it; ``exit-code``, and ``None`` of an older record: by how commands ended."""

    has_patch: bool | None = None
    """Whether it left a patch; ``None``: imported figures do not tell."""

    evidence: Evidence | None = None
    """What the tests' verdict stands on; ``None``: there is none."""

    doubtful: bool = False
    """The patch touches what could forge the tests' verdict."""

    void_reason: str = ""
    """Why the verification says nothing of the patch; empty: it is not void."""

    regressions: int | None = None
    """Tests that had to stay green and are not; ``None``: no single test was told."""

    rank_by: RankBy | None = None
    """What its dataset ranks by, or what was asked for; ``None``: it does not say, and counts as ``rubric``."""

    repo_grounded: bool | None = None
    rehearsal: bool = False
    source: str | None = None
    """Where imported figures are from; ``None``: measured by this harness."""

    dataset: str | None = None
    task_sha256: str | None = None
    """Of the task as it was worded; ``None``: not known. Two wordings are two tasks, whatever their name."""

    given_sha256: str | None = None
    """Of all that the agent was given; ``None``: an older record. Equal ones are one task, whatever scores it."""

    commit: str | None = None
    """What the task's ref was resolved to."""

    judge: str | None = None
    """Whose score it is: ``codex/<model>``; ``None``: there is none, or nobody tells."""

    judge_effort: str | None = None
    scored_sha256: str | None = None
    """Of all that the score was made with; ``None``: no score, or an older judgment, which is a version of its own."""

    tests_sha256: str | None = None
    """Of all that the tests' verdict was made with, likewise."""

    hosted: HostingRecord | None = None
    """How the model was hosted, as far as anybody told."""

    environment: str | None = None
    """The kind of what it ran in; ``None``: an older or an imported record does not tell."""

    sealing: str | None = None
    """``proven``, ``declared`` or ``open``; ``None``: the record does not tell."""

    sealing_why: str = ""
    """Why it is not proven."""

    network: str | None = None
    """What it was allowed to reach."""

    @property
    def counts_resolved(self) -> bool | None:
        """Whether it counts as resolved, however it ended; ``None``: it is in no resolve rate.

        The tests' verdict. Without one, a trial that left no patch, or that failed on the model's or the agent's
        account, has not resolved its task, and a completed one is unchecked. Void ones and those that are not valid
        say nothing.
        """
        if not self.valid or self.void_reason:
            return None
        if self.resolved is None and (self.has_patch is False or not self.completed):
            return False
        return self.resolved

    @property
    def hosting(self) -> HostingBasis:
        """What the cost of this trial is worked out from."""
        if self.cost_basis in {"metered", "reported"}:
            return "metered"
        return "hardware" if self.cost_basis == "hardware" else "other"
