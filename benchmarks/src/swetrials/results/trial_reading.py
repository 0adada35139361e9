"""What the statistics read of a trial's two files, and nothing else of them.

``records.metrics`` is the whole record; checking all of it takes eight times as long, and would leave out the trials
of an older or a newer version over fields that no figure needs.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swetrials.records.cost import Basis, CostStatus
from swetrials.records.dataset import RankBy
from swetrials.records.evaluation import UNNAMED, Evidence, judge_label
from swetrials.records.metrics import HostingRecord
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.record import PathPart
from swetrials.records.usage import Completeness, Usage
from swetrials.store.files import RecordError, first_fault, refuse_foreign
from swetrials.store.reading import read_bytes
from swetrials.store.results import TrialFolder

P = TypeVar("P", bound="RecordPart")
S = TypeVar("S", bound="ScoresPart")

_MOST = 10**12
Points = Annotated[float, Field(ge=0, le=100)]
Dollars = Annotated[float, Field(ge=0, le=_MOST)]
Seconds = Annotated[float, Field(ge=-_MOST, le=_MOST)]
Count = Annotated[int, Field(ge=0, le=_MOST)]
"""What is beyond these is a slip of whoever wrote it, and would outweigh everything else in a mean, or burst it."""


class RecordPart(BaseModel):
    """A part of a record: what else there is in it is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=(), allow_inf_nan=False)


class IdentityPart(RecordPart):
    """Of ``trial``."""

    id: str
    repeat: int = 1
    scope: PathPart
    dataset: str
    task_sha256: str | None = None
    given_sha256: str | None = None
    rank_by: RankBy | None = None
    rehearsal: bool


class OutcomePart(Outcome):
    """Of ``outcome``."""

    model_config = ConfigDict(extra="ignore")


class BucketsPart(Usage):
    """Of ``usage.headline.usage``."""

    model_config = ConfigDict(extra="ignore")

    fresh_input: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None
    output: Count | None = None


class HeadlinePart(RecordPart):
    """Of ``usage.headline``."""

    usage: BucketsPart = BucketsPart()
    completeness: Completeness = "unknown"


class UsagePart(RecordPart):
    """Of ``usage``."""

    headline: HeadlinePart = HeadlinePart()


class CostPart(RecordPart):
    """Of ``cost``."""

    amount_usd: Dollars | None = None
    basis: Basis = "none"
    status: CostStatus = "unknown"


class TimePart(RecordPart):
    """Of ``time``, in seconds."""

    wall_seconds: Seconds | None = None
    api_seconds: Seconds | None = None
    waiting_seconds: Seconds | None = None
    queue_seconds: Seconds | None = None


class AttemptPart(RecordPart):
    """Of one of ``attempts``."""

    number: int
    reason: str = "first"
    started_at: str | None = None
    ended_at: str | None = None
    ended_by: str = ""
    exit_code: int | None = None
    num_turns: Count | None = None
    outcome: OutcomePart
    usage: UsagePart = UsagePart()
    cost: CostPart = CostPart()
    time: TimePart = TimePart()


class FindingPart(RecordPart):
    """Of one of ``findings``."""

    code: str


class HostingPart(HostingRecord):
    """Of ``hosting``."""

    model_config = ConfigDict(extra="ignore")

    @property
    def told(self) -> HostingRecord | None:
        """The same as a record of its own; ``None``: nothing of it is told."""
        known = self.model_dump(include=set(HostingRecord.model_fields), exclude_none=True)
        return HostingRecord(**known) if known else None


class CommitPart(RecordPart):
    """Of ``provenance``."""

    commit: str | None = None


class EnvironmentPart(RecordPart):
    """Of ``environment``."""

    kind: str


class SealingPart(RecordPart):
    """Of ``sealing``."""

    state: str
    network: str
    why: str = ""


class ImportedPart(RecordPart):
    """Of ``imported``."""

    file: str
    source: str | None = None
    hosting_instance: str | None = None
    agent_invocations: Count | None = None

    @property
    def told(self) -> str:
        """Where the figures are from, in the best words there are."""
        return self.source or self.file


class MetricsPart(RecordPart):
    """Of ``metrics.json``."""

    task: PathPart
    ref: str
    complexity: str
    model: str
    model_slug: PathPart
    agent: PathPart
    skill: PathPart
    provider: str
    artifacts_produced: tuple[str, ...] = ()
    artifacts_expected: tuple[str, ...] = ()
    latency_seconds: Seconds | None = None
    num_turns: Count | None = None
    error: str | None = None
    run_started_at: str | None = None
    trial: IdentityPart
    usage: UsagePart = UsagePart()
    cost: CostPart = CostPart()
    time: TimePart = TimePart()
    outcome: OutcomePart
    attempts: tuple[AttemptPart, ...] = ()
    findings: tuple[FindingPart, ...] = ()
    imported: ImportedPart | None = None
    hosting: HostingPart | None = None
    provenance: CommitPart = CommitPart()
    environment: EnvironmentPart | None = None
    sealing: SealingPart | None = None


class ScoresPart(RecordPart):
    """Of ``eval.json``: whose scores they are."""

    trial_id: str


class UnitPart(RecordPart):
    """Of one of ``rubric.scores``."""

    total: Points
    missing: bool = False


class GroundingPart(RecordPart):
    """Of ``rubric.judge.grounding``."""

    repo_grounded: bool | None = None


class JudgePart(RecordPart):
    """Of ``rubric.judge``."""

    name: str
    model: str | None = None
    reasoning_effort: str | None = None
    grounding: GroundingPart = GroundingPart()

    @property
    def key(self) -> str:
        """What a judge is called among several; as the records have it."""
        return judge_label(self.name, self.model)


class RubricPart(RecordPart):
    """Of ``rubric``."""

    status: str
    reason: str = ""
    task_score: Points | None = None
    scores: dict[str, UnitPart] = {}
    judge: JudgePart | None = None


class CountPart(RecordPart):
    """Of ``tests.fail_to_pass`` and ``tests.pass_to_pass``."""

    passed: int
    total: int


class TestsPart(RecordPart):
    """Of ``tests``."""

    passed: bool | None = None
    fraction: float | None = None
    report: str | None = None
    resolved: bool | None = None
    evidence: Evidence | None = None
    doubtful: bool = False
    void_reason: str = ""
    fail_to_pass: CountPart | None = None
    pass_to_pass: CountPart | None = None

    @property
    def resolves(self) -> bool | None:
        """Whether the patch resolves the task; an older record tells how commands ended, and nothing else."""
        return self.passed if self.resolved is None else self.resolved

    @property
    def stands_on(self) -> Evidence | None:
        """What the verdict stands on; an older record tells it by its report. ``None``: there is no verdict."""
        if self.resolves is None:
            return None
        return self.evidence or ("exit-code" if self.report in {None, "exit-code"} else "tests")

    @property
    def regressions(self) -> int | None:
        """How many tests that had to stay green are not; ``None``: no single test was told."""
        return None if self.pass_to_pass is None else self.pass_to_pass.total - self.pass_to_pass.passed


class JudgmentPart(RecordPart):
    """Of one of ``judges``."""

    kind: str
    scored_sha256: str | None = None
    rubric: RubricPart | None = None
    tests: TestsPart | None = None


class EvaluationPart(ScoresPart):
    """Of ``eval.json``."""

    rubric: RubricPart | None = None
    tests: TestsPart | None = None
    judges: dict[str, JudgmentPart] = {}
    headline_judge: str | None = None

    @property
    def rubric_judges(self) -> dict[str, JudgmentPart]:
        """Every judge that gives points, by name. An older record has one, which its own block names."""
        named = {name: one for name, one in self.judges.items() if one.kind == "rubric" and one.rubric}
        if named or self.rubric is None:
            return named
        name = self.rubric.judge.key if self.rubric.judge else UNNAMED
        return {name: JudgmentPart(kind="rubric", rubric=self.rubric)}

    def judged_by(self, judge: str | None) -> tuple[str | None, JudgmentPart | None]:
        """Return a judge's name and its word; without a name, those of the headline, else of the first there is."""
        judges = self.rubric_judges
        name = judge if judge is not None else self.headline_judge
        if judge is None and name not in judges:
            name = next(iter(judges), None)
        return (None if name == UNNAMED else name, judges[name]) if name in judges else (None, None)

    @property
    def tests_judgment(self) -> JudgmentPart | None:
        """The tests' word."""
        named = next((one for one in self.judges.values() if one.kind == "tests" and one.tests), None)
        return named or (JudgmentPart(kind="tests", tests=self.tests) if self.tests else None)


@dataclass(frozen=True)
class TrialReading:
    """One trial's figures, and its folder relative to the tree."""

    folder: str
    metrics: MetricsPart
    evaluation: EvaluationPart | None
    judge: str | None = None
    """Whose scores are asked for, by full name; ``None``: the headline's."""

    rank_by: RankBy | None = None
    """What is asked for to rank by; ``None``: what the trial's own record says."""

    @property
    def completed(self) -> bool:
        """Whether model and agent did what was asked, however well."""
        return self.metrics.outcome.kind is OutcomeKind.COMPLETED

    @property
    def judges(self) -> list[str]:
        """The names of the judges that gave points, or tried to."""
        return [name for name in (self.evaluation.rubric_judges if self.evaluation else ()) if name != UNNAMED]

    @cached_property
    def judgment(self) -> tuple[str | None, JudgmentPart | None]:
        """The name of the judge whose scores are taken, and its word."""
        return self.evaluation.judged_by(self.judge) if self.evaluation else (None, None)

    @property
    def rubric(self) -> RubricPart | None:
        """That judge's word, when it gave scores."""
        judgment = self.judgment[1]
        rubric = judgment.rubric if judgment else None
        return rubric if rubric and rubric.status == "scored" else None

    @property
    def tests(self) -> JudgmentPart | None:
        """The tests' word."""
        return self.evaluation.tests_judgment if self.evaluation else None


def read_trial(
    folder: TrialFolder, tree: Path, judge: str | None = None, rank_by: RankBy | None = None
) -> TrialReading:
    """Read one trial; scores that belong to an earlier trial in its folder are none.

    Args:
        folder: the trial's.
        tree: what its name is to be relative to.
        judge: whose scores are asked for, by full name; ``None``: the headline's.
        rank_by: what to rank by; ``None``: what the record says.

    Raises:
        RecordError: one of its files cannot be read.
    """
    metrics = read_part(folder.file_to_read, MetricsPart)
    evaluation = read_scores(folder, metrics.trial.id, EvaluationPart)
    return TrialReading(str(folder.path.relative_to(tree)), metrics, evaluation, judge, rank_by)


def read_scores(folder: TrialFolder, trial_id: str, kind: type[S]) -> S | None:
    """Read the part of ``eval.json`` that ``kind`` names; what belongs to an earlier trial in the folder is nothing.

    Raises:
        RecordError: the file cannot be read, or that part of it is of another shape.
    """
    try:
        scores = _read(folder.evaluation_file, kind)
    except FileNotFoundError:
        return None
    return scores if scores.trial_id == trial_id else None


def read_part(path: Path, kind: type[P]) -> P:
    """Read the part of a JSON record that ``kind`` names.

    Raises:
        RecordError: the file cannot be read, or that part of it is of another shape.
    """
    try:
        return _read(path, kind)
    except FileNotFoundError as error:
        raise RecordError(f"{path}: {error.strerror}") from None


def _read(path: Path, kind: type[P]) -> P:
    """Do what :func:`read_part` does; a file that is not there is a ``FileNotFoundError``."""
    try:
        return kind.model_validate_json(read_bytes(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        refuse_foreign(path)
        raise RecordError(f"{path}: {first_fault(error)}") from None
