"""The router's first step with real agents on the rehearsal model: three repeats of each task, one malformed."""

import pathlib
import subprocess
import sys

import pytest

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, needs_agent
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.records.judged_inputs import JudgedInputs
from swetrials.router.inputs.reading import Need, read_judged_inputs
from swetrials.store.files import read_record

pytestmark = pytest.mark.slow

CLAUDE, OMP, CODEX, OPENCODE, PI = (
    pytest.param(name, marks=needs_agent(name), id=name) for name in ("claude", "omp", "codex", "opencode", "pi")
)

# What Claude Code and Codex are asked for they refuse themselves, inside of a sandbox and outside; the others have no
# tool for it in either.
WITHOUT_WRITING = {
    "claude": ("bubblewrap", "none"),
    "codex": ("bubblewrap", "none"),
    "omp": ("none",),
    "opencode": ("none",),
    "pi": ("none",),
}

WRITES = """
schema_version: "1.0"
name: writes
scripts:
  - when: "task_to_judge: word-tally"
    steps:
      - say: I tidy up a little.
        write: {path: word_tally/new.py, content: "x = 1"}
      - say: '{"base_floor": 65, "adjustment": 0, "floor": 65, "tier": "low", "consequence": "None.", "reason": "-"}'
"""


def judge(place: Workplace, out: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script as it is documented."""
    words = [sys.executable, str(BENCHMARKS / "scripts" / "run-swe-router-headless.py"), "--dataset", str(QUICKSTART)]
    words += ["--output-dir", str(place.results), "--clone-dir", str(place.work), "--out-json", str(out), *arguments]
    return subprocess.run(
        words, cwd=BENCHMARKS, env=place.environ(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("agent", [CLAUDE, CODEX])
def test_of_three_repeats_the_malformed_one_fails_and_the_others_count(tmp_path: pathlib.Path, agent: str) -> None:
    place, out = Workplace(tmp_path), tmp_path / "metrics" / "judged.json"
    done = judge(place, out, "--agent", agent, "--repeats", "3", "--concurrency", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 judgments, 1 failed, cost free" in done.stdout

    table = read_judged_inputs(out)
    assert table.needs == {
        "word-tally": Need(70, "low"),
        "slugify-unicode": Need(75, "medium"),
        "temperature-table": Need(70, "trivial"),
    }
    record = table.record
    assert record is not None and record.ended_at is not None and record.rehearsal
    rows = {row.task: row for row in record.tasks}
    assert (rows["slugify-unicode"].floors_seen, rows["slugify-unicode"].spread) == ((75, 75, 80), 5)
    assert rows["slugify-unicode"].tiers_seen == {"medium": 2, "high": 1}
    assert (rows["temperature-table"].floors_seen, rows["temperature-table"].failed) == ((70, 70), 1)
    [failed] = [judgment for judgment in record.judgments if judgment.inputs is None]
    assert (failed.task, failed.repeat) == ("temperature-table", 2)
    assert "base_floor: Input should be 55, 65, 70 or 75" in failed.failure
    assert record.usage.completeness == "complete" and record.cost.basis == "free"
    for judgment in record.judgments:
        stream = (place.results / judgment.stream_log).read_text(encoding="utf-8")
        assert "def " in stream, "it has read a file of the checkout"
    page = tmp_path / "judged.md"
    assert "| slugify-unicode | 75 | medium | 70 | 5 | 75, 75, 80 | medium x2, high x1 | 5 | 0 |" in page.read_text()


@pytest.mark.parametrize("agent", [OMP, OPENCODE, PI])
def test_every_other_agent_judges_too(tmp_path: pathlib.Path, agent: str) -> None:
    place, out = Workplace(tmp_path), tmp_path / "judged.json"
    done = judge(place, out, "--agent", agent, "--tasks", "slugify-unicode", "--repeats", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    table = read_judged_inputs(out)
    assert table.needs == {"slugify-unicode": Need(75, "medium")}
    assert table.record is not None and table.record.usage.completeness == "complete"
    [judgment] = table.record.judgments
    assert "def " in (place.results / judgment.stream_log).read_text(encoding="utf-8"), "it has read the checkout"


@pytest.mark.parametrize(
    ("agent", "sandbox"),
    [
        pytest.param(name, sandbox, marks=needs_agent(name))
        for name, sandboxes in WITHOUT_WRITING.items()
        for sandbox in sandboxes
    ],
)
def test_a_model_that_wants_to_write_writes_nothing(tmp_path: pathlib.Path, agent: str, sandbox: str) -> None:
    if sandbox == "bubblewrap" and bubblewrap() is None:
        pytest.skip("bubblewrap does not work here")
    scenario, out = tmp_path / "writes.yaml", tmp_path / "judged.json"
    scenario.write_text(WRITES)
    place = Workplace(tmp_path)
    done = judge(
        place, out, "--agent", agent, "--tasks", "word-tally", "--sandbox", sandbox, "--scenario", str(scenario)
    )
    [judgment] = read_record(out, JudgedInputs).judgments
    stream = (place.results / judgment.stream_log).read_text(encoding="utf-8")
    if agent in {"claude", "codex"}:  # what the model asks for is refused, and it goes on
        assert judgment.inputs is not None, done.stdout + judgment.failure
        assert judgment.num_turns == 2
    else:
        assert "No tool is offered that could do this" in stream
        assert judgment.failure.startswith("no usable answer"), judgment.failure
