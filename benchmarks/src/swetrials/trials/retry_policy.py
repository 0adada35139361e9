"""Whether an attempt is followed by another one: for what is missing, or because its failure may pass."""

from collections.abc import Sequence
from dataclasses import replace

from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import DESIGN_DOCUMENTS, AttemptRecord
from swetrials.records.outcome import OutcomeKind
from swetrials.trials.attempt import LOST, Attempt
from swetrials.trials.run_context import Order

MOST_LOSSES = 3
"""How many machines a trial may lose: one that is lost each time may be what kills them."""

_MAY_PASS = {OutcomeKind.RATE_LIMITED, OutcomeKind.PROVIDER_ERROR}

_DESIGN = frozenset(DESIGN_DOCUMENTS)

_STARTS = {OutcomeKind.AGENT_CRASHED, OutcomeKind.IDLE}
# Without a single request, these are a start that failed.


def next_order(config: RunnerConfig, order: Order, attempts: Sequence[Attempt]) -> Order | None:
    """Return what to do after the last of a trial's attempts; ``None``: nothing more.

    The agent repeats requests by itself, for it keeps the conversation (``request_retries``). Here whole attempts are
    repeated, from a fresh checkout, and only after failures that neither model nor agent answer for and that may
    pass (``max_retries``). A top-up that failed is repeated as one. An attempt whose machine was lost is made again
    whatever the configuration says: it is neither a retry nor a top-up, but still to be made.

    Args:
        config: how often.
        order: that of the last attempt.
        attempts: all of the trial's so far.
    """
    last = attempts[-1]
    lost = sum(attempt.record.ended_by == LOST for attempt in attempts)
    if last.record.ended_by == LOST:
        return replace(order, number=order.number + 1) if lost < MOST_LOSSES else None
    done = [attempt.record.reason for attempt in attempts if attempt.record.ended_by != LOST]
    if may_pass(last.record) and done.count("retry") < config.max_retries:
        return replace(order, number=order.number + 1, reason="retry")
    if (missing := missing_after_design(last.record)) and done.count("topup") < config.max_topups:
        return replace(order, number=order.number + 1, reason="topup", only=missing, earlier=last.artifacts)
    return None


def missing_after_design(record: AttemptRecord) -> tuple[str, ...]:
    """Return what a top-up would ask for: nothing unless the design is there and something else is not.

    Where a skill asks for no design, there is nothing to top up: another attempt would be one more try.
    """
    missing = record.outcome.missing
    begun = _DESIGN.intersection(record.artifacts_produced) and not _DESIGN.intersection(missing)
    return missing if begun else ()


def may_pass(record: AttemptRecord) -> bool:
    """Whether the same attempt may well end otherwise a little later, through no doing of model or agent."""
    if record.outcome.kind in _STARTS:
        return _requests(record) == 0
    return record.outcome.kind in _MAY_PASS


def _requests(record: AttemptRecord) -> int | None:
    if record.requests is not None:
        return record.requests.count
    return record.usage.served.requests if record.usage.served is not None else None
