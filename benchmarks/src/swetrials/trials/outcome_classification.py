"""Deciding how an attempt ended, from its process, its stream, its files and its route."""

import signal
from collections.abc import Sequence

from swetrials.agents import failures
from swetrials.agents.events import Tally
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.trials.seen import Seen
from swetrials.workspace.processes import Ended

_DISK_FULL = "No space left on device"


_KILLED = frozenset({-signal.SIGKILL, 128 + signal.SIGKILL})
# As the kernel tells it of a child, and as a shell or a sandbox in between does.

_OF_A_CALL = frozenset(
    {
        OutcomeKind.COMPLETED,
        OutcomeKind.EMPTY_SUCCESS,
        OutcomeKind.OUTPUT_LIMIT,
        OutcomeKind.REFUSED,
        OutcomeKind.CONTEXT_OVERFLOW,
        OutcomeKind.RATE_LIMITED,
        OutcomeKind.PROVIDER_ERROR,
        OutcomeKind.AUTH_FAILED,
    }
)
# Endings that an agent cannot come to without having asked a model.

_FAILED_CALL = frozenset(
    {OutcomeKind.CONTEXT_OVERFLOW, OutcomeKind.RATE_LIMITED, OutcomeKind.PROVIDER_ERROR, OutcomeKind.AUTH_FAILED}
)
# Endings that are a call's, and which its status names better than an agent's words.

_NOT_AS_ASKED = frozenset({400, 413, 422})


def decide(
    tally: Tally,
    ended: Ended,
    missing: Sequence[str],
    seen: Seen | None,
    stderr_tail: str,
    idle_seconds: float | None = None,
    *,
    ran_out_of_memory: bool = False,
) -> Outcome:
    """Return the outcome of an attempt, by the first of these rules that fits.

    1. Stopped by a person or by the budget: that.
    2. The agent's own last word, held against the wire: an ending that needs a model, and no request reached the
       endpoint, is ``route_not_used``; one that is a failed call is named by the status of the last call on the wire,
       whatever the agent's words; an empty success for which no prompt was read is ``provider_error``.
    3. A limit, without a last word: no request reached the endpoint: ``route_not_used`` where the stream shows that a
       model was asked all the same, else ``idle``, for an agent that is slow to start and one that hangs look alike.
       The agent was waiting to repeat a failed call: that failure. No call was ever answered, or for half of the limit
       or longer nothing came of the last one's answer, or none of several got a whole one: ``provider_error``.
       Otherwise ``timed_out`` or ``idle``.
    4. An exit without a last word: a full disk; a KILL that is not the harness's while the kernel killed for want of
       memory: ``out_of_memory``; a call that failed where none was ever answered: that failure; otherwise
       ``agent_crashed``.
    5. A success without all artifacts that the skill asks for is ``incomplete_artifacts``.

    Args:
        tally: what the stream came to.
        ended: how the process group ended.
        missing: the artifacts that the skill asks for and that are not there, or empty.
        seen: what reached the endpoint that was asked for; ``None``: nobody counted.
        stderr_tail: the end of the agent's standard error, for the detail of a crash.
        idle_seconds: the limit of silence, where there was one.
        ran_out_of_memory: whether the kernel has killed a process for want of memory while the agent ran.
    """
    if ended.cause == "cancelled":
        return Outcome.of(OutcomeKind.INTERRUPTED, "stopped before it had finished")
    if ended.cause == "budget":
        return Outcome.of(OutcomeKind.BUDGET_SPENT, "stopped: the run's max_budget_usd is spent")
    if tally.end is not None:
        outcome = _last_word(tally.end.outcome, seen)
    elif ended.cause in {"wall_limit", "idle_limit"}:
        outcome = _at_a_limit(tally, ended, seen, idle_seconds)
    else:
        outcome = _crash(ended, seen, stderr_tail, ran_out_of_memory=ran_out_of_memory)
    if outcome.kind is OutcomeKind.COMPLETED and missing:
        detail = f"missing: {', '.join(missing)}"
        return Outcome.of(OutcomeKind.INCOMPLETE_ARTIFACTS, detail).model_copy(update={"missing": tuple(missing)})
    return outcome


def _last_word(said: Outcome, seen: Seen | None) -> Outcome:
    if seen is None or said.kind not in _OF_A_CALL:
        return said
    if not seen.requests:
        ending = "success" if said.kind is OutcomeKind.COMPLETED else f"{said.kind} ({said.detail})"
        return Outcome.of(
            OutcomeKind.ROUTE_NOT_USED, f"the agent reports {ending}, yet no request reached the endpoint"
        )
    if said.kind is OutcomeKind.EMPTY_SUCCESS and not seen.input:
        # A model that has nothing to say has read its prompt all the same.
        return Outcome.of(
            OutcomeKind.PROVIDER_ERROR, "the answers were empty and without any input tokens: no model gave them"
        )
    overflow_stands = said.kind is OutcomeKind.CONTEXT_OVERFLOW and seen.status in _NOT_AS_ASKED
    if said.kind in _FAILED_CALL and seen.status is not None and not overflow_stands:
        return _failed_call(seen).model_copy(update={"detail": said.detail})
    return said


def _failed_call(seen: Seen) -> Outcome:
    """Name the failure of the last call by what the wire tells of it."""
    message = seen.last.error if seen.last is not None else ""
    told = f"status {seen.status}" if seen.status is not None else "no whole answer"
    outcome = failures.failure(seen.status, message)
    return outcome.model_copy(update={"detail": f"the last call failed ({told}){': ' if message else ''}{message}"})


def _at_a_limit(tally: Tally, ended: Ended, seen: Seen | None, idle_seconds: float | None) -> Outcome:
    stopped = f"stopped after {ended.wall_seconds:.0f} s"
    if seen is not None and not seen.requests:
        if _asked_a_model(tally):
            return Outcome.of(OutcomeKind.ROUTE_NOT_USED, f"no request reached the endpoint; {stopped}")
        return Outcome.of(OutcomeKind.IDLE, f"{stopped}, before the agent had asked the model anything")
    # Time ran out while the agent waited to repeat a failed request: the failure is the story.
    waiting = f"{stopped} while waiting to try again"
    if seen is not None and seen.status is not None:
        failed = _failed_call(seen)
        return failed.model_copy(update={"detail": f"{failed.detail}; {waiting}"})
    if (retry := tally.pending_retry) is not None:
        failed = failures.failure(retry.status, f"{retry.reason} (status {retry.status})")
        return failed.model_copy(update={"detail": f"{failed.detail}; {waiting}"})
    idle = ended.cause == "idle_limit"
    limit_seconds = idle_seconds if idle and idle_seconds is not None else ended.wall_seconds
    if seen is not None and seen.failing_since is not None:
        failing_seconds = ended.wall_seconds - seen.failing_since
        if seen.nothing_came or failing_seconds >= limit_seconds / 2:
            detail = f"the endpoint gave no whole answer in the last {failing_seconds:.0f} s; {stopped}"
            return Outcome.of(OutcomeKind.PROVIDER_ERROR, detail)
    if idle:
        return Outcome.of(OutcomeKind.IDLE, f"{stopped} without any output")
    return Outcome.of(OutcomeKind.TIMED_OUT, f"{stopped}, its wall limit")


def _asked_a_model(tally: Tally) -> bool:
    """Whether a stream shows a model's work, or a call that failed."""
    return bool(tally.responses.count or tally.tools or tally.last_text or tally.retries)


def _crash(ended: Ended, seen: Seen | None, stderr_tail: str, *, ran_out_of_memory: bool) -> Outcome:
    if _DISK_FULL in stderr_tail:
        return Outcome.of(OutcomeKind.DISK_FULL, stderr_tail[-300:])
    if ran_out_of_memory and ended.cause == "exited" and ended.exit_code in _KILLED:
        # A bound and no proof: the kernel's counters do not tell which process it was.
        told = f"exit code {ended.exit_code}: killed, not by the harness, while the kernel killed for want of memory"
        return Outcome.of(OutcomeKind.OUT_OF_MEMORY, told)
    detail = f"exit code {ended.exit_code} without a final event"
    if stderr_tail:
        detail += f": {stderr_tail[-300:]}"
    if seen is not None and seen.answered == 0 and seen.unanswered:
        failed = _failed_call(seen)
        return failed.model_copy(update={"detail": f"{failed.detail}; {detail}"})
    return Outcome.of(OutcomeKind.AGENT_CRASHED, detail)
