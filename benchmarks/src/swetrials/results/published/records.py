"""From JSON records of another harness of this kind to trials in this project's terms.

The rules, where the two differ:

- **Tokens** come from the top of the record, which its makers repair in place; a key that is not there is taken from
  the block ``metrics``. An input and an output of 0 are not told: a trial that did anything had some.
- **The cache.** On Bedrock and other paid paths the cached tokens stand beside the input. On a self-hosted model the
  count is the server's, of the prompt that the agent counted: inside the input. ``sources`` says which it is; a
  summary's row has none, and there its ``total_tokens`` does. The agents codex and strands are told beside it
  everywhere.
- **Money.** ``total_cost_usd`` is the sum of the agent's CLI (``claude_api.total_cost_usd``), whatever it is called:
  ``reported``. On a self-hosted model it is its vendor's price list, and no cost of this trial.
- **Failed** is what a summary's row says. A record alone says it by a score of 0, or by an error or missing artifacts
  without any score.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from swetrials.agents import AGENTS
from swetrials.records.cost import SELF_HOSTED, Cost
from swetrials.records.evaluation import (
    UNITS,
    Grounding,
    JudgeBlock,
    RubricEvaluation,
    UnitScore,
    task_score_of,
)
from swetrials.records.metrics import Finding, HostingRecord
from swetrials.records.published_record import (
    PublishedBlock,
    PublishedEvaluation,
    PublishedIdentity,
    PublishedJudge,
    PublishedMetrics,
    PublishedOutcome,
    PublishedRow,
    PublishedSummary,
    PublishedUnit,
)
from swetrials.records.published_run import TASK_SCORE_ROUNDING, Imported
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.results.published.source_trial import UNKNOWN_TIER, Defaults, SourceTrial

_BESIDE_EVERYWHERE = frozenset({"codex", "strands"})
_SERVER_COUNT = "vllm_prometheus"
_EXACT_REPAIR = "exact"


@dataclass(frozen=True)
class RecordOrigin:
    """Where a record was found: the name of tree or file, the place in it, its digest, and the names of folders."""

    file: str
    place: str
    sha256: str
    scope: str | None
    skill: str | None = None


def trial_of_metrics(
    told: PublishedMetrics,
    evaluation: PublishedEvaluation | None,
    raw: Mapping[str, Any],
    origin: RecordOrigin,
    defaults: Defaults,
) -> SourceTrial:
    """Return what a trial's own record tells, with the scores of its ``eval.json`` or, without one, of its copy.

    Args:
        told: ``metrics.json``.
        evaluation: ``eval.json`` beside it.
        raw: the two files as they are, to be kept.
        origin: where they are.
        defaults: for what they do not say.
    """
    scores = evaluation or told.evaluation or PublishedEvaluation()
    whole = None in (told.artifacts_produced, told.artifacts_expected) or (
        told.artifacts_produced == told.artifacts_expected
    )
    failed = not scores.task_score if scores.task_score is not None else bool(told.is_error) or not whole
    figures = _figures(told, told.block)
    common = _common(told, told, figures, told.block.sources, scores, raw, origin, defaults, failed=failed)
    warned = told.token_accounting_warning
    message = f"the source warns of its count of tokens: {str(warned)[:200]}"
    warning = (Finding(code="usage_doubtful", severity="warning", message=message),) if warned else ()
    return SourceTrial(
        **common.arguments,
        ref=told.ref or "",
        repo=told.repo,
        tags=told.tags or (),
        endpoint=told.endpoint,
        aws_region=told.aws_region,
        started_at=told.run_started_at,
        ended_at=told.run_ended_at,
        session_id=told.session_id,
        findings=(*common.findings, *warning),
    )


def trial_of_row(
    row: PublishedRow, summary: PublishedSummary, raw: Mapping[str, Any], origin: RecordOrigin, defaults: Defaults
) -> SourceTrial:
    """Return what a row of a run's summary tells.

    Args:
        row: the row.
        summary: the summary around it.
        raw: the row as it is, with what the summary says of all rows, to be kept.
        origin: where it is.
        defaults: for what neither says.
    """
    scores = PublishedEvaluation(scores=row.eval_scores, task_score=row.task_score, judge=summary.judge)
    failed = row.failed if row.failed is not None else not row.task_score
    common = _common(summary, row, row.model_dump(), {}, scores, raw, origin, defaults, failed=failed)
    return SourceTrial(**common.arguments, ref=row.ref or summary.ref or "", findings=common.findings)


@dataclass(frozen=True)
class _Common:
    arguments: dict[str, Any]
    findings: tuple[Finding, ...]


def _common(
    run: PublishedIdentity,
    trial: PublishedOutcome,
    figures: Mapping[str, Any],
    sources: Mapping[str, str],
    scores: PublishedEvaluation,
    raw: Mapping[str, Any],
    origin: RecordOrigin,
    defaults: Defaults,
    *,
    failed: bool,
) -> _Common:
    self_hosted = run.provider in SELF_HOSTED
    serving = run.serving
    agent = run.agent or defaults.agent
    counted = _Counted(figures, sources, agent, self_hosted=self_hosted)
    rubric, doubts = _rubric(scores)
    hosting = HostingRecord(
        instance_type=serving.instance_type if serving and self_hosted else None,
        tensor_parallel_size=serving.tensor_parallel_size if serving else None,
        precision=serving.precision if serving else None,
        context_window=serving.context_window if serving else None,
    )
    imported = Imported(
        file=origin.file,
        sha256=origin.sha256,
        place=origin.place,
        source=defaults.source,
        hosting_instance=hosting.instance_type,
        agent_invocations=trial.agent_invocations,
        record=dict(raw),
    )
    arguments: dict[str, Any] = {
        "model": run.model,
        "names": (
            AGENTS[agent].folder if agent in AGENTS else agent,
            run.skill or origin.skill or defaults.skill,
            run.scope or origin.scope or defaults.scope,
        ),
        "provider": run.provider,
        "task": trial.task,
        "imported": imported,
        "usage": _usage(counted, trial),
        "cost": _cost(figures.get("total_cost_usd"), sources, origin, trial, self_hosted=self_hosted),
        "rubric": rubric,
        "failed": failed,
        "is_error": bool(trial.is_error),
        "complexity": trial.complexity or UNKNOWN_TIER,
        "produced": trial.artifacts_produced if trial.artifacts_expected is not None else None,
        "expected": trial.artifacts_expected,
        "latency_seconds": figures.get("latency_seconds"),
        "num_turns": figures.get("num_turns") or None,
        "result_subtype": trial.result_subtype,
        "hosting": hosting,
    }
    findings = [*counted.findings(), *_repair(trial), *doubts]
    if failed and scores.task_score:
        message = f"the source says failed, and gives {scores.task_score:g} points: a trial that failed has no score"
        findings.append(Finding(code="imported_score", severity="warning", message=message))
    return _Common(arguments, tuple(findings))


def _figures(top: PublishedMetrics, block: PublishedBlock) -> dict[str, Any]:
    """Return each figure from the top of the record; one whose key is not there, from the block."""
    names = set(PublishedBlock.model_fields) - {"sources"}
    figures = {name: getattr(block, name) for name in names if name in block.model_fields_set}
    figures |= {name: getattr(top, name) for name in names if name in top.model_fields_set}
    # The two names of one count; the block's total is of before the repair, and its makers do not rely on it.
    if "cache_creation_tokens" in top.model_fields_set:
        figures["cache_write_tokens"] = top.cache_creation_tokens
    figures["total_tokens"] = top.total_tokens
    return figures


class _Counted:
    """The tokens of a trial, and how its source counts the cached ones."""

    def __init__(
        self, figures: Mapping[str, Any], sources: Mapping[str, str], agent: str, *, self_hosted: bool
    ) -> None:
        self.sent, self.output = figures.get("input_tokens"), figures.get("output_tokens")
        self.read, self.write = figures.get("cache_read_tokens"), figures.get("cache_write_tokens")
        self.total = figures.get("total_tokens")
        self.not_told = not self.sent and not self.output
        self.inside = self_hosted and self._is_inside(sources.get("cache_read_tokens"), agent)

    def _is_inside(self, source: str | None, agent: str) -> bool:
        if agent in _BESIDE_EVERYWHERE:
            return False
        if source is not None:
            return _SERVER_COUNT in source
        parts = (self.sent, self.output, self.read, self.write)
        return self.total is None or self.total != sum(part or 0 for part in parts)

    @property
    def usage(self) -> Usage:
        """The disjoint buckets."""
        if self.not_told:
            return Usage()
        output = self.output or None
        if not self.inside:
            return Usage(fresh_input=self.sent, cache_read=self.read, cache_write=self.write, output=output)
        if self.sent is None or self.read is None:
            # Of a known whole no part is known: any of it may have come from the cache.
            return Usage(cache_read=self.read, output=output, input_total=self.sent)
        within = min(self.read, self.sent)
        return Usage(fresh_input=self.sent - within, cache_read=within, output=output)

    @property
    def bounds(self) -> tuple[Usage, Usage] | None:
        """The least and the most of each bucket, where the parts of the prompt are not known."""
        usage = self.usage
        if usage.input_total is None:
            return None
        least = Usage(fresh_input=0, cache_read=0, output=usage.output)
        return least, Usage(fresh_input=self.sent, cache_read=self.sent, output=usage.output)

    @property
    def is_complete(self) -> bool:
        """Whether each bucket that there can be was told."""
        needed = {"fresh_input", "cache_read", "output"} | (set() if self.inside else {"cache_write"})
        return needed <= set(self.usage.known)

    def findings(self) -> Iterator[Finding]:
        """Give what a reader of the tokens has to know."""
        if self.not_told and (self.sent == 0 or self.output == 0):
            yield Finding(
                code="usage_not_told",
                severity="warning",
                message="the source says 0 tokens: its agent told none, and they are unknown",
            )
        elif self.output == 0:
            yield Finding(
                code="usage_not_told",
                severity="warning",
                message="the source says 0 output tokens: its agent told none",
            )
        if self.inside and self.read is not None and self.sent is not None and self.read > self.sent:
            message = f"{self.read:,} tokens from the cache of {self.sent:,} sent: the server counted others' too"
            yield Finding(
                code="usage_cache_exceeds_input", severity="warning", message=f"{message}; taken as {self.sent:,}"
            )
        total = self.usage.total
        if total is not None and self.total is not None and total != self.total:
            message = f"the buckets come to {total:,} tokens, the source says {self.total:,}"
            yield Finding(code="usage_total_differs", severity="warning", message=message)


def _usage(counted: _Counted, trial: PublishedOutcome) -> UsageBlock:
    usage = counted.usage
    if usage.total is None and usage.input_total is None:
        return UsageBlock()
    least, most = counted.bounds or (None, None)
    cut = bool(trial.is_error) or not counted.is_complete
    completeness = "unknown" if _is_estimate(trial) else "lower_bound" if cut else "complete"
    report = UsageReport.model_validate(
        {"usage": usage, "completeness": completeness, "at_least": least, "at_most": most}
    )
    return UsageBlock(headline=report, source="reported", reported=report)


def _repair(trial: PublishedOutcome) -> Iterator[Finding]:
    if _is_estimate(trial):
        yield Finding(
            code="usage_estimated",
            severity="warning",
            message="the source lost tokens of this trial, and estimated them afterwards",
        )


def _is_estimate(trial: PublishedOutcome) -> bool:
    """Whether the source's repair was anything but a recount; it names its method, in a row or in a block."""
    repair = trial.token_accounting_repair
    method = repair.get("method") if isinstance(repair, dict) else repair
    return bool(repair) and not str(method).startswith(_EXACT_REPAIR)


def _cost(
    amount: float | None,
    sources: Mapping[str, str],
    origin: RecordOrigin,
    trial: PublishedOutcome,
    *,
    self_hosted: bool,
) -> Cost:
    if not amount:  # 0 is what a CLI says of a model that it has no price for
        return Cost()
    if self_hosted:
        return Cost(reported_usd=amount, note="the CLI's sum is by its vendor's prices, and no cost of this model")
    whose = sources.get("total_cost_usd") or "total_cost_usd, the CLI's own sum"
    return Cost(
        amount_usd=amount,
        basis="reported",
        status="lower_bound" if trial.is_error else "complete",
        reported_usd=amount,
        source=f"imported from {origin.file}: {whose}",
    )


def _rubric(told: PublishedEvaluation) -> tuple[RubricEvaluation, list[Finding]]:
    if not told.scores:
        reason = "the source gives no score"
        if told.task_score is not None:
            reason = f"the source gives a task score of {told.task_score:g}, and no units"
        return RubricEvaluation(status="unscored", reason=reason, judge=_judge(told.judge)), []
    if missing := [unit for unit in UNITS if unit not in told.scores]:
        reason = f"the source gives no score of {', '.join(missing)}"
        return RubricEvaluation(status="unscored", reason=reason, judge=_judge(told.judge)), []
    scores = {unit: _unit(told.scores[unit]) for unit in UNITS}
    mean = task_score_of(score.total for score in scores.values())
    findings = []
    if told.task_score is not None and abs(told.task_score - mean) > TASK_SCORE_ROUNDING:
        message = f"the source gives a task score of {told.task_score:g}, its units come to {mean:g}, which is taken"
        findings.append(Finding(code="imported_score", severity="warning", message=message))
    rubric = RubricEvaluation(
        status="scored",
        reason="imported",
        task_score=mean,
        scores=scores,
        verdict=told.verdict or "",
        judge=_judge(told.judge),
        evaluated_at=(told.judge.evaluated_at if told.judge else None) or "",
    )
    return rubric, findings


def _unit(told: PublishedUnit) -> UnitScore:
    criteria = {name: points for name, points in told.criteria.items() if points is not None}
    if len(criteria) == len(told.criteria) and told.total in {None, sum(criteria.values())}:
        return UnitScore(**criteria, notes=told.notes or "")
    # The total is what was published; criteria that do not come to it stay in the record as it was.
    return UnitScore(published_total=told.total, notes=told.notes or "")


def _judge(told: PublishedJudge | None) -> JudgeBlock | None:
    if told is None:
        return None
    return JudgeBlock(
        name=told.provider or "unknown",
        provider=told.provider or "unknown",
        model=told.model,
        reasoning_effort=told.reasoning_effort,
        ref=told.repo_ref,
        usage=_judge_usage(told),
        duration_seconds=told.duration_ms / 1000 if told.duration_ms is not None else None,
        grounding=Grounding(repo_grounded=bool(told.repo_grounded)),
    )


def _judge_usage(told: PublishedJudge) -> UsageReport:
    tokens = told.token_usage
    if tokens is None or tokens.input_tokens is None:
        return UsageReport()
    read, write = tokens.cached_input_tokens, tokens.cache_write_input_tokens
    fresh = tokens.input_tokens - (read or 0) - (write or 0)
    if read is None or fresh < 0:
        return UsageReport(usage=Usage(input_total=tokens.input_tokens, output=tokens.output_tokens))
    usage = Usage(fresh_input=fresh, cache_read=read, cache_write=write, output=tokens.output_tokens)
    return UsageReport(usage=usage, completeness="lower_bound" if None in (write, usage.output) else "complete")
