"""Codex: its configuration, its command line, how it is launched as an agent, and what its stream is read into.

Expected figures are read off the recordings.
"""

import json
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents.jobs import job
from agents.streams import Streams
from swetrials.agents.base import Job
from swetrials.agents.codex.config import KEY_VARIABLE, bedrock_config, endpoint_config, exec_argv
from swetrials.agents.codex.driver import Codex
from swetrials.agents.events import (
    End,
    Notice,
    Retry,
    Session,
    SubagentEnd,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage, UsageReport

STREAMS = Streams("codex")
recorded, events_of, tally_of = STREAMS.recorded, STREAMS.events_of, STREAMS.tally_of
BINARY = Path("/tools/codex")

responses_job = partial(job, dialects={"openai-responses"})

STARTED = {"type": "thread.started", "thread_id": "th-1"}
NO_METADATA = {"type": "item.completed", "item": {"id": "i0", "type": "error", "message": "Model metadata not found."}}
SAID = {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "All done."}}


def command(done: bool, **changes: object) -> dict[str, Any]:
    item = {"id": "i1", "type": "command_execution", "command": "/bin/bash -lc ls", "aggregated_output": ""}
    state = {"exit_code": 0, "status": "completed"} if done else {"exit_code": None, "status": "in_progress"}
    return {"type": "item.completed" if done else "item.started", "item": item | state | changes}


def completed(**usage: int) -> dict[str, Any]:
    return {"type": "turn.completed", "usage": usage}


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


GOOD = lines(
    STARTED,
    NO_METADATA,
    command(done=False),
    command(done=True, aggregated_output="README.md\n"),
    SAID,
    completed(
        input_tokens=6000,
        cached_input_tokens=4000,
        cache_write_input_tokens=500,
        output_tokens=100,
        reasoning_output_tokens=40,
    ),
)


@pytest.mark.parametrize("step", [1, 7, len(GOOD)])
def test_a_good_stream_gives_the_same_events_however_it_is_cut(step: int) -> None:
    *events, end = events_of(GOOD, cuts=range(step, len(GOOD), step))
    assert events == [
        Session("th-1"),
        Notice("Model metadata not found."),
        ToolCall("i1", "shell", {"command": "/bin/bash -lc ls"}),
        ToolResult("i1", "README.md\n", is_error=False, exit_code=0),
        Text("All done."),
    ]
    assert isinstance(end, End)
    assert end.outcome.kind is OutcomeKind.COMPLETED
    assert end.text == "All done."
    assert end.usage == Usage(fresh_input=1500, cache_read=4000, cache_write=500, output=100, reasoning=40)
    assert end.usage.total == 6100


def test_the_last_cumulative_usage_wins() -> None:
    twice = lines(SAID, completed(input_tokens=10, output_tokens=1), completed(input_tokens=30, output_tokens=3))
    assert tally_of(twice).usage.usage == Usage(fresh_input=30, output=3)


@pytest.mark.parametrize(
    ("changes", "is_error", "exit_code"),
    [
        ({}, False, 0),
        ({"exit_code": 1, "status": "failed"}, True, 1),
        ({"exit_code": None, "status": "declined"}, True, None),
        ({"exit_code": 2, "status": "completed"}, True, 2),
    ],
)
def test_a_command_fails_by_status_or_exit_code(changes: dict[str, Any], is_error: bool, exit_code: int | None) -> None:
    call, result = events_of(lines(command(done=True, **changes)))
    assert isinstance(call, ToolCall)
    assert result == ToolResult("i1", "", is_error=is_error, exit_code=exit_code)


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", OutcomeKind.RATE_LIMITED, 429),
        ("unexpected status 401 Unauthorized: invalid key", OutcomeKind.AUTH_FAILED, 401),
        ("unexpected status 403 Forbidden: no access", OutcomeKind.AUTH_FAILED, 403),
        (
            "unexpected status 400 Bad Request: This model's maximum context length is 4096 tokens",
            OutcomeKind.CONTEXT_OVERFLOW,
            400,
        ),
        ("stream disconnected before completion", OutcomeKind.PROVIDER_ERROR, None),
        ("exceeded retry limit, last status: 500 Internal Server Error", OutcomeKind.PROVIDER_ERROR, 500),
    ],
)
def test_a_failed_turn_is_named(error: str, kind: OutcomeKind, status: int | None) -> None:
    retry = {"type": "error", "message": f"Reconnecting... 2/4 ({error})"}
    failed = {"type": "turn.failed", "error": {"message": error}}
    first, notice, end = events_of(lines(retry, {"type": "error", "message": error}, failed))
    assert first == Retry(2, 0.0, status, f"Reconnecting... 2/4 ({error})")
    assert notice == Notice(error)
    assert isinstance(end, End)
    assert end.outcome.kind is kind
    assert end.api_error_status == status


def test_a_turn_without_output_is_an_empty_success() -> None:
    (end,) = events_of(lines(completed(input_tokens=10, output_tokens=0)))
    assert isinstance(end, End)
    assert end.outcome.kind is OutcomeKind.EMPTY_SUCCESS


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        b"not json\n",
        b'{"type":"item.completed"}\n',
        b'{"type":"item.completed","item":7}\n',
        b'{"type":"unheard.of"}\n',
        b'{"type":["a"]}\n',
        b"\xff\xfe{\n",
        b'{"type":"turn.comp',
    ],
)
def test_noise_is_passed_over(noise: bytes) -> None:
    assert events_of(noise) == []


def test_endpoint_configuration_is_toml_whatever_the_url_holds() -> None:
    config = tomllib.loads(endpoint_config('http://127.0.0.1:1/a"b\\c/'))
    assert config["model_provider"] in config["model_providers"]
    provider = config["model_providers"][config["model_provider"]]
    assert provider["base_url"] == 'http://127.0.0.1:1/a"b\\c/v1'
    assert (provider["wire_api"], provider["env_key"]) == ("responses", KEY_VARIABLE)


def test_bedrock_configuration_names_the_region() -> None:
    config = tomllib.loads(bedrock_config("us-east-2"))
    assert config["model_provider"] == "amazon-bedrock"
    assert config["model_providers"]["amazon-bedrock"]["aws"]["region"] == "us-east-2"


def test_argv_reads_the_prompt_from_standard_input() -> None:
    argv = exec_argv(Path("/x/codex"), model="m", sandbox="read-only", settings=("a=1",), output_schema=Path("/s.json"))
    assert argv[:2] == ("/x/codex", "exec")
    assert argv[-1] == "-"
    assert argv[argv.index("-c") + 1] == "a=1"
    assert argv[argv.index("--output-schema") + 1] == "/s.json"
    assert "--model" not in exec_argv(Path("codex"), model=None, sandbox="read-only")


@pytest.mark.parametrize(
    ("mode", "sandbox"),
    [
        ("plan", "read-only"),
        ("default", "workspace-write"),
        ("acceptEdits", "workspace-write"),
        ("dontAsk", "workspace-write"),
        ("bypassPermissions", "danger-full-access"),
    ],
)
def test_the_permission_mode_chooses_the_sandbox_of_the_commands(mode: str, sandbox: str) -> None:
    argv = Codex().launch(BINARY, responses_job(permission_mode=mode, sandbox="bubblewrap")).argv
    assert argv[argv.index("--sandbox") + 1] == sandbox


def test_without_a_tool_that_could_write_the_sandbox_is_read_only() -> None:
    argv = Codex().launch(BINARY, responses_job(permission_mode="dontAsk", allowed_tools=("Glob", "Read"))).argv
    assert argv[argv.index("--sandbox") + 1] == "read-only"


def config_of(work: Job) -> dict[str, Any]:
    return tomllib.loads(Codex().launch(BINARY, work).files[work.home / ".codex" / "trial.config.toml"])


def test_the_agents_configuration_pins_route_retries_and_what_may_be_written() -> None:
    work = responses_job(base_url="http://127.0.0.1:1/p/", request_retries=4)
    config = config_of(work)
    provider = config["model_providers"][config["model_provider"]]
    assert provider["base_url"] == "http://127.0.0.1:1/p/v1"
    # The two kinds multiply, and only one of them is told.
    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (0, 4)
    assert config["sandbox_workspace_write"] == {"writable_roots": [str(work.artifacts)], "network_access": True}
    assert config["approval_policy"] == "never"


def test_the_window_decides_when_a_conversation_is_compacted() -> None:
    config = config_of(responses_job(window=60_000, auto_compact_fraction=0.8))
    assert (config["model_context_window"], config["model_auto_compact_token_limit"]) == (60_000, 38_000)
    assert "model_context_window" not in config_of(responses_job(window=None))


def test_the_web_is_searched_only_where_the_tool_is_allowed() -> None:
    assert config_of(responses_job())["web_search"] == "disabled"
    assert config_of(responses_job(allowed_tools=("WebSearch",)))["web_search"] == "live"


def test_the_key_is_kept_from_the_commands() -> None:
    assert config_of(responses_job())["shell_environment_policy"]["exclude"] == [KEY_VARIABLE]


def test_the_prompt_is_read_from_standard_input() -> None:
    assert Codex().launch(BINARY, responses_job()).argv[-1] == "-"


def test_a_users_settings_rank_below_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('model_verbosity = "low"\n')
    work = responses_job(settings_file=str(own))
    launch = Codex().launch(BINARY, work)
    assert launch.files[work.home / ".codex" / "config.toml"] == 'model_verbosity = "low"\n'
    assert launch.argv[launch.argv.index("--profile") + 1] == "trial"
    Codex().check_settings(own)


ONE_TASK = Usage(fresh_input=10_679, cache_read=30_873, cache_write=0, output=57, reasoning=0)


@pytest.mark.parametrize("name", ["ok", "retry_then_success"])
def test_a_recorded_good_run(name: str) -> None:
    tally = tally_of(recorded(name))
    assert (tally.outcome.kind, tally.outcome.blame) == (OutcomeKind.COMPLETED, None)
    assert (tally.usage.usage, tally.usage.completeness) == (ONE_TASK, "complete")
    assert dict(tally.tools) == {"shell": 3, "apply_patch": 1}
    assert tally.last_text == "Done."


def test_retries_are_seen_with_their_status() -> None:
    assert [(retry.attempt, retry.status) for retry in tally_of(recorded("retry_then_success")).retries] == [(1, 429)]


def test_parallel_calls_are_told_from_each_other() -> None:
    results = {event.call_id: event for event in events_of(recorded("ok")) if isinstance(event, ToolResult)}
    calls = [event for event in events_of(recorded("ok")) if isinstance(event, ToolCall) and event.name == "shell"]
    failed = {str(call.arguments["command"]).split()[-1].strip("'"): results[call.call_id].is_error for call in calls}
    assert failed == {"x.py": False, "false": True, "ls": False}


def test_a_compaction_is_in_the_sum() -> None:
    usage = tally_of(recorded("compaction")).usage
    assert usage.usage == Usage(fresh_input=27_130, cache_read=29_175, cache_write=0, output=35, reasoning=0)
    assert usage.completeness == "complete"


def test_a_subagents_tokens_are_told_nowhere_so_the_sum_is_a_lower_bound() -> None:
    events = events_of(recorded("subagent"))
    assert [event for event in events if isinstance(event, SubagentStart | SubagentEnd)] == [
        SubagentStart("item_1", "", "SUBTASK: say hello"),
        SubagentEnd("item_1", is_error=False),
    ]
    tally = tally_of(recorded("subagent"))
    assert (tally.usage.usage.fresh_input, tally.usage.completeness) == (1_500, "lower_bound")


def test_a_response_that_broke_off_and_was_asked_for_again_is_a_lower_bound() -> None:
    tally = tally_of(recorded("cut_then_success"))
    assert tally.outcome.kind is OutcomeKind.COMPLETED
    assert (tally.usage.usage, tally.usage.completeness) == (ONE_TASK, "lower_bound")


@pytest.mark.parametrize("name", ["err429", "err500", "err401", "html", "cut", "refusal", "max_tokens", "killed"])
def test_a_turn_that_fails_tells_no_tokens_so_the_sum_is_unknown(name: str) -> None:
    assert tally_of(recorded(name)).usage == UsageReport()


def test_other_tools_are_seen_as_they_are_called() -> None:
    search = {"id": "i3", "type": "web_search", "query": "q"}
    mcp = {"id": "i4", "type": "mcp_tool_call", "server": "s", "tool": "look", "arguments": {"a": 1}}
    done = {"status": "completed"}
    assert events_of(
        lines(
            {"type": "item.completed", "item": search},
            {"type": "item.started", "item": mcp},
            {"type": "item.completed", "item": mcp | {"status": "failed"}},
            {"type": "item.completed", "item": {"id": "i5", "type": "todo_list", "items": []} | done},
        )
    ) == [
        ToolCall("i3", "web_search", {"query": "q"}),
        ToolResult("i3", "", is_error=False),
        ToolCall("i4", "look", {"a": 1}),
        ToolResult("i4", "", is_error=True),
    ]


@pytest.mark.parametrize(
    "cached", [{"cached_input_tokens": 150}, {"cached_input_tokens": 80, "cache_write_input_tokens": 70}]
)
def test_more_cached_than_sent_is_in_doubt(cached: dict[str, int]) -> None:
    tally = tally_of(lines(SAID, completed(input_tokens=100, output_tokens=5, **cached)))
    assert tally.usage.usage == Usage(input_total=100, output=5)
    assert tally.usage.completeness != "complete"
    assert tally.end is not None
    assert tally.end.doubts == ("the agent reports 150 cached tokens of 100 in all",)
