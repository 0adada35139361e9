"""Building ``metrics.json`` from a trial's attempts, at any point of its life."""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from swetrials import __version__
from swetrials.providers.base import hosting_record
from swetrials.records.cost import Cost
from swetrials.records.metrics import AttemptRecord, Finding, Metrics, Provenance, TimeSplit, TrialIdentity
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.slug import model_slug
from swetrials.records.usage import UsageBlock
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import sha256_of
from swetrials.trials.attempt import LOST, Attempt
from swetrials.trials.crew import Crew
from swetrials.trials.plan import Trial, prompt_sha256
from swetrials.trials.witnesses import disagreements, joined


@dataclass
class Ledger:
    """A trial under way: its identity, and the attempts made so far."""

    crew: Crew
    dataset: LoadedDataset
    trial: Trial
    planned_at: datetime
    started_at: datetime
    attempts: list[Attempt] = field(default_factory=list)
    commit: str | None = None
    failure: Outcome | None = None


def record_of(ledger: Ledger, ended: datetime | None) -> Metrics:
    """Build the record of a trial as it stands: before its end, after it, or cut short."""
    crew, trial, attempts = ledger.crew, ledger.trial, [attempt.record for attempt in ledger.attempts]
    config, task = crew.config, trial.task
    last = attempts[-1] if attempts else None
    outcome = ledger.failure or (last.outcome if last and ended else _stopped(ended))
    usage = joined([a.usage for a in attempts])
    tokens = usage.headline.usage
    cost = _total([a.cost for a in attempts])
    time = _time(ledger, attempts)
    return Metrics(
        task=task.id,
        repo=task.repo,
        ref=task.ref,
        complexity=task.complexity,
        tags=task.tags,
        model=config.model,
        model_slug=model_slug(config.model),
        agent=crew.agent.folder,
        skill=config.skill,
        provider=config.provider,
        endpoint=config.endpoint,
        aws_region=config.aws_region,
        serving=crew.provider.serving,
        hosting=hosting_record(config, crew.hosting),
        artifacts_produced=last.artifacts_produced if last else (),
        input_tokens=tokens.fresh_input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_creation_tokens=tokens.cache_write,
        latency_seconds=time.wall_seconds,
        num_turns=sum(a.num_turns or 0 for a in attempts) if attempts else None,
        total_cost_usd=cost.amount_usd,
        is_error=outcome.kind is not OutcomeKind.COMPLETED,
        result_subtype=last.result_subtype if last else None,
        error=outcome.detail or None if outcome.kind is not OutcomeKind.COMPLETED else None,
        api_error_status=last.api_error_status if last else None,
        session_id=last.session_id if last else None,
        run_started_at=ledger.started_at.isoformat(),
        run_ended_at=ended.isoformat() if ended else None,
        generation_tokens_per_sec=_rate(tokens.output, time.api_seconds),
        vllm_prometheus=last.vllm_prometheus if last else None,
        trial=_identity(ledger),
        usage=usage,
        cost=cost,
        cost_winning_attempt=last.cost if last else Cost(),
        time=time,
        outcome=outcome,
        attempts=tuple(attempts),
        provenance=_provenance(ledger),
        findings=tuple(_findings(attempts, usage)),
    )


def _time(ledger: Ledger, attempts: Sequence[AttemptRecord]) -> TimeSplit:
    before_the_first = (ledger.started_at - ledger.planned_at).total_seconds()
    return TimeSplit(
        wall_seconds=_known_sum(a.time.wall_seconds for a in attempts),
        api_seconds=_known_sum(a.time.api_seconds for a in attempts),
        waiting_seconds=_known_sum(a.time.waiting_seconds for a in attempts),
        queue_seconds=_known_sum([before_the_first, *(a.time.queue_seconds for a in attempts)]),
    )


def _rate(tokens: int | None, seconds: float | None) -> float | None:
    return round(tokens / seconds, 2) if tokens and seconds else None


def _stopped(ended: datetime | None) -> Outcome:
    detail = "stopped before an attempt had begun" if ended else "the harness has not written the end of this trial"
    return Outcome.of(OutcomeKind.INTERRUPTED, detail)


def _identity(ledger: Ledger) -> TrialIdentity:
    trial, dataset = ledger.trial, ledger.dataset
    stamp = ledger.started_at.strftime("%Y%m%dT%H%M%S.%fZ")
    return TrialIdentity(
        id=f"{trial.label}@{stamp}",
        repeat=trial.repeat,
        scope=trial.scope,
        dataset=dataset.dataset.name,
        dataset_sha256=dataset.sha256,
        task_sha256=dataset.task_sha256(trial.task),
        rehearsal=ledger.crew.config.provider == "rehearsal",
    )


def _provenance(ledger: Ledger) -> Provenance:
    crew = ledger.crew
    return Provenance(
        harness_version=__version__,
        agent_version=crew.installed.version,
        skill_sha256=sha256_of(crew.skill.text),
        prompt_sha256=prompt_sha256(ledger.trial.task),
        commit=ledger.commit,
        sandbox=crew.sandbox.name,
        permission_mode=crew.config.permission_mode,
        limits=crew.limits,
        python_version=platform.python_version(),
        platform=platform.platform(),
    )


def _total(costs: list[Cost]) -> Cost:
    total: Cost | None = None
    for cost in costs:
        total = cost if total is None else total + cost
    return total or Cost()


def _known_sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 3) if known else None


def _findings(attempts: Sequence[AttemptRecord], usage: UsageBlock) -> list[Finding]:
    findings = [finding for attempt in attempts for finding in attempt.findings]
    for earlier, attempt in pairwise(attempts):
        if earlier.ended_by == LOST:
            message = f"attempt {earlier.number} and its tokens since the last news of it are lost: {earlier.machine}"
            findings.append(Finding(code="machine_lost", severity="warning", message=message))
        elif attempt.reason == "topup":
            asked = earlier.outcome.detail.removeprefix("missing: ")
            findings.append(Finding(code="topped_up", severity="info", message=f"asked again for: {asked}"))
        else:
            message = f"attempt {earlier.number} ended as {earlier.outcome.kind}, and another was made"
            findings.append(Finding(code="retried", severity="info", message=message))
    return [*findings, *disagreements(usage)]
