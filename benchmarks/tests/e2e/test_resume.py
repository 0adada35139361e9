"""A harness that is killed, interrupted or told to stop loses nothing, and leaves no process behind."""

import pathlib
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, alive_with_mark, check_lower_bound, needs_agent
from swetrials.records.outcome import OutcomeKind

pytestmark = [pytest.mark.slow, needs_agent("claude")]


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


WITHOUT_THE_FIRST = ("--tasks", "slugify-unicode", "--tasks", "temperature-table")


def start_until_it_hangs(place: Workplace, *tasks: str) -> subprocess.Popen[str]:
    """Start a run in which the trial of ``slugify-unicode`` hangs, and come back when that one is under way."""
    scenario = place.root / "hanging.yaml"
    text = (QUICKSTART.parent / "quickstart" / "scenario.yaml").read_text()
    hanging = 'when: "task_id: slugify-unicode"'
    assert hanging in text
    scenario.write_text(text.replace(hanging, f"{hanging}\n    fault: {{kind: hang_mid_stream, at_step: 1}}"))
    process = subprocess.Popen(
        place.words("run", "--dataset", QUICKSTART, "--scenario", scenario, "--skip-probe", "--order", "sequential",
                    *tasks),
        cwd=BENCHMARKS, env=place.environ(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    stream = place.trial("slugify-unicode").attempt_folder(1) / "stream.jsonl"
    # Its first response is whole, its second one hangs.
    wait_for(lambda: stream.exists() and stream.read_bytes().count(b'"type":"message_start"') == 2)
    return process


@pytest.mark.once
def test_killed_in_the_second_trial_and_resumed(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    process = start_until_it_hangs(place)
    process.kill()
    process.wait()
    left = [path.name for path in place.work.iterdir() if path.name.startswith("slugify-unicode-1-") and path.is_dir()]
    assert len(left) == 1
    first = {
        p: (p.read_bytes(), p.stat().st_mtime_ns) for p in place.trial("word-tally").path.rglob("*") if p.is_file()
    }
    assert place.records()["slugify-unicode"].outcome.kind is OutcomeKind.INTERRUPTED
    assert not place.trial("temperature-table").path.exists()

    done = place.run("run", "--dataset", QUICKSTART, "--skip-probe", "--resume")

    assert done.returncode == 0, done.stdout + done.stderr
    assert alive_with_mark(*left) == []
    assert not (place.work / left[0]).exists()
    again = {
        p: (p.read_bytes(), p.stat().st_mtime_ns) for p in place.trial("word-tally").path.rglob("*") if p.is_file()
    }
    assert again == first
    assert {name: r.outcome.kind for name, r in place.records().items()} == {
        "word-tally": OutcomeKind.COMPLETED,
        "slugify-unicode": OutcomeKind.COMPLETED,
        "temperature-table": OutcomeKind.INCOMPLETE_ARTIFACTS,
    }
    assert list((place.results / ".trash").rglob("slugify-unicode/metrics.json"))
    assert not list(place.results.rglob("*.tmp"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(tmp_path: pathlib.Path, number: signal.Signals) -> None:
    place = Workplace(tmp_path)
    process = start_until_it_hangs(place, *WITHOUT_THE_FIRST)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "--resume" in output
    record = place.records()["slugify-unicode"]
    assert record.outcome.kind is OutcomeKind.INTERRUPTED
    assert [attempt.ended_by for attempt in record.attempts] == ["cancelled"]
    check_lower_bound(record)
    assert alive_with_mark(record.attempts[0].id) == []
    assert not place.trial("temperature-table").path.exists()


def test_an_agent_that_is_killed_in_mid_stream_is_counted(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    process = start_until_it_hangs(place, *WITHOUT_THE_FIRST)
    [attempt] = [
        path.name for path in place.work.iterdir() if path.is_dir() and path.name.startswith("slugify-unicode-1-")
    ]
    for agent in alive_with_mark(attempt):
        agent.kill()
    process.communicate(timeout=60)
    record = place.records()["slugify-unicode"]
    assert record.outcome.kind is OutcomeKind.AGENT_CRASHED
    check_lower_bound(record)
