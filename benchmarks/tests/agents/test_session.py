"""The one way in which a CLI is started, fed, heard and stopped, with a script for a CLI."""

import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from agents.jobs import job
from swetrials.agents import AGENTS
from swetrials.agents.base import Launch
from swetrials.agents.codex.stream import CodexReader
from swetrials.agents.events import Event, Notice, Text
from swetrials.agents.session import AgentSession
from swetrials.environments.base import View
from swetrials.environments.host import Host
from swetrials.records.outcome import OutcomeKind
from swetrials.store.redaction import Redactor
from swetrials.store.stream_log import StreamLog
from swetrials.workspace.processes import MARK, LaunchError, ProcessLimits
from swetrials.workspace.space import Space, attempt_space, private_root

SECRET = "sk-of-this-test"

TURN = """
echo '{"type":"thread.started","thread_id":"t"}'
echo '{"type":"turn.started"}'
echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"'"$(cat)"'"}}'
"""
END = """
echo '{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":2,"output_tokens":3}}'
"""


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    with attempt_space(private_root(tmp_path / "work"), f"session-{secrets.token_hex(4)}") as made:
        yield made


def session(space: Space, script: str, files: dict[Path, str] | None = None, stdin: Path | None = None) -> AgentSession:
    launch = Launch(("/bin/sh", "-c", script), {"TOLD": SECRET}, files or {}, stdin)
    return AgentSession(launch, CodexReader(), View(space, space))


def test_it_is_fed_heard_and_logged(space: Space, tmp_path: Path) -> None:
    prompt, heard = space.home / "deep" / "prompt.txt", list[Event]()
    asked = session(space, TURN + 'echo "$TOLD" \n' + f'echo "${MARK} $PWD" >&2\n' + END, {prompt: "ready"}, prompt)
    assert not prompt.exists(), "nothing is touched before it is run"

    def hear(events: Sequence[Event]) -> None:
        heard.extend(events)

    with StreamLog(tmp_path / "stream.jsonl", Redactor([SECRET])) as log:
        run = partial(asked.run, ProcessLimits(30), stderr=tmp_path / "stderr", log=log, hear=hear)
        ended = anyio.run(run)
    assert (ended.cause, ended.exit_code, ended.survivors) == ("exited", 0, 0)
    assert asked.tally.end is not None
    assert (asked.tally.end.outcome.kind, asked.tally.end.text) == (OutcomeKind.COMPLETED, "ready")
    assert heard[-1] is asked.tally.end or asked.tally.end in heard
    stream = (tmp_path / "stream.jsonl").read_text()
    assert '"turn.completed"' in stream
    assert SECRET not in stream
    # The folder's name is the mark, by which a dead harness's agents are found.
    assert (tmp_path / "stderr").read_text() == f"{space.root.name} {space.checkout}\n"


def test_its_last_line_counts_without_a_newline(space: Space, tmp_path: Path) -> None:
    asked = session(space, TURN + f"printf %s \"$(cat <<'E'\n{END.strip()[6:-1]}\nE\n)\"")
    anyio.run(partial(asked.run, ProcessLimits(30), stderr=tmp_path / "stderr"))
    assert asked.tally.end is not None


def test_one_that_does_not_exit_after_its_final_word_is_stopped(space: Space, tmp_path: Path) -> None:
    asked = session(space, TURN + END + "sleep 60")
    limits = ProcessLimits(30, grace_seconds=0.3)
    ended = anyio.run(partial(asked.run, limits, stderr=tmp_path / "stderr"))
    assert (ended.cause, ended.survivors) == ("grace", 0)


def test_it_answers_about_itself(space: Space) -> None:
    ended, printed = anyio.run(session(space, "echo not logged in >&2; exit 3").run_captured, ProcessLimits(30))
    assert (ended.exit_code, printed) == (3, b"not logged in\n")


def test_one_that_is_not_installed_can_be_looked_at(space: Space, tmp_path: Path) -> None:
    given = job(dialects={"openai-responses"})
    looked_at = AgentSession.of(
        AGENTS["codex"],
        None,
        View(space, space),
        prompt="p",
        skill=None,
        route=given.route,
        config=given.config,
        environment=Host(),
        writable=space.folders,
    )
    assert "codex-NOT-INSTALLED" in looked_at.command.argv
    assert looked_at.command.cwd == space.checkout
    assert looked_at.command.environment["HOME"] == str(space.home)
    assert not [path for path in space.root.rglob("*") if path.is_file()]
    with pytest.raises(LaunchError):
        anyio.run(partial(looked_at.run, ProcessLimits(30), stderr=tmp_path / "stderr"))


class TripsOver:
    """A reader of somebody else's, which cannot take what it did not expect."""

    def feed(self, data: bytes) -> Iterator[Event]:
        yield Text("before")
        raise KeyError("scribe")

    def finish(self) -> Iterator[Event]:
        raise AssertionError("it is not asked again")


def test_a_reader_that_raises_ends_its_reading_and_not_the_session(space: Space, tmp_path: Path) -> None:
    asked, heard = session(space, "echo one; sleep 0.3; echo two"), list[Event]()
    asked.reader = TripsOver()
    ended = anyio.run(partial(asked.run, ProcessLimits(30), stderr=tmp_path / "stderr", hear=heard.extend))
    assert (ended.cause, ended.exit_code, ended.survivors) == ("exited", 0, 0)
    notice = Notice("the stream is read no further: its reader fails: KeyError: 'scribe'")
    assert heard == [Text("before"), notice]
    assert asked.tally.outcome.kind is OutcomeKind.UNFINISHED
