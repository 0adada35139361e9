"""Codex: how ``codex exec`` is launched and configured, and how its ``--json`` stream is read.

Facts it rests on (Codex 0.171):

- It never looks at ``OPENAI_BASE_URL``: an endpoint is a ``model_providers`` block in ``CODEX_HOME/config.toml``.
  Amazon Bedrock is a provider it knows by itself, given a region.
- ``turn.completed.usage`` is cumulative for the thread; cached and cache-writing tokens are part of
  ``input_tokens``, reasoning is part of ``output_tokens``. It tells no cost and counts no model responses.
- An ``error`` *item* ("Model metadata for ... not found") appears in good runs. A failed run prints an
  ``error`` *event* for each retry, then ``turn.failed``. A killed run just stops.
- Commands that its sandbox refused, or that never started because the sandbox itself could not, are told
  to the model but do not appear in the stream.
- It puts a helper program of its sandbox below ``CODEX_HOME``, and refuses to when that folder lies inside
  the folder for temporary files (``TMPDIR``, else ``/tmp``): then no command of the model can run.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from swetrials.agents.events import End, Event, Notice, Retry, Session, Text, ToolCall, ToolResult
from swetrials.agents.failures import failure
from swetrials.agents.jsonl import JsonLines, count, mapping, text
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage

KEY_VARIABLE = "SWETRIALS_CODEX_KEY"
"""The variable in which a private configuration expects the endpoint's key."""

CONFIG_FILE = "config.toml"

SHELL = "shell"
"""The tool name under which the reader tells of commands."""

_RECONNECTING = re.compile(r"Reconnecting\.\.\. (\d+)/\d+")
_STATUS = re.compile(r"status:? (\d{3})\b")


def endpoint_config(base_url: str) -> str:
    """Return the ``config.toml`` for an endpoint that speaks the Responses dialect.

    Args:
        base_url: the origin and path prefix below which ``/v1/responses`` is found, without ``/v1``.
    """
    return "\n".join(
        (
            'model_provider = "swetrials"',
            "",
            "[model_providers.swetrials]",
            'name = "swetrials"',
            f"base_url = {_toml(base_url.rstrip('/') + '/v1')}",
            'wire_api = "responses"',
            f"env_key = {_toml(KEY_VARIABLE)}",
            "request_max_retries = 4",
            "stream_max_retries = 3",
            "",
        )
    )


def bedrock_config(region: str) -> str:
    """Return the ``config.toml`` for Codex's own Bedrock provider; AWS credentials come from the environment."""
    return "\n".join(
        (
            'model_provider = "amazon-bedrock"',
            "",
            "[model_providers.amazon-bedrock.aws]",
            f"region = {_toml(region)}",
            "",
        )
    )


def exec_argv(
    binary: Path,
    *,
    model: str | None,
    sandbox: str,
    settings: Sequence[str] = (),
    output_schema: Path | None = None,
) -> tuple[str, ...]:
    """Return the words that start ``codex exec`` with its prompt on standard input.

    Args:
        binary: the ``codex`` program.
        model: model id; ``None`` leaves the choice to the configuration.
        sandbox: Codex's own sandbox for the model's commands: ``read-only`` or ``workspace-write``.
        settings: ``key=value`` overrides of the configuration, values in TOML.
        output_schema: JSON Schema that the endpoint is asked to hold the last message to.
    """
    options: list[str] = []
    if model is not None:
        options += ["--model", model]
    for setting in settings:
        options += ["-c", setting]
    if output_schema is not None:
        options += ["--output-schema", str(output_schema)]
    return (str(binary), "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--sandbox", sandbox, *options, "-")


class CodexReader:
    """One stream of ``codex exec --json``, turned into events."""

    def __init__(self) -> None:
        self._lines = JsonLines()
        self._open: set[str] = set()
        self._text = ""

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take the next bytes, cut anywhere, and yield the events they complete."""
        for line in self._lines.feed(data):
            yield from self._events(line)

    def finish(self) -> Iterator[Event]:
        """Yield what a last line without a newline still holds."""
        for line in self._lines.finish():
            yield from self._events(line)

    def _events(self, line: dict[str, object]) -> Iterable[Event]:
        match line.get("type"):
            case "thread.started":
                return [Session(text(line.get("thread_id")) or None)]
            case "item.started" | "item.completed":
                return self._item(mapping(line.get("item")), done=line["type"] == "item.completed")
            case "error":
                return [_error(text(line.get("message")))]
            case "turn.completed":
                return [self._completed(mapping(line.get("usage")))]
            case "turn.failed":
                return [_failed(mapping(line.get("error")))]
            case _:
                return []

    def _item(self, item: dict[str, object], done: bool) -> Iterator[Event]:
        match item.get("type"):
            case "command_execution":
                yield from self._command(item, done)
            case "agent_message" if done:
                self._text = text(item.get("text"))
                yield Text(self._text)
            case "error" if done:
                yield Notice(text(item.get("message")))

    def _command(self, item: dict[str, object], done: bool) -> Iterator[Event]:
        call_id = text(item.get("id"))
        if call_id not in self._open:
            self._open.add(call_id)
            yield ToolCall(call_id, SHELL, {"command": text(item.get("command"))})
        if done:
            self._open.discard(call_id)
            exit_code = item.get("exit_code")
            code = exit_code if isinstance(exit_code, int) else None
            failed = item.get("status") != "completed" or code != 0
            yield ToolResult(call_id, text(item.get("aggregated_output")), is_error=failed, exit_code=code)

    def _completed(self, reported: dict[str, object]) -> End:
        usage = disjoint_usage(reported)
        if not self._text.strip() and not usage.output:
            outcome = Outcome.of(OutcomeKind.EMPTY_SUCCESS, "the turn completed without any output")
        else:
            outcome = Outcome.of(OutcomeKind.COMPLETED)
        return End(outcome, subtype="turn.completed", usage=usage, text=self._text)


def disjoint_usage(reported: dict[str, object]) -> Usage:
    """Return Codex's token counts as disjoint buckets; see the facts at the top of this file."""
    sent = count(reported.get("input_tokens"))
    read = count(reported.get("cached_input_tokens"))
    written = count(reported.get("cache_write_input_tokens"))
    return Usage(
        fresh_input=None if sent is None else max(sent - (read or 0) - (written or 0), 0),
        cache_read=read,
        cache_write=written,
        output=count(reported.get("output_tokens")),
        reasoning=count(reported.get("reasoning_output_tokens")),
    )


def _error(message: str) -> Event:
    if found := _RECONNECTING.search(message):
        return Retry(int(found[1]), delay_seconds=0.0, status=_status(message), reason=message)
    return Notice(message)


def _failed(error: dict[str, object]) -> End:
    message = text(error.get("message"))
    status = count(error.get("status")) or _status(message)
    outcome = failure(status, message)
    return End(outcome, subtype="turn.failed", is_error=True, api_error_status=status, text=message)


def _status(message: str) -> int | None:
    found = _STATUS.search(message)
    return int(found[1]) if found else None


def _toml(value: str) -> str:
    # JSON's string literals are valid TOML basic strings.
    return json.dumps(value)
