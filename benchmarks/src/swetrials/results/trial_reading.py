"""What the statistics read of a trial's two files, and nothing else of them.

``records.metrics`` is the whole record; checking all of it takes eight times as long, and would leave out the trials
of an older or a newer version over fields that no figure needs.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, ValidationError

from swetrials.records.cost import Basis, CostStatus
from swetrials.records.dataset import RankBy
from swetrials.records.evaluation import UNNAMED
from swetrials.records.metrics import HostingRecord
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.record import PathPart
from swetrials.records.usage import Completeness, Usage
from swetrials.results.evaluation_parts import EvaluationPart, JudgmentPart, RubricPart, ScoresPart
from swetrials.results.record_part import Count, Dollars, RecordPart, Seconds
from swetrials.store.files import RecordError, first_fault, refuse_foreign
from swetrials.store.reading import read_bytes
from swetrials.store.results import TrialFolder

P = TypeVar("P", bound=RecordPart)
S = TypeVar("S", bound=ScoresPart)


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
