"""Building ``metrics.json`` from a trial's attempts, at any point of its life."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from swetrials import __version__
from swetrials.environments.base import sandbox_name
from swetrials.hosting.base import hosting_record
from swetrials.records.cost import Cost
from swetrials.records.known import known_sum
from swetrials.records.metrics import (
    AttemptRecord,
    Finding,
    Metrics,
    Provenance,
    TimeSplit,
    TrialIdentity,
)
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.slug import model_slug
from swetrials.records.usage import UsageBlock
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import sha256_of
from swetrials.trials.attempt import LOST, Attempt
from swetrials.trials.earlier import Earlier
from swetrials.trials.identity import given_sha256
from swetrials.trials.plan import Trial, prompt_sha256
from swetrials.trials.run_context import RunContext
from swetrials.trials.sealing_record import sealing_of
from swetrials.trials.usage_reconciliation import disagreements, joined

_DIGITS = 3  # of seconds


@dataclass
class TrialLedger:
    """A trial under way: its identity, what earlier sessions have left of it, and the attempts made so far."""

    context: RunContext
    dataset: LoadedDataset
    trial: Trial
    planned_at: datetime
    started_at: datetime
    earlier: Earlier
    attempts: list[Attempt] = field(default_factory=list)
    commit: str | None = None
    failure: Outcome | None = None

    @property
    def records(self) -> tuple[AttemptRecord, ...]:
        """All attempts that the trial ever had, by this session and by those before it."""
        return (*self.earlier.attempts, *(attempt.record for attempt in self.attempts))


def record_of(ledger: TrialLedger, ended: datetime | None) -> Metrics:
    """Build the record of a trial as it stands: before its end, after it, or cut short.

    Its sums are over all attempts that it ever had. How it ended is what the last attempt of this session says.
    """
    context, trial = ledger.context, ledger.trial
    config, task = context.config, trial.task
    last = ledger.attempts[-1].record if ledger.attempts else None
    outcome = ledger.failure or (last.outcome if last and ended else _stopped(ended))
    before_the_first = (ledger.started_at - ledger.planned_at).total_seconds()
    return Metrics(
        task=task.id,
        repo=task.repo,
        ref=task.ref,
        complexity=task.complexity,
        tags=task.tags,
        model=config.model,
        model_slug=model_slug(config.model),
        agent=context.agent.folder,
        skill=context.skill.name,
        provider=config.provider,
        endpoint=config.endpoint,
        aws_region=config.aws_region,
        serving=context.provider.serving,
        hosting=hosting_record(config, context.hosting),
        artifacts_produced=last.artifacts_produced if last else (),
        artifacts_expected=context.skill.artifacts,
        is_error=outcome.kind is not OutcomeKind.COMPLETED,
        result_subtype=last.result_subtype if last else None,
        error=outcome.detail or None if outcome.kind is not OutcomeKind.COMPLETED else None,
        api_error_status=last.api_error_status if last else None,
        session_id=last.session_id if last else None,
        run_started_at=ledger.started_at.isoformat(),
        run_ended_at=ended.isoformat() if ended else None,
        vllm_prometheus=last.vllm_prometheus if last else None,
        trial=_identity(ledger),
        spent_elsewhere_usd=ledger.earlier.elsewhere_usd,
        spent_elsewhere_is_lower_bound=ledger.earlier.elsewhere_is_lower_bound,
        cost_winning_attempt=last.cost if last else Cost(),
        outcome=outcome,
        provenance=_provenance(ledger),
        **sums_of(ledger.records, _waited([before_the_first], ledger.records)),
    )


def sums_of(attempts: Sequence[AttemptRecord], queue_seconds: float | None) -> dict[str, Any]:
    """Return the fields of a trial's record that are sums over its attempts, and the findings about them.

    Args:
        attempts: all of the trial's, in their order.
        queue_seconds: all that the trial waited for.
    """
    usage = joined([attempt.usage for attempt in attempts])
    tokens = usage.headline.usage
    cost = Cost.sum(attempt.cost for attempt in attempts)
    time = _time(attempts, queue_seconds)
    return {
        "input_tokens": tokens.fresh_input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_creation_tokens": tokens.cache_write,
        "latency_seconds": time.wall_seconds,
        "num_turns": known_sum(attempt.num_turns for attempt in attempts),
        "total_cost_usd": cost.amount_usd,
        "generation_tokens_per_sec": _rate(tokens.output, time.api_seconds),
        "usage": usage,
        "cost": cost,
        "time": time,
        "attempts": tuple(attempts),
        "environment": next((a.environment for a in reversed(attempts) if a.environment is not None), None),
        "sealing": sealing_of(attempts),
        "findings": tuple(_findings(attempts, usage)),
    }


def with_attempts(metrics: Metrics, more: Sequence[AttemptRecord]) -> Metrics:
    """Return a trial's record with further attempts, in the order of their numbers, and what they add to its sums."""
    attempts = sorted([*metrics.attempts, *more], key=lambda attempt: attempt.number)
    return metrics.model_copy(update=sums_of(attempts, _waited([metrics.time.queue_seconds], more)))


def _waited(before: Sequence[float | None], attempts: Sequence[AttemptRecord]) -> float | None:
    return known_sum([*before, *(attempt.time.queue_seconds for attempt in attempts)], _DIGITS)


def _time(attempts: Sequence[AttemptRecord], queue_seconds: float | None) -> TimeSplit:
    return TimeSplit(
        wall_seconds=known_sum((a.time.wall_seconds for a in attempts), _DIGITS),
        api_seconds=known_sum((a.time.api_seconds for a in attempts), _DIGITS),
        waiting_seconds=known_sum((a.time.waiting_seconds for a in attempts), _DIGITS),
        queue_seconds=queue_seconds,
    )


def _rate(tokens: int | None, seconds: float | None) -> float | None:
    return round(tokens / seconds, 2) if tokens and seconds else None


def _stopped(ended: datetime | None) -> Outcome:
    detail = "stopped before an attempt had begun" if ended else "the harness has not written the end of this trial"
    return Outcome.of(OutcomeKind.INTERRUPTED, detail)


def _identity(ledger: TrialLedger) -> TrialIdentity:
    trial, dataset = ledger.trial, ledger.dataset
    stamp = ledger.started_at.strftime("%Y%m%dT%H%M%S.%fZ")
    return TrialIdentity(
        id=f"{trial.label}@{stamp}",
        repeat=trial.repeat,
        scope=trial.scope,
        dataset=dataset.dataset.name,
        dataset_sha256=dataset.sha256,
        task_sha256=dataset.task_sha256(trial.task),
        given_sha256=_given(ledger),
        checked=trial.checked,
        rank_by=dataset.dataset.ranked_by,
        rehearsal=ledger.context.provider.scripted,
    )


def _given(ledger: TrialLedger) -> str | None:
    context, skill = ledger.context, ledger.context.skill
    if ledger.commit is None:
        return None
    return given_sha256(ledger.trial.task, ledger.commit, sha256_of(skill.text), skill.artifacts, context.limits)


def _provenance(ledger: TrialLedger) -> Provenance:
    context = ledger.context
    return Provenance(
        harness_version=__version__,
        agent_version=context.installed.version,
        skill_sha256=sha256_of(context.skill.text),
        prompt_sha256=prompt_sha256(ledger.trial.task, context.skill.artifacts),
        commit=ledger.commit,
        sandbox=_sandbox(ledger),
        runs_as_root=bool(context.place.environment.as_root),
        permission_mode=context.config.permission_mode,
        limits=context.limits,
        python_version=platform.python_version(),
        platform=platform.platform(),
    )


def _sandbox(ledger: TrialLedger) -> str:
    """Return what the last attempt ran in, which may have been on another machine; else what it would have been."""
    ran_in = next((one.environment for one in reversed(ledger.records) if one.environment is not None), None)
    return sandbox_name((ran_in or ledger.context.place.environment).kind)


def _findings(attempts: Sequence[AttemptRecord], usage: UsageBlock) -> list[Finding]:
    findings = [finding for attempt in attempts for finding in attempt.findings]
    for earlier, attempt in pairwise(attempts):
        if earlier.ended_by == LOST:
            message = f"attempt {earlier.number} and its tokens since the last news of it are lost: {earlier.machine}"
            findings.append(Finding(code="machine_lost", severity="warning", message=message))
        elif attempt.reason == "topup":
            asked = ", ".join(earlier.outcome.missing) or earlier.outcome.detail
            findings.append(Finding(code="topped_up", severity="info", message=f"asked again for: {asked}"))
        elif attempt.reason == "first":
            message = f"attempt {earlier.number} ended as {earlier.outcome.kind} in an earlier session; it is counted"
            findings.append(Finding(code="resumed", severity="info", message=message))
        else:
            message = f"attempt {earlier.number} ended as {earlier.outcome.kind}, and another was made"
            findings.append(Finding(code="retried", severity="info", message=message))
    return [*findings, *disagreements(usage)]
