"""From rows that somebody else published to records of trials.

What the source does not tell is ``None``. What it tells in another convention is converted, and the row stays in the
record as printed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from swetrials.records.base import safe_path_part
from swetrials.records.cost import Basis, Cost
from swetrials.records.evaluation import UNITS, Evaluation, RubricEvaluation, UnitScore
from swetrials.records.metrics import EXPECTED_ARTIFACTS, Finding, Metrics, Provenance, TimeSplit, TrialIdentity
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.published_run import Imported, PublishedRun
from swetrials.records.slug import model_slug
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.store.csv_source import CsvRow, CsvSource, read_csv
from swetrials.store.problems import DocumentError, Problem

_A_CENTS_HUNDREDTH = 0.0001

NOT_TOLD = Provenance(
    harness_version=None,
    skill_sha256=None,
    prompt_sha256=None,
    sandbox=None,
    permission_mode=None,
    python_version=None,
    platform=None,
)


@dataclass(frozen=True)
class Defaults:
    """What holds for each row that does not say otherwise in a column of that name."""

    agent: str
    skill: str
    scope: str
    source: str | None = None


@dataclass(frozen=True)
class ImportedTrial:
    """The two records of a row, and the trial's folder relative to the tree."""

    folder: str
    metrics: Metrics
    evaluation: Evaluation


def read_published_runs(path: Path, defaults: Defaults) -> list[ImportedTrial]:
    """Return the trials of a CSV of published figures, in its order. The same file gives the same records.

    Raises:
        DocumentError: the file cannot be used; one line per fault, with line and column.
    """
    source = read_csv(path, PublishedRun)
    trials, lines = list[ImportedTrial](), dict[str, int]()
    for row in source.rows:
        trial = _trial(source, row, defaults)
        if trial.folder in lines:
            message = f"{row.record.task!r} of this model is in line {lines[trial.folder]} already"
            raise DocumentError([Problem(str(path), row.line, "task", message)])
        lines[trial.folder] = row.line
        trials.append(trial)
    return trials


def _trial(source: CsvSource[PublishedRun], row: CsvRow[PublishedRun], defaults: Defaults) -> ImportedTrial:
    run = row.record
    agent, skill, scope = run.agent or defaults.agent, run.skill or defaults.skill, run.scope or defaults.scope
    try:
        slug = safe_path_part(model_slug(run.model))
    except ValueError as error:
        raise DocumentError([Problem(str(source.path), row.line, "model", str(error))]) from None
    imported = Imported(
        file=source.path.name,
        sha256=source.sha256,
        line=row.line,
        source=run.source or defaults.source,
        hosting_instance=run.hosting_instance if run.self_hosted else None,
        agent_invocations=run.agent_invocations,
        row=row.cells,
    )
    folder = f"{slug}/{agent}/{skill}/{scope}/{run.task}"
    trial_id = f"{folder}@{source.sha256[:12]}:{row.line}"
    evaluation = Evaluation(task=run.task, trial_id=trial_id, rubric=_rubric(run))
    usage, cost, outcome = _usage(run), _cost(run, imported), _outcome(run)
    tokens = usage.headline.usage
    metrics = Metrics(
        task=run.task,
        repo=None,
        ref=run.ref,
        complexity=run.complexity,
        model=run.model,
        model_slug=slug,
        agent=agent,
        skill=skill,
        provider=run.provider,
        artifacts_produced=EXPECTED_ARTIFACTS if run.artifacts_produced == run.artifacts_expected else (),
        input_tokens=tokens.fresh_input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_creation_tokens=tokens.cache_write,
        latency_seconds=run.latency_seconds,
        num_turns=run.num_turns,
        total_cost_usd=cost.amount_usd,
        is_error=run.is_error,
        error=outcome.detail or None,
        run_started_at=None,
        trial=TrialIdentity(
            id=trial_id, scope=scope, dataset=scope, dataset_sha256=None, task_sha256=None, rehearsal=False
        ),
        usage=usage,
        cost=cost,
        time=TimeSplit(wall_seconds=run.latency_seconds),
        outcome=outcome,
        provenance=NOT_TOLD,
        imported=imported,
        findings=tuple(_findings(run)),
        evaluation=evaluation,
    )
    return ImportedTrial(folder, metrics, evaluation)


def _outcome(run: PublishedRun) -> Outcome:
    # Whose error it was the source does not say; it counts each failure against the model, and so do its figures here.
    if not run.failed:
        return Outcome.of(OutcomeKind.COMPLETED)
    error = "; it also says that the run ended in an error" if run.is_error else ""
    told = f"{run.artifacts_produced} of {run.artifacts_expected} artifacts"
    return Outcome.of(OutcomeKind.INCOMPLETE_ARTIFACTS, f"the source says failed, with {told}{error}")


def _rubric(run: PublishedRun) -> RubricEvaluation:
    if run.failed:
        absent = UnitScore.absent("the source says failed: no judge scored this")
        scores = dict.fromkeys(UNITS, absent)
        return RubricEvaluation(status="scored", reason="failed: 0 by rule", task_score=0, scores=scores)
    if run.units is None:
        return RubricEvaluation(status="unscored", reason="the source gives no score")
    scores = {unit: UnitScore(published_total=total) for unit, total in run.units.items()}
    mean = sum(run.units.values()) / len(UNITS)
    reason = "imported: the source gives the units' totals alone"
    return RubricEvaluation(status="scored", reason=reason, task_score=mean, scores=scores)


def _cost(run: PublishedRun, imported: Imported) -> Cost:
    # A self-hosted model has no bill: its 0 means that nobody wrote one.
    billed = None if run.self_hosted else run.total_cost_usd
    if run.cost_usd is None or run.cost_basis is None:
        return Cost(reported_usd=billed)
    # A figure that is the agent's own sum was not metered by anybody, whatever the source calls it.
    own = billed is not None and abs(billed - run.cost_usd) < _A_CENTS_HUNDREDTH
    metered: Basis = "reported" if own else "metered"
    return Cost(
        amount_usd=run.cost_usd,
        basis=metered if run.cost_basis == "metered" else "hardware",
        status="complete",
        reported_usd=billed,
        note=f"on {imported.hosting_instance}" if imported.hosting_instance else "",
        source=f"imported from {imported.file}",
    )


def _usage(run: PublishedRun) -> UsageBlock:
    usage = _buckets(run)
    if usage.total is None:
        return UsageBlock()
    report = UsageReport(usage=usage, completeness="lower_bound" if run.is_error else "complete")
    return UsageBlock(headline=report, source="reported", reported=report)


def _buckets(run: PublishedRun) -> Usage:
    if not run.self_hosted:
        return Usage(
            fresh_input=run.input_tokens,
            cache_read=run.cache_read_tokens,
            cache_write=run.cache_write_tokens,
            output=run.output_tokens,
        )
    # The server's cache has no writes that anybody pays for: its printed count is of the prompt tokens that were
    # computed, which are the fresh ones. The hits are counted for the whole server, so that they can be too many.
    read = run.cache_read_tokens
    if run.input_tokens is None:
        return Usage(cache_read=read, output=run.output_tokens)
    within = None if read is None else min(read, run.input_tokens)
    return Usage(fresh_input=run.input_tokens - (within or 0), cache_read=within, output=run.output_tokens)


def _findings(run: PublishedRun) -> Iterator[Finding]:
    if run.is_error:
        message = "the source says that the run ended in an error, and not whose"
        yield Finding(code="imported_error", severity="warning", message=message)
    if run.failed and run.task_score:
        message = f"the source says failed, and gives {run.task_score:g} points: a trial that failed has no score"
        yield Finding(code="imported_score", severity="warning", message=message)
    read, sent = run.cache_read_tokens, run.input_tokens
    if run.self_hosted and read is not None and sent is not None and read > sent:
        message = f"{read:,} tokens from the cache of {sent:,} sent: the server counted others' too; taken as {sent:,}"
        yield Finding(code="usage_cache_exceeds_input", severity="warning", message=message)
    total = _buckets(run).total
    if total is not None and run.total_tokens is not None and total != run.total_tokens:
        message = f"the buckets come to {total:,} tokens, the source says {run.total_tokens:,}"
        yield Finding(code="usage_total_differs", severity="warning", message=message)
    if run.failed == (run.artifacts_produced == run.artifacts_expected):
        what = f"{run.artifacts_produced} of {run.artifacts_expected} artifacts"
        message = f"the source says {'failed' if run.failed else 'not failed'} with {what}, and does not name them"
        yield Finding(code="imported_artifacts", severity="warning", message=message)
