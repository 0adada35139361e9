"""How an attempt ended: the agent's own last word first, then what stopped it."""

from datetime import UTC, datetime

import pytest

from swetrials.agents.events import End, Event, Notice, Retry, Session, Tally, Text, ToolCall
from swetrials.records.metrics import EXPECTED_ARTIFACTS
from swetrials.records.outcome import Blame, Outcome, OutcomeKind
from swetrials.records.requests import RequestRecord
from swetrials.trials.outcome_classification import decide
from swetrials.trials.seen import Seen
from swetrials.wire.meter.block import requests_block
from swetrials.workspace.processes import Cause, Ended

K = OutcomeKind
SUCCESS = End(Outcome.of(K.COMPLETED), subtype="success")
LIMITED = End(Outcome.of(K.RATE_LIMITED, "429"), is_error=True)
RETRY_429, RETRY_500 = Retry(3, 30.0, 429, "rate_limit"), Retry(3, 30.0, 500, "server_error")
DISK = "cp: error writing 'x': No space left on device"


def ended(cause: Cause, exit_code: int | None = 0) -> Ended:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Ended(exit_code, cause, 61.4, 0, moment, moment)


@pytest.mark.parametrize(
    ("cause", "end", "retry", "stderr", "kind"),
    [
        ("exited", SUCCESS, None, "", K.COMPLETED),
        ("grace", SUCCESS, None, "", K.COMPLETED),
        ("exited", SUCCESS, None, DISK, K.COMPLETED),
        ("cancelled", SUCCESS, None, "", K.INTERRUPTED),
        ("cancelled", None, RETRY_429, DISK, K.INTERRUPTED),
        ("exited", LIMITED, None, "", K.RATE_LIMITED),
        ("grace", LIMITED, None, "", K.RATE_LIMITED),
        ("exited", None, None, "", K.AGENT_CRASHED),
        ("exited", None, RETRY_429, "", K.AGENT_CRASHED),
        ("exited", None, None, DISK, K.DISK_FULL),
        ("wall_limit", None, None, "", K.TIMED_OUT),
        ("wall_limit", None, None, DISK, K.TIMED_OUT),
        ("idle_limit", None, None, "", K.IDLE),
        ("wall_limit", None, RETRY_429, "", K.RATE_LIMITED),
        ("idle_limit", None, RETRY_429, "", K.RATE_LIMITED),
        ("idle_limit", None, RETRY_500, "", K.PROVIDER_ERROR),
    ],
)
def test_cause_and_last_word(
    cause: Cause, end: End | None, retry: Retry | None, stderr: str, kind: OutcomeKind
) -> None:
    tally = Tally(end=end, pending_retry=retry)
    outcome = decide(tally, ended(cause), (), None, stderr)
    assert outcome.kind is kind
    assert (outcome.detail == "") == (kind is K.COMPLETED)


@pytest.mark.parametrize("name", EXPECTED_ARTIFACTS)
def test_a_success_without_one_of_the_artifacts_is_incomplete(name: str) -> None:
    outcome = decide(Tally(end=SUCCESS), ended("exited"), [name], None, "")
    assert (outcome.kind, outcome.blame, outcome.detail) == (K.INCOMPLETE_ARTIFACTS, Blame.MODEL, f"missing: {name}")


@pytest.mark.parametrize(
    ("seen", "kind"), [(None, K.COMPLETED), (Seen(1, None), K.COMPLETED), (Seen(0, None), K.ROUTE_NOT_USED)]
)
def test_a_success_that_no_request_stands_behind(seen: Seen | None, kind: OutcomeKind) -> None:
    assert decide(Tally(end=SUCCESS), ended("exited"), (), seen, "").kind is kind


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (None, K.EMPTY_SUCCESS),
        (Seen(1, 900), K.EMPTY_SUCCESS),
        (Seen(1, 0), K.PROVIDER_ERROR),
        (Seen(1, None), K.PROVIDER_ERROR),
    ],
)
def test_an_empty_answer_for_which_no_prompt_was_read_is_no_models(seen: Seen | None, kind: OutcomeKind) -> None:
    empty = End(Outcome.of(K.EMPTY_SUCCESS, "nothing"), subtype="success")
    assert decide(Tally(end=empty), ended("exited"), EXPECTED_ARTIFACTS, seen, "").kind is kind


def test_an_unused_route_is_named_before_missing_files() -> None:
    outcome = decide(Tally(end=SUCCESS), ended("exited"), EXPECTED_ARTIFACTS, Seen(0, None), "")
    assert (outcome.kind, outcome.blame) == (K.ROUTE_NOT_USED, Blame.HARNESS)


def test_a_crash_carries_the_end_of_what_was_said() -> None:
    outcome = decide(Tally(), ended("exited", -11), (), None, "x" * 500 + " the reason")
    assert outcome.detail.startswith("exit code -11 without a final event: ")
    assert outcome.detail.endswith("the reason")
    assert len(outcome.detail) < 350


def call(status: int | None, *, complete: bool = False, started: float = 1, last_byte: float | None = None,
         error: str = "") -> RequestRecord:  # fmt: skip
    return RequestRecord(
        number=1, method="POST", path="/v1/messages", dialect="anthropic", started_seconds=started,
        last_byte_seconds=last_byte, ended_seconds=max(started, last_byte or 0), status=status, complete=complete,
        request_bytes=9, error=error,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ([], K.IDLE),
        ([call(None)], K.PROVIDER_ERROR),
        ([call(None, started=50)], K.PROVIDER_ERROR),
        ([call(200, last_byte=3)], K.PROVIDER_ERROR),
        ([call(200, last_byte=60)], K.TIMED_OUT),
        ([call(200, complete=True, last_byte=40), call(None, started=41)], K.TIMED_OUT),
        ([call(200, complete=True, last_byte=5), call(None, started=6)], K.PROVIDER_ERROR),
        ([call(200, complete=True, last_byte=5)], K.TIMED_OUT),
        ([call(None), call(None, started=50)], K.PROVIDER_ERROR),
        ([call(500), call(500, started=50)], K.PROVIDER_ERROR),
        ([call(429, error="the context window")], K.RATE_LIMITED),
        ([call(401, error="the context window")], K.AUTH_FAILED),
    ],
)
def test_at_the_wall_limit_blame_asks_the_meter(calls: list[RequestRecord], kind: OutcomeKind) -> None:
    seen = Seen.of(requests_block(calls), calls)
    assert decide(Tally(), ended("wall_limit"), (), seen, "").kind is kind


@pytest.mark.parametrize("limit", ["wall_limit", "idle_limit"])
@pytest.mark.parametrize(
    ("shown", "kind", "blame"),
    [
        ([], K.IDLE, Blame.AMBIGUOUS),
        ([Session("one")], K.IDLE, Blame.AMBIGUOUS),
        ([Text("what a model said")], K.ROUTE_NOT_USED, Blame.HARNESS),
        ([ToolCall("1", "shell", {})], K.ROUTE_NOT_USED, Blame.HARNESS),
        ([Retry(1, 0.0, None, "connection refused"), Notice("again")], K.ROUTE_NOT_USED, Blame.HARNESS),
    ],
    ids=["nothing", "a session", "a text", "a tool call", "a retry"],
)
def test_an_agent_that_had_no_time_to_ask_is_told_from_one_that_asked_elsewhere(
    limit: Cause, shown: list[Event], kind: OutcomeKind, blame: Blame
) -> None:
    tally = Tally()
    tally.add(shown)
    outcome = decide(tally, ended(limit), (), Seen(0, None), "", 60)
    assert (outcome.kind, outcome.blame, outcome.valid) == (kind, blame, False)


@pytest.mark.parametrize(
    ("said", "status", "kind"),
    [
        (K.CONTEXT_OVERFLOW, 429, K.RATE_LIMITED),
        (K.CONTEXT_OVERFLOW, 400, K.CONTEXT_OVERFLOW),
        (K.PROVIDER_ERROR, 402, K.AUTH_FAILED),
        (K.TURN_LIMIT, 500, K.TURN_LIMIT),
    ],
)
def test_a_failed_call_is_named_by_its_status_on_the_wire(said: OutcomeKind, status: int, kind: OutcomeKind) -> None:
    calls = [call(status)]
    end = End(Outcome.of(said, "the agent's words"), is_error=True)
    outcome = decide(Tally(end=end), ended("exited"), (), Seen.of(requests_block(calls), calls), "")
    assert (outcome.kind, outcome.detail) == (kind, "the agent's words")


@pytest.mark.parametrize("said", [K.PROVIDER_ERROR, K.AUTH_FAILED, K.EMPTY_SUCCESS])
def test_no_ending_of_a_call_stands_without_a_request(said: OutcomeKind) -> None:
    end = End(Outcome.of(said, "words"))
    assert decide(Tally(end=end), ended("exited"), (), Seen(0, None), "").kind is K.ROUTE_NOT_USED
