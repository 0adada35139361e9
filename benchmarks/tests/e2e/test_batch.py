"""Two models of the registry, served one after another by a stand-in for vLLM, with the real Claude Code and Codex."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from e2e.harness import QUICKSTART, Workplace, needs_agent
from hosting.stand_in_vllm import install
from ports import port_for_a_server
from swetrials.hosting import process
from swetrials.hosting.collector.service import NAME as COLLECTOR
from swetrials.hosting.collector.time_series import last_session
from swetrials.hosting.vllm.server import SERVICE as VLLM
from swetrials.records.summary import RunSummary
from swetrials.store.files import read_record
from swetrials.store.project import find_project
from swetrials.workspace.git import run_git, users_environment

pytestmark = [pytest.mark.slow, needs_agent("claude"), needs_agent("codex")]

FIRST, SECOND = "qwen3-coder-30b", "gemma-4-31b"
SWETRIALS = str(Path(sys.executable).with_name("swetrials"))
LONG_SECONDS = 180.0


class Place(Workplace):
    """A person's corner with a project of its own, so that its services are its own too."""

    @property
    def state(self) -> Path:
        return self.root / "clone" / "benchmarks" / ".tools" / "run"

    @property
    def log(self) -> str:
        return (self.state / "batch.log").read_text()

    def batch(self, *arguments: str) -> list[str]:
        return [SWETRIALS, "batch", *arguments]

    def start(self, *arguments: str, models: Sequence[str] = (FIRST, SECOND)) -> list[str]:
        port = port_for_a_server()
        words = self.words("batch", *models, "--dataset", QUICKSTART, "--tasks", "word-tally", "--sandbox", "none",
                           "--judge-provider", "rehearsal", "--endpoint", f"http://127.0.0.1:{port}")  # fmt: skip
        return [*words, *arguments]

    def call(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env=self.environ(), cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LONG_SECONDS, check=False,
        )  # fmt: skip

    def folder(self, model: str) -> Path:
        return self.results / model / "claude-code" / "swe3" / "quickstart"

    def summary(self, model: str) -> RunSummary:
        return read_record(self.folder(model) / "run-summary.json", RunSummary)

    def wait_for_the_end(self) -> None:
        until(lambda: self.call(self.batch("status")).returncode == 1)


def until(true: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + LONG_SECONDS
    while not true():
        assert time.monotonic() < give_up_at, "it took too long"
        time.sleep(0.05)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    real, clone = find_project(), tmp_path / "clone" / "benchmarks"
    (clone / "src" / "swetrials").mkdir(parents=True)
    (clone / "pyproject.toml").touch()
    shutil.copytree(real.config, clone / "config")
    (clone.parent / ".claude").mkdir()
    (clone.parent / ".claude" / "skills").symlink_to(real.skills)
    install(clone / ".tools" / "vllm")
    for agent in ("claude-code", "codex"):
        (clone / ".tools" / agent).symlink_to(real.tools / agent)
    scenario = QUICKSTART.with_suffix("") / "scenario.yaml"
    place = Place(tmp_path, {"SWETRIALS_HOME": str(clone), "STAND_IN_SCENARIO": str(scenario)})
    yield place
    for service in ("batch", COLLECTOR, VLLM):
        process.stop(place.state, service, drain_seconds=5)


def nothing_is_left(place: Place) -> bool:
    return process.find(place.state, VLLM) is None and process.find(place.state, COLLECTOR) is None


def test_async_judges_beside_the_next_model_and_commits_what_is_scored(place: Place) -> None:
    git = [*("git", "-C", str(place.root)), *("-c", "user.name=n", "-c", "user.email=n@localhost")]
    subprocess.run([*git, "init", "--quiet", "--initial-branch=results"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    place.home.mkdir()
    (place.home / ".gitconfig").write_text("[user]\n\tname = Someone\n\temail = someone@localhost\n")

    done = place.call(place.start("--judge-mode", "async", "--commit", "--no-detach"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "ALL DONE: 2 models, 0 failed"
    proved, served, judging = (done.stdout.index(text) for text in ("codex 0.", "run: serving", "judging: judging"))
    assert proved < served, "the judge has to answer before the first model is served"
    assert judging < done.stdout.index(f"{SECOND}  run: done"), "the first model is judged beside the second"
    for model in (FIRST, SECOND):
        assert (place.summary(model).num_tasks, place.summary(model).num_scored) == (1, 1)
        [archive] = (place.results / ".metrics" / "archive").glob(f"{model}_quickstart_*.duckdb")
        session = last_session(place.results / ".metrics" / model)
        assert archive.stat().st_size and session is not None and session.scrapes > session.failed
    printed = run_git("log", "--format=%s", "--name-only", purpose="look", environment=users_environment(),
                      cwd=place.root).decode()  # fmt: skip
    assert sorted(line for line in printed.splitlines() if line) == sorted(
        ["first"]
        + [f"Run summary of {model}" for model in (FIRST, SECOND)]
        + [str(place.folder(m).relative_to(place.root) / f"run-summary.{k}") for m in (FIRST, SECOND)
           for k in ("json", "md")]
    )  # fmt: skip
    assert nothing_is_left(place)


def test_one_judging_fails_and_the_other_models_summary_is_there(place: Place) -> None:
    batch = subprocess.Popen(
        place.start("--no-detach", "--judge", "codex"), env=place.environ(), cwd=place.root, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    trial = place.folder(FIRST) / "word-tally"
    until((trial / "metrics.json").is_file)
    (trial / "judge-codex.jsonl").mkdir()  # where the judge's stream would go

    said, _ = batch.communicate(timeout=LONG_SECONDS)

    assert batch.returncode == 1
    ending = said.splitlines()[-2:]
    assert ending[0].startswith(f"failed: {FIRST}: judging of quickstart: a judge failed"), said
    assert ending[1] == "ALL DONE: 2 models, 1 failed"
    assert place.summary(FIRST).num_scored == 0
    assert place.summary(SECOND).num_scored == 1


def test_it_goes_on_when_its_terminal_is_closed(place: Place) -> None:
    ours, theirs = os.openpty()
    command = " ".join(f"'{word}'" for word in place.start("--judge-mode", "skip"))
    shell = subprocess.Popen(
        ["/bin/sh", "-c", f"{command}; sleep 1000"], env=place.environ(), cwd=place.root, start_new_session=True,
        stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    said = ""
    while "swetrials batch status | tail | stop" not in said:
        said += os.read(ours, 10_000).decode()
    os.close(ours)
    shell.wait(timeout=30)

    assert f"follow  tail -f {place.state / 'batch.log'}" in said.replace("\r", "")
    status = json.loads(place.call(place.batch("status", "--json")).stdout)
    assert status["running"] and f"pid {status['pid']}" in said
    tail = place.call(place.batch("tail"))
    assert tail.stdout.splitlines()[-1] == "ALL DONE: 2 models, 0 failed"
    place.wait_for_the_end()
    assert [place.summary(model).num_tasks for model in (FIRST, SECOND)] == [1, 1]
    assert nothing_is_left(place)


def test_a_stopped_batch_saves_what_it_has_and_goes_on_with_resume(place: Place) -> None:
    started = place.call(place.start("--judge-mode", "skip"))
    assert started.returncode == 0, started.stdout + started.stderr
    again = place.call(place.start())
    assert again.returncode == 2 and "a batch is running already" in again.stderr
    until((place.folder(SECOND) / "word-tally" / "metrics.json").is_file)
    stopped = place.call(place.batch("stop"))
    assert "the batch is stopped" in stopped.stdout, stopped.stdout
    assert nothing_is_left(place)
    assert "was stopped" in place.call(place.batch("status")).stdout

    resumed = place.call(place.start("--judge", "tests", "--resume", "--no-detach"))

    assert resumed.returncode == 0, resumed.stdout
    assert f"{FIRST}: resuming: 1 finished trials stay, 0 to run" in resumed.stdout
    assert [place.summary(model).num_tasks for model in (FIRST, SECOND)] == [1, 1]
