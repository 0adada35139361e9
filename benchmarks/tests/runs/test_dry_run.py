"""What a dry run shows is what an agent's program is then started with: words, environment, standard input, files."""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from hosting.server import Server, models
from runs.prepared_runs import bench_of, run
from swetrials.agents import AGENTS
from swetrials.agents.packages import PACKAGES
from swetrials.runs.benchmark import RunOptions
from swetrials.runs.dry_run import describe
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.redaction import MASK
from swetrials.trials.plan import plan_run
from swetrials.workspace.processes import MARK
from trials.stand_in import SECRET, Yard

NOTES = "notes.json"

RECORDER = """\
import json, os, pathlib, sys
home = pathlib.Path(os.environ["HOME"])
notes = {
    "argv": sys.argv, "environment": dict(os.environ), "cwd": os.getcwd(), "stdin": sys.stdin.read(),
    "files": {str(path): path.read_text() for path in home.rglob("*") if path.is_file()},
}
pathlib.Path(PLACE).write_text(json.dumps(notes))
"""
"""A program in the agent's place, which notes how it was started, says nothing and ends."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.answer = models("some-model")
    yield server
    server.close()


@pytest.fixture(params=sorted(AGENTS))
def prepared(request: pytest.FixtureRequest, tmp_path: Path, server: Server) -> PreparedRun:
    agent, package = AGENTS[request.param], PACKAGES[request.param]
    folder = tmp_path / "project" / ".tools" / package.name
    about = folder / "node_modules" / package.npm / "package.json"
    binary = folder / package.executable.replace("*", "machine")
    for path in (about, binary):
        path.parent.mkdir(parents=True, exist_ok=True)
    about.write_text(f'{{"version": "{package.version}"}}')
    binary.write_text(f"#!{sys.executable} -I\nPLACE = {str(tmp_path / NOTES)!r}\n{RECORDER}")
    binary.chmod(0o755)
    yard = Yard(tmp_path, config={"endpoint": server.url, "dialect": min(agent.dialects), "context_window": 200_000})
    plan = plan_run(yard.runner(), yard.dataset(), agent, yard.root / "skills")
    return replace(bench_of(yard), plan=plan)


def section(shown: str, begin: str, end: str) -> str:
    """Return what a dry run tells between two of its headings."""
    return shown.partition(f"\n{begin}\n")[2].partition(f"\n{end}")[0]


def test_a_dry_run_shows_what_the_agent_is_then_started_with(prepared: PreparedRun, tmp_path: Path) -> None:
    shown = describe(prepared)
    assert not (tmp_path / NOTES).exists()
    run(prepared, RunOptions(skip_probe=True))
    text = (tmp_path / NOTES).read_text(encoding="utf-8")
    [attempt] = {*re.findall(r"task-1-1-\w+", text)}
    notes = orjson.loads(text.replace(attempt, "task-1-1-ID"))

    assert SECRET in text and SECRET not in shown
    assert shlex.split(section(shown, "argv:", "standard input: ")) == notes["argv"]
    assert f"\ncwd: {notes['cwd']}  (" in shown
    environment = {name: value for name, value in notes["environment"].items() if name != MARK}
    told = sorted(
        (name, MASK if prepared.place.redactor.hides(name, value) else value) for name, value in environment.items()
    )
    assert section(shown, "environment:", "files:") == "\n".join(f"  {name}={value}" for name, value in told)
    sizes = {path: f"({len(content.encode())} bytes)" for path, content in notes["files"].items()}
    files = section(shown, "files:", "prompt:").splitlines()
    assert sorted(files) == sorted(f"  {path}  {size}" for path, size in sizes.items())
    [standard_input] = re.findall(r"\nstandard input: (.*)", shown)
    assert notes["stdin"] == notes["files"][standard_input]


def test_what_a_task_runs_in_is_shown_without_the_value_of_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDEX_TOKEN", "the-token")
    yard = Yard(tmp_path)
    asked = {"python": "3.11", "setup": ["pip install -e ."], "setup_secrets": ["INDEX_TOKEN"], "env": {"TZ": "UTC"}}
    yard.file.write_bytes(orjson.dumps({**orjson.loads(yard.file.read_bytes()), "environment": asked}))
    shown = describe(bench_of(yard))
    told = shown.partition("\nenvironment: ")[2].partition("\nargv:")[0].splitlines()
    assert told[0] == "host, network: model, open: on the host nothing keeps a program from the network"
    assert [line.strip() for line in told[1:]] == [
        "python: 3.11", "setup: pip install -e .", "setup_secrets: INDEX_TOKEN", "env: TZ=UTC",
    ]  # fmt: skip
    assert "the-token" not in shown
