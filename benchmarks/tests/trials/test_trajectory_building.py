"""What a trial leaves of what its agent did."""

from pathlib import Path

import orjson
import pytest

from swetrials.records.metrics import Metrics
from swetrials.records.trajectory import Trajectory
from swetrials.store.files import read_record
from swetrials.trials.trajectory_building import TRAJECTORY
from trials.stand_in import DESIGN, IMPLEMENTED, RECORDED, SAID, SECRET, WHOLE, Yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def calling(yard: Yard, *commands: str) -> str:
    """Return the script of an agent that calls its shell in one response and then ends as recorded."""
    blocks = [
        {"type": "tool_use", "id": f"c{index}", "name": "Bash", "input": {"command": command}}
        for index, command in enumerate(commands)
    ]
    message = {"id": "m0", "model": "m", "content": blocks, "usage": {"input_tokens": 1, "output_tokens": 1}}
    file = yard.root / "calls.jsonl"
    file.write_bytes(orjson.dumps({"type": "assistant", "message": message, "session_id": "s"}) + b"\n")
    return f'{DESIGN}{IMPLEMENTED}cat "{file}" "$RECORDED/ok.jsonl"\n'


def integrity(metrics: Metrics) -> list[str]:
    return [finding.code for finding in metrics.findings if finding.code.startswith("integrity_")]


def test_each_attempt_leaves_a_trajectory_and_the_last_ones_stands_in_front(yard: Yard) -> None:
    scripts = {"only:": IMPLEMENTED + 'cat "$RECORDED/partial.jsonl"\n', "": DESIGN + 'cat "$RECORDED/ok.jsonl"\n'}
    metrics = yard.run(scripts)
    assert [attempt.trajectory for attempt in metrics.attempts] == [f"attempts/{n}/{TRAJECTORY}" for n in (1, 2)]
    first, last = (read_record(yard.left(attempt.trajectory), Trajectory) for attempt in metrics.attempts)
    assert yard.left(TRAJECTORY).read_bytes() == yard.left(metrics.attempts[-1].trajectory).read_bytes()
    assert (first.extra["attempt"], first.extra["outcome"]) == (1, "incomplete_artifacts")
    assert (last.extra["attempt"], last.extra["outcome"]) == (2, "completed")
    assert "task_id: task-1" in first.steps[0].message
    assert last.session_id == metrics.session_id
    assert last.final_metrics is not None
    reported = metrics.attempts[-1].usage.headline.usage
    assert last.final_metrics.total_completion_tokens == reported.output
    assert last.final_metrics.total_prompt_tokens == reported.input
    assert integrity(metrics) == []


def test_what_an_agent_should_not_do_is_in_the_record(yard: Yard) -> None:
    metrics = yard.run(calling(yard, f"cat {yard.root}/dataset/dataset.yaml", "git log --all"))
    assert integrity(metrics) == ["integrity_outside", "integrity_history"]
    assert metrics.findings == metrics.attempts[0].findings


def test_what_a_task_takes_is_no_finding(yard: Yard) -> None:
    assert integrity(yard.run(calling(yard, "git status", "cat greeting.txt", f"ls {RECORDED.root}"))) == []


def test_subagents_are_apart_in_the_record(yard: Yard) -> None:
    [attempt] = yard.run(WHOLE.replace("ok.jsonl", "subagents.jsonl")).attempts
    assert attempt.subagent_usage is not None
    assert (attempt.subagent_usage.output, attempt.usage.headline.usage.output) == (13, 56)
    assert attempt.num_turns == 2


def test_counts_that_cannot_be_are_in_the_record(yard: Yard) -> None:
    lines = [
        {"type": "assistant", "session_id": "s", "message": {"id": f"m{index}", "model": "m", "content": []}}
        for index in range(40)
    ]
    end = {"type": "result", "subtype": "success", "session_id": "s", "usage": {"input_tokens": 9, "output_tokens": 33}}
    file = yard.root / "thrifty.jsonl"
    file.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in [*lines, end]))
    metrics = yard.run(f'{DESIGN}{IMPLEMENTED}cat "{file}"\n')
    assert [(finding.code, finding.message) for finding in metrics.findings] == [
        ("implausible_usage", "the agent reports 33 output tokens over 40 turns")
    ]


def test_no_secret_gets_into_a_trajectory(yard: Yard) -> None:
    metrics = yard.run(calling(yard, f"curl -H 'x-api-key: {SECRET}' localhost"))
    kept = yard.left(metrics.attempts[0].trajectory).read_text()
    assert "x-api-key: [redacted]" in kept
    assert SECRET not in kept


def test_the_repositorys_own_instructions_can_be_kept_from_the_agent(tmp_path: Path) -> None:
    yard = Yard(tmp_path, instructions={"CLAUDE.md": "Answer in verse.\n", ".claude/settings.json": "{}\n"})
    look = 'ls -A > "$ARTIFACTS/implementation.md"; echo changed >> greeting.txt\n'
    script = f'{DESIGN}{look}echo "Mine." > AGENTS.md\ncat "$RECORDED/ok.jsonl"\n'
    metrics = yard.run(script, repo_instructions="neutralise")
    assert yard.left("implementation.md").read_text().split() == [".git", "greeting.txt"]
    patch = yard.left("patch.diff").read_text()
    assert [line for line in patch.splitlines() if line.startswith("diff")] == [
        "diff --git a/AGENTS.md b/AGENTS.md",
        "diff --git a/greeting.txt b/greeting.txt",
    ]
    assert [(finding.code, finding.message) for finding in metrics.findings] == [
        ("instructions_neutralised", "out of the agent's sight: .claude/settings.json, CLAUDE.md")
    ]
    assert metrics.provenance.limits is not None
    assert metrics.provenance.limits.repo_instructions == "neutralise"
    kept = yard.run(f"{DESIGN}{look}{SAID}")
    assert yard.left("implementation.md").read_text().split() == [".claude", ".git", "CLAUDE.md", "greeting.txt"]
    assert kept.findings == ()
