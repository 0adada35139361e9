"""opencode: how it is launched, and what its recorded streams come to. Expected figures are read off the recordings."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from agents.jobs import job
from agents.streams import Streams
from swetrials.agents.base import Job
from swetrials.agents.events import PermissionDenied, SubagentEnd, SubagentStart, Tally, ToolCall, ToolResult
from swetrials.agents.opencode.driver import OpenCode
from swetrials.agents.opencode.stream import OpenCodeReader
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage

STREAMS = Streams("opencode")
recorded, events_of, tally_of = STREAMS.recorded, STREAMS.events_of, STREAMS.tally_of
BINARY = Path("/tools/opencode")


def config_of(work: Job) -> dict[str, Any]:
    config = json.loads(OpenCode().launch(BINARY, work).environment["OPENCODE_CONFIG_CONTENT"])
    assert isinstance(config, dict)
    return config


@pytest.mark.parametrize(
    ("dialects", "adapter"),
    [
        ({"anthropic", "openai-chat", "openai-responses"}, "@ai-sdk/anthropic"),
        ({"openai-chat", "openai-responses"}, "@ai-sdk/openai-compatible"),
        ({"openai-responses"}, "@ai-sdk/openai"),
    ],
)
def test_the_route_decides_the_adapter(dialects: set[str], adapter: str) -> None:
    provider = config_of(job(dialects=dialects, base_url="http://127.0.0.1:1/p/"))["provider"]["route"]
    assert (provider["npm"], provider["options"]["baseURL"]) == (adapter, "http://127.0.0.1:1/p/v1")


def test_every_request_is_for_the_measured_model() -> None:
    work = job()
    config, argv = config_of(work), OpenCode().launch(BINARY, work).argv
    assert config["model"] == config["small_model"] == argv[argv.index("--model") + 1] == "route/m"
    assert config["enabled_providers"] == ["route"]
    # Without one it asks the model for a title.
    assert "--title" in argv


def test_window_and_output_are_told_where_they_are_known() -> None:
    config = config_of(job(window=60_000, auto_compact_fraction=0.8))
    limit = config["provider"]["route"]["models"]["m"]["limit"]
    assert limit == {"context": 60_000, "input": 60_000, "output": 10_000}
    assert limit["input"] - config["compaction"]["reserved"] == 38_000
    unknown = config_of(job(window=None))
    assert "limit" not in unknown["provider"]["route"]["models"]["m"]
    assert "compaction" not in unknown
    limited = config_of(job(window=None, max_output_tokens=9))
    assert limited["provider"]["route"]["models"]["m"]["limit"] == {"context": 0, "output": 9}


def test_turns_are_limited_where_the_configuration_says_so() -> None:
    assert config_of(job(max_turns=7))["agent"]["build"]["steps"] == 7
    assert "agent" not in config_of(job(max_turns=None))


def test_only_tools_of_the_configuration_are_allowed_and_nothing_is_asked() -> None:
    permissions = config_of(job(allowed_tools=("Bash", "Write", "NotebookEdit")))["permission"]
    assert next(iter(permissions)) == "*"
    assert permissions == {
        "*": "deny",
        "bash": "allow",
        "edit": "allow",
        "external_directory": "allow",
        "doom_loop": "allow",
    }


def test_a_users_settings_rank_below_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"instructions": ["x.md"]}')
    work = job(settings_file=str(own))
    written = OpenCode().launch(BINARY, work).files[work.home / ".config" / "opencode" / "opencode.json"]
    assert json.loads(written) == {"instructions": ["x.md"]}
    OpenCode().check_settings(own)


ONE_TASK = Usage(fresh_input=12, cache_read=22_021, cache_write=7_606, output=68, reasoning=0)


def test_a_good_run() -> None:
    tally = tally_of(recorded("ok"))
    assert (tally.outcome.kind, tally.outcome.blame, tally.turns) == (OutcomeKind.COMPLETED, None, 4)
    assert (tally.usage.usage, tally.usage.completeness) == (ONE_TASK, "complete")
    assert dict(tally.tools) == {"bash": 3, "edit": 1, "read": 1}
    assert tally.last_text == "Done."


@pytest.mark.parametrize(("name", "fresh", "read"), [("ok_chat", 7_773, 22_395), ("ok_responses", 7_624, 21_938)])
def test_cached_tokens_are_not_fresh_in_the_other_dialects_either(name: str, fresh: int, read: int) -> None:
    usage = tally_of(recorded(name)).usage.usage
    assert usage == Usage(fresh_input=fresh, cache_read=read, cache_write=0, output=68, reasoning=0)


def test_parallel_calls_are_told_from_each_other() -> None:
    events = events_of(recorded("ok"))
    calls = [event for event in events if isinstance(event, ToolCall) and event.name == "bash"]
    results = {event.call_id: event for event in events if isinstance(event, ToolResult)}
    assert sorted(
        (str(call.arguments["command"]), results[call.call_id].is_error, results[call.call_id].exit_code)
        for call in calls
    ) == [("cat x.py", False, 0), ("false", True, 1), ("ls", False, 0)]


@pytest.mark.parametrize(("name", "status"), [("err429", 429), ("err401", 401), ("refusal", None)])
def test_the_status_of_a_failure_is_kept(name: str, status: int | None) -> None:
    end = tally_of(recorded(name)).end
    assert end is not None
    assert (end.is_error, end.api_error_status) == (True, status)


@pytest.mark.parametrize("name", ["html", "html_chat"])
def test_who_asks_again_without_end_has_said_its_last_word(name: str) -> None:
    reader, tally = OpenCodeReader(), Tally()
    tally.add(reader.feed(recorded(name)))
    assert tally.end is not None
    assert list(reader.finish()) == []
    assert (tally.turns, tally.usage.completeness) == (0, "unknown")


def test_a_compactions_summary_is_in_the_sum_and_its_step_is_not_the_end() -> None:
    steps = recorded("compaction").splitlines(keepends=True)
    tally = tally_of(b"".join(steps))
    assert (tally.outcome.kind, tally.turns, tally.compactions) == (OutcomeKind.COMPLETED, 4, 1)
    assert tally.usage.usage == Usage(fresh_input=12, cache_read=14_520, cache_write=11_834, output=48, reasoning=0)
    assert tally.usage.completeness == "complete"
    after_the_summary = next(i for i, step in enumerate(steps) if b"compaction_continue" in step)
    assert tally_of(b"".join(steps[: after_the_summary + 2])).outcome.kind is OutcomeKind.UNFINISHED


def test_a_subagents_tokens_are_told_nowhere_so_the_sum_is_a_lower_bound() -> None:
    events = events_of(recorded("subagent"))
    [start, end] = [event for event in events if isinstance(event, SubagentStart | SubagentEnd)]
    assert isinstance(start, SubagentStart)
    assert (start.kind, start.task) == ("general", "SUBTASK look around")
    assert end == SubagentEnd(start.call_id, is_error=False)
    tally = tally_of(recorded("subagent"))
    assert (tally.usage.usage.output, tally.usage.completeness, tally.turns) == (41, "lower_bound", 3)


@pytest.mark.parametrize("name", ["cut", "cut_then_success"])
def test_a_response_that_broke_off_is_a_lower_bound(name: str) -> None:
    tally = tally_of(recorded(name))
    assert tally.end is not None
    assert tally.end.responses_cut == (6 if name == "cut" else 1)
    assert tally.usage.completeness == "lower_bound"


def line(kind: str, **fields: object) -> bytes:
    return orjson.dumps({"type": kind, "timestamp": 1, "sessionID": "ses_1", **fields}) + b"\n"


def step(reason: str, **tokens: object) -> bytes:
    counts = {"total": 20, "input": 10, "output": 5, "reasoning": 3, "cache": {"read": 2, "write": 0}} | tokens
    part = {"id": f"prt_{reason}", "type": "step-finish", "reason": reason, "tokens": counts}
    return line("step_start", part={}) + line("step_finish", part=part)


def test_reasoning_is_a_part_of_output() -> None:
    usage = tally_of(step("stop")).usage.usage
    assert usage == Usage(fresh_input=10, cache_read=2, cache_write=0, output=8, reasoning=3)


def test_a_window_that_is_too_small_is_told_from_a_broken_server_and_may_be_mended() -> None:
    overflow = line("error", error={"name": "ContextOverflowError", "data": {"message": "too long"}})
    assert tally_of(step("tool-calls") + overflow).outcome.kind is OutcomeKind.CONTEXT_OVERFLOW
    assert tally_of(overflow + step("stop")).outcome.kind is OutcomeKind.COMPLETED


def test_an_answer_without_usage_is_a_turn_of_unknown_tokens() -> None:
    nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    said = line("text", part={"text": "Hello."})
    start, finish = step("stop", **nothing, total=0).splitlines(keepends=True)
    tally = tally_of(start + said + finish)
    assert (tally.outcome.kind, tally.turns) == (OutcomeKind.COMPLETED, 1)
    assert (tally.usage.usage.total, tally.usage.completeness) == (None, "unknown")


def test_a_tool_that_a_rule_forbids_is_a_denial() -> None:
    error = "The user has specified a rule which prevents you from using this specific tool call. Rules: []"
    part = {"callID": "c", "tool": "edit", "state": {"status": "error", "input": {}, "error": error}}
    tally = tally_of(line("tool_use", part=part))
    assert tally.permission_denials == 1
    assert PermissionDenied("edit", error) in events_of(line("tool_use", part=part))


def test_more_cached_than_sent_is_in_doubt() -> None:
    """A backend that tells 100 tokens of prompt and 150 of them cached; opencode writes 0 for what is left."""
    tally = tally_of(step("stop", total=108, input=0, output=5, reasoning=3, cache={"read": 150, "write": 0}))
    assert tally.usage.usage == Usage(input_total=100, output=8, reasoning=3)
    assert tally.usage.completeness != "complete"
    assert tally.end is not None
    assert tally.end.doubts == ("the agent reports 150 cached tokens of 100 in all",)


def test_a_step_whose_parts_fit_or_whose_whole_is_not_told_is_in_no_doubt() -> None:
    for total in (20, None, -4, "20"):
        tally = tally_of(step("stop", total=total))
        assert tally.end is not None
        assert (tally.end.doubts, tally.usage.completeness) == ((), "complete")
