"""Claude Code's streams, as the real program printed them, and as they are when torn."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.streams import Streams
from swetrials.agents.events import (
    Compaction,
    PermissionDenied,
    Retry,
    SubagentEnd,
    SubagentStart,
    ToolCall,
    ToolResult,
)
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage

STREAMS = Streams("claude")
recorded, events_of, tally_of = STREAMS.recorded, STREAMS.events_of, STREAMS.tally_of

TWO_TURNS = Usage(
    fresh_input=2400, cache_read=1800, cache_write=600, cache_write_5m=400, cache_write_1h=200, output=80, reasoning=0
)


@pytest.mark.parametrize("name", ["ok", "partial", "denied"])
def test_tokens_of_a_message_count_once_however_often_its_usage_is_printed(name: str) -> None:
    tally = tally_of(recorded(name))
    assert tally.usage.usage == TWO_TURNS
    assert tally.usage.completeness == "complete"
    assert tally.turns == 2
    assert tally.outcome.kind is OutcomeKind.COMPLETED
    assert tally.outcome.blame is None


def test_partial_messages_give_the_final_output_count_without_a_result_event() -> None:
    lines = recorded("partial").splitlines(keepends=True)
    tally = tally_of(b"".join(line for line in lines if b'"type":"result"' not in line))
    assert tally.usage.usage.output == 57 + 23
    assert tally.usage.completeness == "lower_bound"
    assert tally.outcome.kind is OutcomeKind.UNFINISHED


def test_without_partial_messages_a_torn_stream_is_a_lower_bound() -> None:
    lines = recorded("ok").splitlines(keepends=True)
    tally = tally_of(b"".join(line for line in lines if b'"type":"result"' not in line))
    assert tally.usage.usage.fresh_input == 2400
    assert tally.usage.usage.output == 2
    assert tally.usage.completeness == "lower_bound"


def test_a_response_that_was_cut_makes_the_agents_own_total_a_lower_bound() -> None:
    assert tally_of(recorded("broken_sse")).usage.completeness == "lower_bound"


def test_a_result_alone_is_enough() -> None:
    tally = tally_of(recorded("json"))
    assert (tally.turns, tally.usage.usage.total) == (1, 1200 + 900 + 300 + 23)


def test_tools_denials_and_retries_are_seen() -> None:
    denied = events_of(recorded("denied"))
    assert [(e.tool, e.reason) for e in denied if isinstance(e, PermissionDenied)] == [("Bash", "mode")]
    assert [e.name for e in denied if isinstance(e, ToolCall)] == ["Bash"]
    assert [e.is_error for e in denied if isinstance(e, ToolResult)] == [True]
    retries = [e for e in events_of(recorded("err429")) if isinstance(e, Retry)]
    assert [(r.attempt, r.delay_seconds, r.status) for r in retries] == [(1, 1.242, 429), (2, 1.220, 429)]


def result(**fields: object) -> bytes:
    base = {"type": "result", "subtype": "success", "is_error": False, "usage": {"output_tokens": 5}}
    return orjson.dumps(base | fields) + b"\n"


def test_an_error_inside_a_success_is_an_error() -> None:
    tally = tally_of(result(is_error=True, api_error_status=500, result="API Error: 500"))
    assert tally.outcome.kind is OutcomeKind.PROVIDER_ERROR


@pytest.mark.parametrize(
    "said",
    [
        "API Error: 400 prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 32768 tokens",
    ],
)
def test_a_window_that_is_too_small_is_told_from_a_broken_server(said: str) -> None:
    for status, kind in ((400, OutcomeKind.CONTEXT_OVERFLOW), (500, OutcomeKind.PROVIDER_ERROR)):
        assert tally_of(result(is_error=True, api_error_status=status, result=said)).outcome.kind is kind


def test_subagents_are_in_the_total_and_not_in_the_turns() -> None:
    def message(name: str, parent: str | None) -> bytes:
        body = {"id": name, "model": "m", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}
        return orjson.dumps({"type": "assistant", "message": body, "parent_tool_use_id": parent}) + b"\n"

    models = {"m": {"inputTokens": 20, "outputTokens": 9}}
    tally = tally_of(message("a", None) + message("b", "toolu_1") + result(modelUsage=models))
    assert (tally.turns, tally.usage.requests) == (1, 2)
    assert (tally.usage.usage.fresh_input, tally.usage.usage.output) == (20, 9)


def test_the_last_of_two_results_counts() -> None:
    first = result(modelUsage={"m": {"inputTokens": 1, "outputTokens": 1}})
    second = result(modelUsage={"m": {"inputTokens": 3, "outputTokens": 4}})
    assert tally_of(first + second).usage.usage.output == 4


@given(noise=st.lists(st.binary(max_size=60), max_size=8))
@settings(max_examples=50, deadline=None)
def test_noise_between_the_lines_is_passed_over(noise: list[bytes]) -> None:
    lines = recorded("ok").splitlines(keepends=True)
    for index, junk in enumerate(noise):
        lines.insert(2 * index, junk.replace(b"\n", b" ") + b"\n")
    assert tally_of(b"".join(lines)).usage.usage == TWO_TURNS


@pytest.mark.parametrize(
    ("name", "turns", "requests", "total", "subagents"),
    [
        ("subagents", 2, 4, (12, 20231, 20983, 56), (6, 8125, 8597, 13)),
        ("subagents_background", 4, 8, (24, 52056, 28428, 118), (12, 14034, 14982, 32)),
    ],
)
def test_what_subagents_used_is_in_the_total_and_apart(
    name: str, turns: int, requests: int, total: tuple[int, ...], subagents: tuple[int, ...]
) -> None:
    tally = tally_of(recorded(name))
    assert (tally.turns, tally.usage.requests, tally.usage.completeness) == (turns, requests, "complete")
    assert buckets(tally.usage.usage) == total
    assert buckets(tally.subagent_usage) == subagents


def buckets(usage: Usage | None) -> tuple[int | None, ...]:
    assert usage is not None
    return usage.fresh_input, usage.cache_read, usage.cache_write, usage.output


def test_a_subagents_work_has_a_beginning_an_end_and_a_mark() -> None:
    events = events_of(recorded("subagents"))
    [call] = [e for e in events if isinstance(e, ToolCall) and e.name == "Agent"]
    frame = [e for e in events if isinstance(e, SubagentStart | SubagentEnd)]
    assert frame == [
        SubagentStart(call.call_id, "general-purpose", "Read the repository"),
        SubagentEnd(call.call_id, is_error=False),
    ]
    assert [(e.name, e.subagent) for e in events if isinstance(e, ToolCall)] == [("Agent", ""), ("Bash", call.call_id)]
    assert [e.subagent for e in events if isinstance(e, ToolResult)] == [call.call_id, ""]


def test_a_compaction_is_seen() -> None:
    line = b'{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9000}}\n'
    assert events_of(line) == [Compaction("auto", 9000)]
