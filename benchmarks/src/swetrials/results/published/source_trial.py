"""One trial of somebody else's, in this project's terms, and the two records that it becomes.

Whatever the figures were printed in (a CSV, a tree of JSON files), a reader converts them to a :class:`SourceTrial`,
and what follows from it is the same for all: which folder the trial gets, what its outcome is, what its records hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from swetrials.records.cost import Cost
from swetrials.records.evaluation import UNITS, Evaluation, RubricEvaluation, UnitScore
from swetrials.records.metrics import (
    EXPECTED_ARTIFACTS,
    Finding,
    HostingRecord,
    Metrics,
    Provenance,
    TimeSplit,
    TrialIdentity,
)
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.published_run import Imported
from swetrials.records.slug import model_slug
from swetrials.records.usage import UsageBlock
from swetrials.store.problems import DocumentError, Problem

NOT_TOLD = Provenance(
    harness_version=None,
    skill_sha256=None,
    prompt_sha256=None,
    sandbox=None,
    permission_mode=None,
    python_version=None,
    platform=None,
)

UNKNOWN_TIER = "unknown"


@dataclass(frozen=True)
class Defaults:
    """What holds for each trial of which the source does not say otherwise."""

    agent: str
    skill: str
    scope: str
    source: str | None = None


@dataclass(frozen=True)
class ImportedTrial:
    """The two records of a trial, and the trial's folder relative to the tree."""

    folder: str
    metrics: Metrics
    evaluation: Evaluation


@dataclass(frozen=True)
class SourceTrial:
    """What a source tells of one trial. ``None``: it does not tell.

    ``names`` are agent, skill and scope as names of folders. ``failed`` is the source's word: no usable result.
    ``rubric`` is what a judge said, of a trial that did not fail.
    """

    model: str
    names: tuple[str, str, str]
    provider: str
    task: str
    imported: Imported
    usage: UsageBlock
    cost: Cost
    rubric: RubricEvaluation
    failed: bool
    is_error: bool
    ref: str = ""
    complexity: str = UNKNOWN_TIER
    produced: int | None = None
    expected: int | None = None
    latency_seconds: float | None = None
    num_turns: int | None = None
    result_subtype: str | None = None
    repo: str | None = None
    tags: tuple[str, ...] = ()
    endpoint: str | None = None
    aws_region: str | None = None
    hosting: HostingRecord | None = None
    started_at: str | None = None
    ended_at: str | None = None
    session_id: str | None = None
    findings: tuple[Finding, ...] = field(default=())

    @property
    def place(self) -> str:
        """The folder of its first repeat, relative to the tree."""
        return "/".join((model_slug(self.model), *self.names, self.task))


def records_of(sources: Iterable[SourceTrial]) -> list[ImportedTrial]:
    """Return the trials' records, in order. A further trial of one task by one model and agent is a repeat of it.

    A repeat whose source is the same to the letter gets a finding: it is probably one trial that was written twice.

    Raises:
        DocumentError: two trials of one folder are of different model ids or providers, which no mean may take in.
    """
    seen = dict[str, list[SourceTrial]]()
    trials = []
    for source in sources:
        earlier = seen.setdefault(source.place.lower(), [])
        _refuse_others(source, earlier)
        trials.append(_trial(source, len(earlier) + 1, earlier))
        earlier.append(source)
    return trials


def _trial(source: SourceTrial, repeat: int, earlier: Sequence[SourceTrial]) -> ImportedTrial:
    agent, skill, scope = source.names
    imported, outcome = source.imported, _outcome(source)
    folder = source.place if repeat == 1 else f"{source.place}--r{repeat}"
    where = "" if imported.line is None else f":{imported.line}"
    trial_id = f"{folder}@{imported.sha256[:12]}{where}"
    evaluation = Evaluation(task=source.task, trial_id=trial_id, rubric=_rubric(source))
    tokens = source.usage.headline.usage
    metrics = Metrics(
        task=source.task,
        repo=source.repo,
        ref=source.ref,
        complexity=source.complexity,
        tags=source.tags,
        model=source.model,
        model_slug=model_slug(source.model),
        agent=agent,
        skill=skill,
        provider=source.provider,
        endpoint=source.endpoint,
        aws_region=source.aws_region,
        hosting=source.hosting,
        artifacts_produced=EXPECTED_ARTIFACTS if _is_whole(source) else (),
        input_tokens=tokens.fresh_input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_creation_tokens=tokens.cache_write,
        latency_seconds=source.latency_seconds,
        num_turns=source.num_turns,
        total_cost_usd=source.cost.amount_usd,
        is_error=source.is_error,
        result_subtype=source.result_subtype,
        error=outcome.detail or None,
        session_id=source.session_id,
        run_started_at=source.started_at,
        run_ended_at=source.ended_at,
        trial=TrialIdentity(
            id=trial_id,
            repeat=repeat,
            scope=scope,
            dataset=scope,
            dataset_sha256=None,
            task_sha256=None,
            rehearsal=False,
        ),
        usage=source.usage,
        cost=source.cost,
        time=TimeSplit(wall_seconds=source.latency_seconds),
        outcome=outcome,
        provenance=NOT_TOLD,
        imported=imported,
        findings=(*source.findings, *_common_findings(source, earlier)),
        evaluation=evaluation,
    )
    return ImportedTrial(folder, metrics, evaluation)


def _refuse_others(source: SourceTrial, earlier: Sequence[SourceTrial]) -> None:
    for other in earlier[:1]:
        if (source.model, source.provider) != (other.model, other.provider):
            message = (
                f"{source.task!r} by {source.model}, {source.provider}, goes where {_where(other.imported)} has it by "
                f"{other.model}, {other.provider}: no mean may take in both; import one of them under another --scope"
            )
            at = source.imported.place or "model"
            raise DocumentError([Problem(source.imported.file, source.imported.line, at, message)])


def _is_whole(source: SourceTrial) -> bool:
    return source.produced is not None and source.produced == source.expected


def _outcome(source: SourceTrial) -> Outcome:
    # Whose error it was the source does not say; it counts each failure against the model, and so do its figures here.
    if not source.failed:
        return Outcome.of(OutcomeKind.COMPLETED)
    error = "; it also says that the run ended in an error" if source.is_error else ""
    told = f", with {source.produced} of {source.expected} artifacts" if source.produced is not None else ""
    kind = OutcomeKind.INCOMPLETE_ARTIFACTS
    if source.result_subtype == "error_max_turns":  # Claude Code's own word for it
        kind = OutcomeKind.TURN_LIMIT
    return Outcome.of(kind, f"the source says failed{told}{error}")


def _rubric(source: SourceTrial) -> RubricEvaluation:
    if not source.failed:
        return source.rubric
    absent = UnitScore.absent("the source says failed: no judge scored this")
    scores = dict.fromkeys(UNITS, absent)
    return RubricEvaluation(status="scored", reason="failed: 0 by rule", task_score=0, scores=scores)


def _common_findings(source: SourceTrial, earlier: Sequence[SourceTrial]) -> list[Finding]:
    findings = []
    if source.is_error:
        message = "the source says that the run ended in an error, and not whose"
        findings.append(Finding(code="imported_error", severity="warning", message=message))
    if source.produced is not None and source.failed == _is_whole(source):
        what = f"{source.produced} of {source.expected} artifacts"
        message = f"the source says {'failed' if source.failed else 'not failed'} with {what}, and does not name them"
        findings.append(Finding(code="imported_artifacts", severity="warning", message=message))
    if twin := next((other for other in earlier if _same(source, other)), None):
        message = f"the same figures to the letter as {_where(twin.imported)}: probably one trial, written twice"
        findings.append(Finding(code="imported_twice", severity="warning", message=message))
    return findings


def _same(one: SourceTrial, other: SourceTrial) -> bool:
    return (one.imported.row, one.imported.record) == (other.imported.row, other.imported.record)


def _where(imported: Imported) -> str:
    return f"line {imported.line}" if imported.line is not None else imported.place or imported.file
