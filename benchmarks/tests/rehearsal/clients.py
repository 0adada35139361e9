"""A small client per dialect: builds the requests of a growing conversation, and reads what comes back."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from swetrials.records.usage import Usage
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse

KEY = "key-of-attempt-1"
OPENING = "task_id: word-tally\nartifacts_dir: /out\ncheckout: /src"

SCENARIO = Scenario.model_validate(
    {
        "schema_version": "1.0",
        "name": "test",
        "scripts": [
            {
                "when": "task_id: word-tally",
                "steps": [
                    {"say": "I will read the code first, and I take my time: é, ü and 漢字. " * 6},
                    {"say": "Now a file.", "write": {"path": "${artifacts_dir}/lld.md", "content": "long é\n" * 60}},
                    {"all": [{"shell": "ls"}, {"shell": "pwd"}]},
                    {"shell": "python3 -m unittest"},
                ],
            }
        ],
    }
)


@dataclass(frozen=True)
class Heard:
    """One response as a client understands it."""

    text: str
    calls: list[tuple[str, dict[str, Any]]]
    stop: str | None
    usage: Usage


class Client(Protocol):
    """What the tests need of a dialect."""

    path: str
    tools: list[dict[str, Any]]

    def body(self, opening: str = OPENING, turns: int = 0, stream: bool = False) -> dict[str, Any]: ...

    def read_whole(self, body: dict[str, Any]) -> Heard: ...

    def read_stream(self, events: list[dict[str, Any]]) -> Heard: ...


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """Parse a stream strictly: each frame is one line of data, after a line that names its type in some dialects."""
    events = []
    for block in stream.decode().removesuffix("\n\n").split("\n\n"):
        *names, data = block.split("\n")
        assert data.startswith("data: ")
        if data == "data: [DONE]":
            continue
        event = json.loads(data.removeprefix("data: "))
        assert names in ([], [f"event: {event.get('type')}"])
        events.append(event)
    return events


def function(name: str, *required: str) -> dict[str, Any]:
    return {
        "name": name,
        "parameters": {"type": "object", "properties": {field: {"type": "string"} for field in required}},
    }


class Anthropic:
    """Messages, as Claude Code sends them."""

    path = "/v1/messages"
    tools = [
        {"name": tool["name"], "input_schema": tool["parameters"]}
        for tool in (
            function("Bash", "command", "description"),
            function("Read", "file_path"),
            function("Write", "file_path", "content"),
            function("Edit", "file_path", "old_string", "new_string"),
        )
    ]

    def body(self, opening: str = OPENING, turns: int = 0, stream: bool = False) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": opening}]}]
        for turn in range(turns):
            use = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": "ls"}}
            result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"result {turn}"}
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "So."}, use]})
            messages.append({"role": "user", "content": [result]})
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        system = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
        request = {"model": "m", "max_tokens": 100, "system": system, "tools": self.tools, "messages": messages}
        return {**request, "stream": stream}

    def read_whole(self, body: dict[str, Any]) -> Heard:
        assert body["type"] == "message"
        text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
        calls = [(block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use"]
        return Heard(text, calls, body["stop_reason"], self._usage(body["usage"]))

    def read_stream(self, events: list[dict[str, Any]]) -> Heard:
        message = events[0]["message"]
        parts: dict[int, str] = {}
        for event in events:
            if event["type"] == "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append(event["content_block"])
                parts[event["index"]] = ""
            elif event["type"] == "content_block_delta":
                parts[event["index"]] += event["delta"].get("text", "") + event["delta"].get("partial_json", "")
            elif event["type"] == "message_delta":
                message.update(event["delta"], usage=event["usage"])
        for index, block in enumerate(message["content"]):
            block.update({"text": parts[index]} if block["type"] == "text" else {"input": json.loads(parts[index])})
        return self.read_whole(message)

    def _usage(self, usage: dict[str, Any]) -> Usage:
        return Usage(
            fresh_input=usage["input_tokens"],
            cache_read=usage["cache_read_input_tokens"],
            cache_write=usage["cache_creation_input_tokens"],
            cache_write_5m=usage["cache_creation"]["ephemeral_5m_input_tokens"],
            cache_write_1h=usage["cache_creation"]["ephemeral_1h_input_tokens"],
            output=usage["output_tokens"],
            reasoning=0,
        )


class Chat:
    """Chat Completions, with the shell as the one tool."""

    path = "/v1/chat/completions"
    tools = [{"type": "function", "function": function("bash", "command")}]

    def body(self, opening: str = OPENING, turns: int = 0, stream: bool = False) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You are an agent."},
            {"role": "user", "content": opening},
        ]
        for turn in range(turns):
            call = {"id": f"t{turn}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": "So.", "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"t{turn}", "content": f"result {turn}"})
        options = {"stream_options": {"include_usage": True}} if stream else {}
        return {"model": "m", "messages": messages, "tools": self.tools, "stream": stream, **options}

    def read_whole(self, body: dict[str, Any]) -> Heard:
        assert body["object"] == "chat.completion"
        [choice] = body["choices"]
        message = choice["message"]
        functions = [call["function"] for call in message.get("tool_calls", ())]
        calls = [(called["name"], json.loads(called["arguments"])) for called in functions]
        text = message["content"] or message["refusal"] or ""
        return Heard(text, calls, choice["finish_reason"], openai_usage(body["usage"], "prompt", "completion"))

    def read_stream(self, events: list[dict[str, Any]]) -> Heard:
        *chunks, last = events
        assert last["choices"] == []
        message: dict[str, Any] = {"content": "", "refusal": "", "tool_calls": []}
        for chunk in chunks:
            [choice] = chunk["choices"]
            delta = choice["delta"]
            message["content"] += delta.get("content", "")
            message["refusal"] += delta.get("refusal", "")
            for part in delta.get("tool_calls", ()):
                if part["index"] == len(message["tool_calls"]):
                    message["tool_calls"].append(part)
                else:
                    called = message["tool_calls"][part["index"]]["function"]
                    called["arguments"] += part["function"]["arguments"]
        whole = {"message": message, "finish_reason": chunks[-1]["choices"][0]["finish_reason"]}
        return self.read_whole({"object": "chat.completion", "choices": [whole], "usage": last["usage"]})


class Responses:
    """Responses, as Codex sends them."""

    path = "/v1/responses"
    tools = [{"type": "function", **function("exec_command", "cmd")}]

    def body(self, opening: str = OPENING, turns: int = 0, stream: bool = False) -> dict[str, Any]:
        text = {"type": "input_text", "text": opening}
        history: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": [text]}]
        for turn in range(turns):
            # One response is several items, and two calls are answered after both were made, as Codex does it.
            said = {"type": "output_text", "text": "So."}
            history += [
                {"type": "reasoning", "summary": [], "encrypted_content": "x"},
                {"type": "message", "role": "assistant", "content": [said]},
                {"type": "function_call", "call_id": f"a{turn}", "name": "exec_command", "arguments": "{}"},
                {"type": "custom_tool_call", "call_id": f"b{turn}", "name": "apply_patch", "input": "x"},
                {"type": "function_call_output", "call_id": f"a{turn}", "output": f"result {turn}"},
                {"type": "custom_tool_call_output", "call_id": f"b{turn}", "output": "ok"},
            ]
        request = {"model": "m", "instructions": "You are an agent.", "input": history, "tools": self.tools}
        return {**request, "stream": stream, "store": False}

    def read_whole(self, body: dict[str, Any]) -> Heard:
        assert body["object"] == "response"
        text, calls = "", []
        for item in body["output"]:
            if item["type"] == "message":
                text += "".join(part.get("text", part.get("refusal")) for part in item["content"])
            else:
                calls.append((item["name"], json.loads(item["arguments"])))
        stop = (body["incomplete_details"] or {}).get("reason", body["status"])
        return Heard(text, calls, stop, openai_usage(body["usage"], "input", "output"))

    def read_stream(self, events: list[dict[str, Any]]) -> Heard:
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        response = events[-1]["response"]
        deltas: dict[int, str] = {}
        for event in events:
            if event["type"].endswith(".delta"):
                deltas[event["output_index"]] = deltas.get(event["output_index"], "") + event["delta"]
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        assert done == response["output"]
        for index, item in enumerate(done):
            told = item["arguments"] if item["type"] == "function_call" else next(iter(item["content"]))
            assert deltas[index] == (told if isinstance(told, str) else told.get("text", told.get("refusal")))
        return self.read_whole(response)


def openai_usage(usage: dict[str, Any], prompt: str, output: str) -> Usage:
    cached = usage[f"{prompt}_tokens_details"]["cached_tokens"]
    assert usage["total_tokens"] == usage[f"{prompt}_tokens"] + usage[f"{output}_tokens"]
    return Usage(
        fresh_input=usage[f"{prompt}_tokens"] - cached,
        cache_read=cached,
        cache_write=0,
        cache_write_5m=0,
        cache_write_1h=0,
        output=usage[f"{output}_tokens"],
        reasoning=usage[f"{output}_tokens_details"]["reasoning_tokens"],
    )


CLIENTS: list[Client] = [Anthropic(), Chat(), Responses()]


@asynccontextmanager
async def playing(scenario: Scenario = SCENARIO) -> AsyncIterator[tuple[RehearsalServer, httpx.AsyncClient]]:
    """Serve a scenario, with an HTTP client that shows its key."""
    async with (
        rehearse(scenario) as server,
        httpx.AsyncClient(base_url=server.base_url, headers={"x-api-key": KEY}, trust_env=False) as http,
    ):
        yield server, http


async def ask(http: httpx.AsyncClient, client: Client, turns: int, stream: bool, opening: str = OPENING) -> Heard:
    """Send one request and read its response."""
    response = await http.post(client.path, json=client.body(opening, turns, stream))
    assert response.status_code == 200, response.text
    if not stream:
        assert response.headers["content-type"] == "application/json"
        return client.read_whole(response.json())
    assert response.headers["content-type"] == "text/event-stream"
    return client.read_stream(events_of(response.content))
