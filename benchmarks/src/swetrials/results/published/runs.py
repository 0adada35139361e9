"""From rows of a CSV that somebody else published to records of trials.

What the source does not tell is ``None``. What it tells in another convention is converted, and the row stays in the
record as printed.
"""

from collections.abc import Iterator
from pathlib import Path

from swetrials.records.cost import Basis, Cost
from swetrials.records.evaluation import RubricEvaluation, UnitScore, task_score_of
from swetrials.records.metrics import Finding, HostingRecord
from swetrials.records.published_run import Imported, PublishedRun
from swetrials.records.record import safe_path_part
from swetrials.records.slug import model_slug
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.results.published.source_trial import Defaults, ImportedTrial, SourceTrial, records_of
from swetrials.store.csv_source import CsvRow, CsvSource, read_csv
from swetrials.store.problems import DocumentError, Problem

_A_CENTS_HUNDREDTH = 0.0001

__all__ = ["Defaults", "ImportedTrial", "read_published_runs"]


def read_published_runs(path: Path, defaults: Defaults) -> list[ImportedTrial]:
    """Return the trials of a CSV of published figures, in its order. The same file gives the same records.

    Raises:
        DocumentError: the file cannot be used; one line per fault, with line and column.
    """
    source = read_csv(path, PublishedRun)
    return records_of([_trial(source, row, defaults) for row in source.rows])


def _trial(source: CsvSource[PublishedRun], row: CsvRow[PublishedRun], defaults: Defaults) -> SourceTrial:
    run = row.record
    try:
        safe_path_part(model_slug(run.model))
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
    return SourceTrial(
        model=run.model,
        names=(run.agent or defaults.agent, run.skill or defaults.skill, run.scope or defaults.scope),
        provider=run.provider,
        task=run.task,
        imported=imported,
        usage=_usage(run),
        cost=_cost(run, imported),
        rubric=_rubric(run),
        failed=run.failed,
        is_error=run.is_error,
        ref=run.ref,
        complexity=run.complexity,
        produced=run.artifacts_produced,
        expected=run.artifacts_expected,
        latency_seconds=run.latency_seconds,
        num_turns=run.num_turns,
        hosting=HostingRecord(instance_type=imported.hosting_instance),
        findings=tuple(_findings(run)),
    )


def _rubric(run: PublishedRun) -> RubricEvaluation:
    if run.units is None:
        return RubricEvaluation(status="unscored", reason="the source gives no score")
    scores = {unit: UnitScore(published_total=total) for unit, total in run.units.items()}
    mean = task_score_of(run.units.values())
    reason = "imported: the source gives the units' totals alone"
    return RubricEvaluation(status="scored", reason=reason, task_score=mean, scores=scores)


def _cost(run: PublishedRun, imported: Imported) -> Cost:
    # A self-hosted model has no bill: its 0 means that nobody wrote one.
    summed = None if run.self_hosted else run.total_cost_usd
    if run.cost_usd is None or run.cost_basis is None:
        return Cost(reported_usd=summed)
    # A figure that is the agent's own sum was not metered by anybody, whatever the source calls it.
    own = summed is not None and abs(summed - run.cost_usd) < _A_CENTS_HUNDREDTH
    metered: Basis = "reported" if own else "metered"
    return Cost(
        amount_usd=run.cost_usd,
        basis=metered if run.cost_basis == "metered" else "hardware",
        status="complete",
        reported_usd=summed,
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
