"""What the recorder makes of streams, and whether others can read it."""

import os
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import orjson
import pytest

from swetrials.agents.claude.stream import ClaudeReader
from swetrials.agents.events import (
    Compaction,
    End,
    Event,
    Notice,
    PermissionDenied,
    RequestUsage,
    Retry,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.agents.shortening import LONGEST
from swetrials.agents.trajectory import MOST_STEPS, TrajectoryRecorder
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.trajectory import Trajectory, TrajectoryAgent
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.files import write_record
from swetrials.store.redaction import Redactor

RECORDED = Path(__file__).parents[1] / "conformance" / "claude"
SECRET = "sk-secret-123"
COMPLETED = End(Outcome.of(OutcomeKind.COMPLETED))
HARBOR = "harbor==0.26.0"


def response(name: str, *, final: bool = True, subagent: str = "") -> RequestUsage:
    usage = Usage(fresh_input=100, cache_read=20, cache_write=3, output=7, reasoning=2)
    return RequestUsage(name, usage, final, "m", subagent)


def recorded(recorder: TrajectoryRecorder) -> Trajectory:
    return recorder.trajectory(
        TrajectoryAgent(name="claude-code", version="2.1.332", model_name="m"),
        session_id="s",
        usage=UsageReport(usage=Usage(fresh_input=5, cache_read=2, output=9), completeness="complete"),
        cost_usd=None,
        notes="Attempt 1.",
        extra={"trial": "t"},
    )


def trajectory_of(*events: Event) -> Trajectory:
    recorder = TrajectoryRecorder("Do it.", Redactor([SECRET]))
    recorder.add(events)
    return recorded(recorder)


def trajectory_of_stream(name: str) -> Trajectory:
    recorder, reader = TrajectoryRecorder("Do it.", Redactor()), ClaudeReader()
    recorder.add(reader.feed((RECORDED / f"{name}.jsonl").read_bytes()))
    return recorded(recorder)


def outline(trajectory: Trajectory) -> list[tuple[str, str, int, int]]:
    return [
        (step.source, step.message, len(step.tool_calls), len(step.observation.results) if step.observation else 0)
        for step in trajectory.steps
    ]


def test_a_step_is_a_response_with_the_answers_to_its_calls() -> None:
    trajectory = trajectory_of(
        response("a", final=False), Text("I look."), ToolCall("1", "Read", {"path": "x"}), response("a", final=False),
        ToolCall("2", "Bash", {}), ToolResult("2", "no", is_error=True, exit_code=1), ToolResult("1", "yes", False),
        response("a"), response("b"), Text("Done."), COMPLETED,
    )  # fmt: skip
    assert outline(trajectory) == [
        ("user", "Do it.", 0, 0), ("agent", "I look.", 2, 2), ("agent", "Done.", 0, 0), ("system", "completed", 0, 0),
    ]  # fmt: skip
    assert [step.step_id for step in trajectory.steps] == [1, 2, 3, 4]
    answers = trajectory.steps[1].observation
    assert answers is not None
    assert [(a.source_call_id, a.content, a.extra) for a in answers.results] == [
        ("2", "no", {"is_error": True, "exit_code": 1}), ("1", "yes", {}),
    ]  # fmt: skip
    metrics = trajectory.steps[1].metrics
    assert metrics is not None
    assert (metrics.prompt_tokens, metrics.cached_tokens, metrics.completion_tokens) == (123, 20, 7)
    assert metrics.extra == {"cache_write_tokens": 3, "reasoning_tokens": 2}


def test_an_agent_that_tells_of_a_response_after_what_it_said() -> None:
    trajectory = trajectory_of(
        Text("I look."), ToolCall("1", "read", {}), ToolResult("1", "yes", False), ToolCall("2", "read", {}),
        ToolResult("2", "yes", False), response("a"), Text("Done."), response("b"),
    )  # fmt: skip
    assert outline(trajectory)[1:] == [("agent", "I look.", 2, 2), ("agent", "Done.", 0, 0)]
    assert all(step.metrics for step in trajectory.steps[1:])


def test_an_agent_that_tells_of_no_responses() -> None:
    trajectory = trajectory_of(
        Text("I look."), ToolCall("1", "shell", {}), ToolResult("1", "yes", False), ToolCall("2", "shell", {}),
        ToolResult("2", "yes", False), Text("Done."),
    )  # fmt: skip
    assert outline(trajectory)[1:] == [("agent", "I look.", 1, 1), ("agent", "", 1, 1), ("agent", "Done.", 0, 0)]


def test_the_output_of_a_response_that_is_not_over_is_unknown() -> None:
    metrics = trajectory_of(response("a", final=False)).steps[1].metrics
    assert metrics is not None
    assert (metrics.prompt_tokens, metrics.completion_tokens) == (123, None)


def test_what_happens_around_the_conversation_has_steps() -> None:
    trajectory = trajectory_of(
        Retry(1, 2.5, 429, "rate limit"), Compaction("auto", 900), PermissionDenied("Bash", "mode"), Notice("hm"),
        End(Outcome.of(OutcomeKind.TURN_LIMIT, "3 turns")),
    )  # fmt: skip
    assert [(step.source, step.message) for step in trajectory.steps[1:]] == [
        ("system", "retry 1 in 2.5 s after status 429: rate limit"),
        ("system", "the conversation was compacted (auto)"),
        ("system", "Bash was refused: mode"),
        ("system", "hm"),
        ("system", "turn_limit: 3 turns"),
    ]
    assert trajectory.steps[-1].extra == {"event": "end", "outcome": "turn_limit"}


@pytest.mark.parametrize("name", ["subagents", "subagents_background"])
def test_subagents_have_trajectories_of_their_own(name: str) -> None:
    trajectory = trajectory_of_stream(name)
    calls = [call for step in trajectory.steps for call in step.tool_calls]
    assert {call.function_name for call in calls} == {"Agent"}
    inside = {part.trajectory_id: part for part in trajectory.subagent_trajectories}
    assert list(inside) == [call.tool_call_id for call in calls]
    answers = [result for step in trajectory.steps if step.observation for result in step.observation.results]
    assert [[ref.trajectory_id for ref in answer.subagent_trajectory_ref] for answer in answers] == [
        [call.tool_call_id] for call in calls
    ]
    first = next(iter(inside.values()))
    assert first.agent.extra == {"kind": "general-purpose"}
    assert [call.function_name for step in first.steps for call in step.tool_calls] == ["Bash"]


def test_secrets_are_masked_everywhere() -> None:
    trajectory = trajectory_of(
        Text(f"key {SECRET}"), ToolCall("1", "Bash", {"command": f"echo {SECRET}", "deep": [{"x": SECRET}]}),
        ToolResult("1", "." * (LONGEST - 20) + SECRET + "." * 99, False), Notice(SECRET),
    )  # fmt: skip
    written = trajectory.model_dump_json()
    assert SECRET[:7] not in written
    assert written.count("[redacted]") >= 4


def test_long_output_is_cut_and_says_by_how_much() -> None:
    said = "a" * 60_000 + "z" * 60_000
    trajectory = trajectory_of(
        ToolCall("1", "Write", {"path": "x", "content": said, "many": list(range(9_000))}), ToolResult("1", said, False)
    )
    step = trajectory.steps[1]
    assert step.observation is not None
    content = step.observation.results[0].content
    assert content is not None
    assert content.startswith("aaa") and content.endswith("zzz")
    assert "[... 110,000 characters cut ...]" in content
    assert len(content) < LONGEST + 50
    assert step.tool_calls[0].arguments["path"] == "x"
    assert len(orjson.dumps(step.tool_calls[0].arguments)) < 3 * LONGEST


def test_arguments_of_any_depth_can_be_kept() -> None:
    deep: object = "bottom"
    for _ in range(200):
        deep = {"in": deep}
    assert trajectory_of(ToolCall("1", "odd", {"a": deep})).steps[1].tool_calls[0].arguments["a"]


def test_an_answer_to_no_known_call_is_kept_without_its_id() -> None:
    trajectory = trajectory_of(Text("Hm."), ToolResult("nobody", "yes", False))
    answers = trajectory.steps[1].observation
    assert answers is not None
    assert (answers.results[0].source_call_id, answers.results[0].content) == (None, "yes")


@pytest.mark.slow
def test_memory_is_bounded_and_what_is_missing_is_told() -> None:
    recorder = TrajectoryRecorder("Do it.", Redactor())
    answer = "x" * 50_000
    tracemalloc.start()
    try:
        for index in range(3 * MOST_STEPS):
            call = ToolCall(str(index), "Bash", {"command": "cat"})
            recorder.add([response(f"r{index}"), call, ToolResult(str(index), answer, False)])
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 60_000_000
    trajectory = recorded(recorder)
    assert len(trajectory.steps) == MOST_STEPS
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_steps == 3 * MOST_STEPS + 1
    assert trajectory.notes == "Attempt 1. Of 30,001 steps the first 10,000 are here."


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ok", "partial", "denied", "err429", "subagents", "subagents_background", "refusal"])
def test_the_formats_own_validator_takes_it(name: str, validator: Path, tmp_path: Path) -> None:
    file = tmp_path / "trajectory.json"
    write_record(file, trajectory_of_stream(name))
    check = "import sys, harbor.utils.trajectory_validator as v\nw = v.TrajectoryValidator()\n"
    check += "ok = w.validate(sys.argv[1])\nprint(*w.errors, sep='\\n')\nsys.exit(not ok)\n"
    done = subprocess.run([validator, "-c", check, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python with the format's own package, in an environment made for it."""
    newer = next(filter(None, map(_real_program, _pythons())), None)
    if newer is None:
        pytest.skip("harbor needs Python 3.12 or newer, and there is none on this machine")
    place = tmp_path_factory.mktemp("harbor") / "venv"
    python = place / "bin" / "python"
    subprocess.run([newer, "-m", "venv", place], check=True, timeout=120)
    for packages in (["--no-deps", HARBOR], ["pydantic"]):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, timeout=300)
    return python


def _pythons() -> list[str]:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return ["python3.14", "python3.13", "python3.12", *map(str, versions.glob("3.*/bin/python3"))]


def _real_program(name: str) -> str | None:
    """Return the path of a Python 3.12 or newer; a version manager's shim may be for one that is switched off."""
    check = "import sys; sys.exit(sys.version_info < (3, 12))"
    found = shutil.which(name)
    works = found and subprocess.run([found, "-c", check], capture_output=True, check=False).returncode == 0
    return found if works else None
