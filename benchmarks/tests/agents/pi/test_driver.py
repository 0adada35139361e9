"""pi: how it is launched, and what its recorded streams come to. Expected figures are read off the recordings."""

import json
from pathlib import Path

import orjson
import pytest

from agents.jobs import job
from agents.streams import Streams
from swetrials.agents.base import Job
from swetrials.agents.events import Retry, Tally, ToolCall, ToolResult
from swetrials.agents.pi.driver import Pi
from swetrials.agents.pi.stream import PiReader
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage

STREAMS = Streams("pi")
recorded, events_of, tally_of = STREAMS.recorded, STREAMS.events_of, STREAMS.tally_of
BINARY = Path("/tools/pi/cli.js")


def models_of(work: Job) -> dict[str, object]:
    files = Pi().launch(BINARY, work).files
    provider = json.loads(files[work.home / ".pi" / "agent" / "models.json"])["providers"]["swetrials"]
    assert isinstance(provider, dict)
    return provider


def settings_of(work: Job) -> dict[str, dict[str, object]]:
    read = json.loads(Pi().launch(BINARY, work).files[work.home / ".pi" / "agent" / "settings.json"])
    assert isinstance(read, dict)
    return read


@pytest.mark.parametrize(
    ("dialects", "api", "base_url"),
    [
        ({"anthropic", "openai-chat"}, "anthropic-messages", "http://127.0.0.1:1/p"),
        ({"openai-chat", "openai-responses"}, "openai-completions", "http://127.0.0.1:1/p/v1"),
        ({"openai-responses"}, "openai-responses", "http://127.0.0.1:1/p/v1"),
    ],
)
def test_the_route_decides_the_api(dialects: set[str], api: str, base_url: str) -> None:
    provider = models_of(job(dialects=dialects, base_url="http://127.0.0.1:1/p/"))
    assert (provider["api"], provider["baseUrl"]) == (api, base_url)


def test_window_and_output_are_told_where_they_are_known() -> None:
    assert models_of(job(window=60_000))["models"] == [{"id": "m", "contextWindow": 60_000, "maxTokens": 10_000}]
    assert models_of(job(window=None))["models"] == [{"id": "m"}]
    assert models_of(job(window=None, max_output_tokens=9))["models"] == [{"id": "m", "maxTokens": 9}]


def test_its_own_retries_are_the_only_ones() -> None:
    retry = settings_of(job(request_retries=4))["retry"]
    assert (retry["enabled"], retry["maxRetries"], retry["provider"]) == (True, 4, {"maxRetries": 0})
    assert settings_of(job(request_retries=0))["retry"]["enabled"] is False


def test_a_users_settings_stay_where_ours_do_not_rule(tmp_path: Path) -> None:
    own = tmp_path / "settings.json"
    own.write_text('{"terminal": {"showImages": false}, "retry": {"maxRetries": 99, "custom": 1}}')
    merged = settings_of(job(request_retries=2, settings_file=str(own)))
    assert merged["terminal"] == {"showImages": False}
    assert (merged["retry"]["maxRetries"], merged["retry"]["custom"]) == (2, 1)


def test_only_tools_of_the_configuration_are_offered() -> None:
    def tools(*names: str) -> str:
        argv = Pi().launch(BINARY, job(allowed_tools=names)).argv
        return argv[argv.index("--tools") + 1] if "--tools" in argv else ""

    assert tools("Bash", "Glob", "Read", "Task") == "bash,read"
    assert tools("Glob", "Grep", "Read") == "read,find,grep,ls", "what it has to look round with in place of a shell"
    assert tools("Task") == ""
    assert "--no-tools" in Pi().launch(BINARY, job(allowed_tools=("Task",))).argv


def test_a_prompt_is_never_taken_for_a_template_of_the_repository() -> None:
    assert "--no-prompt-templates" in Pi().launch(BINARY, job(prompt="/quit")).argv


ONE_TASK = Usage(fresh_input=9, cache_read=2725, cache_write=1514, output=29)


def test_a_good_run() -> None:
    tally = tally_of(recorded("ok"))
    assert (tally.outcome.kind, tally.outcome.blame, tally.turns) == (OutcomeKind.COMPLETED, None, 3)
    assert (tally.usage.usage, tally.usage.completeness) == (ONE_TASK, "complete")
    assert dict(tally.tools) == {"bash": 3}
    assert tally.last_text == "Done."


def test_cached_tokens_are_not_fresh_in_the_chat_dialect_either() -> None:
    usage = tally_of(recorded("ok_chat")).usage.usage
    assert usage == Usage(fresh_input=1591, cache_read=2838, cache_write=0, output=29)


def test_a_stream_of_pi_1_6_tells_reasoning_as_a_part_of_output_and_its_own_end() -> None:
    reader, tally = PiReader(), Tally()
    tally.add(reader.feed(recorded("ok_1_6")))
    assert tally.outcome.kind is OutcomeKind.COMPLETED
    assert tally.usage.usage == Usage(fresh_input=1000, cache_read=3000, cache_write=0, output=80, reasoning=14)
    assert list(reader.finish()) == []


def test_parallel_calls_are_told_from_each_other() -> None:
    events = events_of(recorded("ok"))
    calls = [event for event in events if isinstance(event, ToolCall)]
    results = {event.call_id: event for event in events if isinstance(event, ToolResult)}
    assert [call.arguments["command"] for call in calls] == ["cat x.py", "false", "ls"]
    assert [results[call.call_id].is_error for call in calls] == [False, True, False]


def test_a_retry_that_works_leaves_no_trace_in_outcome_or_turns() -> None:
    tally = tally_of(recorded("retry_then_success"))
    assert [(r.attempt, r.delay_seconds, r.status) for r in tally.retries] == [(1, 0.5, 429)]
    assert (tally.outcome.kind, tally.turns, tally.usage.usage) == (OutcomeKind.COMPLETED, 3, ONE_TASK)


def test_who_is_killed_while_waiting_was_waiting_for_something() -> None:
    retry = tally_of(recorded("killed_while_waiting")).pending_retry
    assert retry is not None
    assert retry.status == 429


@pytest.mark.parametrize(("name", "known"), [("cut", 2660), ("cut_chat", None)])
def test_a_response_that_broke_off_is_a_lower_bound(name: str, known: int | None) -> None:
    report = tally_of(recorded(name)).usage
    assert (report.requests, report.usage.cache_write) == (2, known)
    assert report.completeness == ("lower_bound" if report.usage.total else "unknown")


def test_a_request_that_was_turned_away_is_no_turn() -> None:
    assert tally_of(recorded("err429")).turns == 0


def line(kind: str, **fields: object) -> bytes:
    return orjson.dumps({"type": kind, **fields}) + b"\n"


def answer(stop: str = "stop", **fields: object) -> bytes:
    message = {"role": "assistant", "content": [{"type": "text", "text": "x"}], "stopReason": stop}
    usage = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2}
    return line("message_end", message={**message, "usage": usage, **fields})


START, GONE = line("agent_start"), line("agent_end", messages=[])


def test_what_a_compaction_swallows_stays_in_the_sum_and_its_summary_makes_it_a_lower_bound() -> None:
    summary = {"summary": "s", "tokensBefore": 900}
    compaction = line("compaction_start", reason="overflow") + line("compaction_end", result=summary, willRetry=True)
    tally = tally_of(START + answer() + GONE + compaction + START + answer() + GONE)
    assert (tally.usage.usage.fresh_input, tally.turns, tally.compactions) == (20, 2, 1)
    assert tally.usage.completeness == "lower_bound"


def test_a_window_that_is_too_small_is_told_from_a_broken_server() -> None:
    said = "400 prompt is too long: 213462 tokens > 200000 maximum"
    assert tally_of(START + answer("error", errorMessage=said) + GONE).outcome.kind is OutcomeKind.CONTEXT_OVERFLOW


def test_an_aborted_run_has_no_last_word() -> None:
    assert tally_of(START + answer("aborted") + GONE).outcome.kind is OutcomeKind.UNFINISHED


def test_the_end_of_one_go_is_not_the_end() -> None:
    assert tally_of(START + answer() + GONE + START).outcome.kind is OutcomeKind.UNFINISHED


def test_retries_that_end_in_failure_are_all_seen() -> None:
    assert [event.attempt for event in events_of(recorded("err429")) if isinstance(event, Retry)] == [1]
