"""Codex's configuration, its command line, and what its stream is read into."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from swetrials.agents.codex_config import KEY_VARIABLE, bedrock_config, endpoint_config, exec_argv
from swetrials.agents.codex_stream import CodexReader
from swetrials.agents.events import End, Event, Notice, Retry, Session, Tally, Text, ToolCall, ToolResult
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage

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


def read(data: bytes, step: int | None = None) -> list[Event]:
    reader = CodexReader()
    found: list[Event] = []
    for start in range(0, len(data), step or len(data) or 1):
        found += reader.feed(data[start : start + (step or len(data))])
    return [*found, *reader.finish()]


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


@pytest.mark.parametrize("step", [None, 1, 7])
def test_a_good_stream_gives_the_same_events_however_it_is_cut(step: int | None) -> None:
    *events, end = read(GOOD, step)
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
    tally = Tally()
    tally.add(
        read(lines(SAID, completed(input_tokens=10, output_tokens=1), completed(input_tokens=30, output_tokens=3)))
    )
    assert tally.usage.usage == Usage(fresh_input=30, output=3)


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
    call, result = read(lines(command(done=True, **changes)))
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
    first, notice, end = read(lines(retry, {"type": "error", "message": error}, failed))
    assert first == Retry(2, 0.0, status, f"Reconnecting... 2/4 ({error})")
    assert notice == Notice(error)
    assert isinstance(end, End)
    assert end.outcome.kind is kind
    assert end.api_error_status == status


def test_a_turn_without_output_is_an_empty_success() -> None:
    (end,) = read(lines(completed(input_tokens=10, output_tokens=0)))
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
    assert read(noise) == []


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
