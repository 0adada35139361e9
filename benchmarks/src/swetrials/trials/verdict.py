"""Deciding how an attempt ended, from its process, its stream, its files and its route."""

from collections.abc import Collection
from dataclasses import dataclass

from swetrials.agents import failures
from swetrials.agents.events import Tally
from swetrials.records.metrics import EXPECTED_ARTIFACTS
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.workspace.processes import Ended

_DISK_FULL = "No space left on device"


@dataclass(frozen=True)
class Seen:
    """What an independent witness saw of an attempt: requests, and the input tokens that their answers told."""

    requests: int
    input: int | None


def decide(tally: Tally, ended: Ended, produced: Collection[str], seen: Seen | None, stderr_tail: str) -> Outcome:
    """Return the outcome of an attempt. The agent's own last word comes first, then why it was stopped.

    Args:
        tally: what the stream came to.
        ended: how the process group ended.
        produced: the artifacts that are there and not empty.
        seen: what reached the endpoint that was asked for; ``None``: nobody counted.
        stderr_tail: the end of the agent's standard error, for the detail of a crash.
    """
    if ended.cause == "cancelled":
        return Outcome.of(OutcomeKind.INTERRUPTED, "stopped before it had finished")
    if ended.cause == "budget":
        return Outcome.of(OutcomeKind.BUDGET_SPENT, "stopped: the run's max_budget_usd is spent")
    if tally.end is None:
        return _without_a_last_word(tally, ended, stderr_tail)
    if tally.end.outcome.kind is OutcomeKind.EMPTY_SUCCESS and seen is not None and seen.requests and not seen.input:
        # A model that has nothing to say has read its prompt all the same.
        return Outcome.of(
            OutcomeKind.PROVIDER_ERROR, "the answers were empty and without any input tokens: no model gave them"
        )
    if tally.end.outcome.kind is not OutcomeKind.COMPLETED:
        return tally.end.outcome
    if seen is not None and seen.requests == 0:
        return Outcome.of(OutcomeKind.ROUTE_NOT_USED, "the agent reports success, yet no request reached the endpoint")
    missing = [name for name in EXPECTED_ARTIFACTS if name not in produced]
    if missing:
        return Outcome.of(OutcomeKind.INCOMPLETE_ARTIFACTS, f"missing: {', '.join(missing)}")
    return tally.end.outcome


def _without_a_last_word(tally: Tally, ended: Ended, stderr_tail: str) -> Outcome:
    limits = {"wall_limit": OutcomeKind.TIMED_OUT, "idle_limit": OutcomeKind.IDLE}
    if ended.cause in limits:
        stopped = f"stopped after {ended.wall_seconds:.0f} s"
        if (retry := tally.pending_retry) is not None:
            # Time ran out while the agent waited to repeat a failed request: the failure is the story.
            failed = failures.failure(retry.status, f"{retry.reason} (status {retry.status})")
            return failed.model_copy(update={"detail": f"{failed.detail}; {stopped} while waiting to try again"})
        silent = " without any output" if ended.cause == "idle_limit" else ", its wall limit"
        return Outcome.of(limits[ended.cause], stopped + silent)
    if _DISK_FULL in stderr_tail:
        return Outcome.of(OutcomeKind.DISK_FULL, stderr_tail[-300:])
    detail = f"exit code {ended.exit_code} without a final event"
    if stderr_tail:
        detail += f": {stderr_tail[-300:]}"
    return Outcome.of(OutcomeKind.AGENT_CRASHED, detail)


def missing_after_design(produced: Collection[str], design: Collection[str]) -> tuple[str, ...]:
    """Return what a top-up would ask for: nothing unless every design document is there and something else is not."""
    if any(name not in produced for name in design):
        return ()
    return tuple(name for name in EXPECTED_ARTIFACTS if name not in produced)
