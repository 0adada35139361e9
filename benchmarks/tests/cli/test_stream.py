"""``swetrials stream``: whose stream it is, what it shows, and watching one that grows."""

import json
import threading
import time
from pathlib import Path

import pytest

from swetrials.agents import AGENTS
from swetrials.cli.stream import show
from swetrials.errors import UsageError

RECORDED = Path(__file__).parents[1] / "conformance"
STREAMS = [path for name in AGENTS for path in sorted((RECORDED / name).glob("*.jsonl"))]


def figures_of(file: Path, capsys: pytest.CaptureFixture[str], agent: str | None = None) -> dict[str, object]:
    assert show(file, agent, follow=False, as_json=True) == 0
    figures: dict[str, object] = json.loads(capsys.readouterr().out)
    return figures


@pytest.mark.parametrize("file", STREAMS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_agent_is_told_from_the_stream(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = figures_of(file, capsys)
    assert told["agent"] == file.parent.name
    assert told == figures_of(file, capsys, file.parent.name)


def test_noise_before_the_stream_does_not_matter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = (RECORDED / "claude" / "ok.jsonl").read_bytes()
    file = tmp_path / "stream.jsonl"
    file.write_bytes(b'npm warn\n{"type":"banner"}\n' + recorded)
    assert figures_of(file, capsys)["turns"] == 2


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"type":"banner"}\n', b'{"type":"sys'])
def test_a_file_that_no_agent_printed_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "stream.jsonl"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"stream.jsonl: nothing in it is an event of claude, "):
        show(file, None, follow=False, as_json=False)


def test_the_trace_shows_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    show(RECORDED / "claude" / "subagents.jsonl", None, follow=False, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" · rehearsal · version 2.1.332")
    assert lines[1] == "  I send somebody."
    assert lines[2].startswith('> Agent {"description":"Read the repository"')
    assert lines[3:5] == ["+ subagent general-purpose: Read the repository", '    > Bash {"command":"ls"}']
    assert lines[6] == "- subagent done"
    assert lines[-2:] == ["end: completed All done.", "completed: 2 turns, 41,282 tokens"]


def test_counts_that_cannot_be_are_pointed_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def line(index: int) -> str:
        usage = {"input_tokens": 900, "output_tokens": 1}
        message = {"id": f"m{index}", "model": "m", "content": [], "usage": usage}
        return json.dumps({"type": "assistant", "message": message, "session_id": "s"})

    # The result's 33 are fewer than the one token that each of the 40 answers has at least.
    total = {"input_tokens": 9, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 33}
    end = {"type": "result", "subtype": "success", "session_id": "s", "usage": total}
    file = tmp_path / "stream.jsonl"
    file.write_text("\n".join([*map(line, range(40)), json.dumps(end)]))
    assert figures_of(file, capsys)["findings"] == [
        {
            "code": "implausible_usage",
            "severity": "warning",
            "message": "the agent reports 40 output tokens over 40 turns",
        }
    ]
    show(file, None, follow=False, as_json=False)
    assert "40 output tokens over 40 turns (implausible_usage)" in capsys.readouterr().out


def test_a_growing_file_is_followed_to_the_agents_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = (RECORDED / "claude" / "partial.jsonl").read_bytes()
    file = tmp_path / "stream.jsonl"
    file.write_bytes(recorded[:300])  # not even the first line is whole

    def grow() -> None:
        for start in range(300, len(recorded), 2000):
            time.sleep(0.05)
            with file.open("ab") as stream:
                stream.write(recorded[start : start + 2000])

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        assert show(file, None, follow=True, as_json=False) == 0
    finally:
        writer.join()
    assert capsys.readouterr().out.splitlines()[-1].startswith("completed: 2 turns")
