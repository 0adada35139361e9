"""What stands behind a trial's figures: when and with what it was made, who judged it, what its record remarks."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.records.metrics import Finding
from swetrials.records.verification import VerificationFinding
from swetrials.results.evaluation_parts import ScoresPart
from swetrials.results.figures import Figures
from swetrials.results.record_part import RecordPart
from swetrials.results.task_values import by_task, mean
from swetrials.results.trial_reading import IdentityPart, ImportedPart, read_part, read_scores
from swetrials.results.trial_row import TrialRow
from swetrials.store.results import TrialFolder


class ProvenancePart(RecordPart):
    """Of ``provenance``."""

    harness_version: str | None = None
    agent_version: str | None = None


class PricesPart(RecordPart):
    """Of ``cost``."""

    source: str = ""
    price_date: str | None = None


class QueuePart(RecordPart):
    """Of ``time``."""

    queue_seconds: float | None = None


class MetricsBackground(RecordPart):
    """Of ``metrics.json``."""

    trial: IdentityPart
    run_started_at: str | None = None
    run_ended_at: str | None = None
    provenance: ProvenancePart = ProvenancePart()
    cost: PricesPart = PricesPart()
    time: QueuePart = QueuePart()
    imported: ImportedPart | None = None
    findings: tuple[Finding, ...] = ()


class JudgeBackground(RecordPart):
    """Of ``rubric.judge``."""

    name: str
    provider: str | None = None
    model: str | None = None
    agent_version: str | None = None

    @property
    def who(self) -> str:
        """Name, version, model and provider, as far as they are known."""
        version = f" {self.agent_version}" if self.agent_version else ""
        return ", ".join(part for part in (f"{self.name}{version}", self.model, self.provider) if part)


class RubricBackground(RecordPart):
    """Of ``rubric``."""

    status: str
    reason: str = ""
    judge: JudgeBackground | None = None


class TestsBackground(RecordPart):
    """Of ``tests``."""

    findings: tuple[VerificationFinding, ...] = ()


class EvaluationBackground(ScoresPart):
    """Of ``eval.json``."""

    rubric: RubricBackground | None = None
    tests: TestsBackground | None = None


@dataclass(frozen=True, slots=True)
class TrialBackground:
    """One trial with what stands behind it."""

    row: TrialRow
    metrics: MetricsBackground
    rubric: RubricBackground | None
    findings: tuple[Finding, ...]
    """What its record remarks, and what its patch touches of its own verdict."""


@dataclass(frozen=True)
class FindingCount:
    """One kind of finding, over all trials that have it."""

    code: str
    severity: str
    message: str
    """As the first trial has it; the figures in it are that trial's."""

    rows: tuple[TrialRow, ...]


def read_backgrounds(tree: Path, rows: Iterable[TrialRow]) -> list[TrialBackground]:
    """Read what stands behind the trials of a tree.

    Raises:
        RecordError: a record cannot be read.
    """
    return [_read(TrialFolder(tree / row.folder), row) for row in rows]


def _read(folder: TrialFolder, row: TrialRow) -> TrialBackground:
    metrics = read_part(folder.file_to_read, MetricsBackground)
    scores = read_scores(folder, metrics.trial.id, EvaluationBackground)
    touched = scores.tests.findings if scores and scores.tests else ()
    findings = (
        *metrics.findings,
        *(Finding(code=f"tests: {one.kind}", severity="warning", message=one.message) for one in touched),
    )
    return TrialBackground(row, metrics, scores.rubric if scores else None, findings)


def counted_findings(backgrounds: Iterable[TrialBackground]) -> list[FindingCount]:
    """Return the findings by kind: errors first, then warnings, then remarks; the most frequent first."""
    found: dict[tuple[str, str], list[tuple[str, TrialRow]]] = {}
    for background in backgrounds:
        for finding in background.findings:
            found.setdefault((finding.severity, finding.code), []).append((finding.message, background.row))
    order = {"error": 0, "warning": 1, "info": 2}
    counts = [
        FindingCount(code, severity, told[0][0], tuple({row.folder: row for _, row in told}.values()))
        for (severity, code), told in found.items()
    ]
    return sorted(counts, key=lambda count: (order[count.severity], -len(count.rows), count.code))


def mean_queue_seconds(backgrounds: Iterable[TrialBackground]) -> float | None:
    """Return the mean over tasks of how long completed trials waited for their start; ``None``: nobody measured."""
    each = list(backgrounds)
    waits = {b.row.folder: b.metrics.time.queue_seconds for b in each}
    return mean(by_task(Figures([b.row for b in each]).completed, lambda row: waits[row.folder]))


def dates(backgrounds: Iterable[TrialBackground]) -> tuple[str, str] | None:
    """Return the days on which the first trial started and the last one ended; ``None``: no record tells."""
    metrics = [background.metrics for background in backgrounds]
    told = sorted(moment[:10] for m in metrics for moment in (m.run_started_at, m.run_ended_at) if moment)
    return (told[0], told[-1]) if told else None


def distinct(values: Iterable[str | None]) -> Sequence[str]:
    """Return the values that are told, the most frequent first."""
    return [value for value, _ in Counter(value for value in values if value).most_common()]
