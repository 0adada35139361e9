"""Every command that reads trials counts what a killed run had spent, in a tree that it may write and in one not."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kinds import first_is_quick
from runs.written import evaluation, rubric
from swetrials.records.metrics import Metrics
from swetrials.store.files import read_record, write_record
from swetrials.store.results import TrialFolder

KILLED = Path(__file__).parents[1] / "corpus" / "killed" / "results"
SCOPE = Path("rehearsal") / "claude-code" / "swe3" / "quickstart"
TIMES = re.compile(r'"generated_at": "[^"]*"|Made on [-0-9]+ [0-9:]+')
BASELINE = ("--no-allow-list", "--floor", "0")

READERS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "results": lambda tree: ("results", tree, "--json"),
    "answer": lambda tree: ("answer", tree, "--json"),
    "cost": lambda tree: ("cost", tree, "--json"),
    "report": lambda tree: ("report", tree, "--out", tree.parent / "page.html"),
    "compare": lambda tree: ("compare", tree / SCOPE, tree / SCOPE, "--json"),
    "router build": lambda tree: ("router", "build", tree),
    "router evaluate": lambda tree: ("router", "evaluate", "--data", tree, *BASELINE),
    "summarize": lambda tree: ("summarize", "--folder", tree / SCOPE, "--json"),
}


def swetrials(words: tuple[object, ...], *, as_ordinary_user: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command; an ordinary user is one whom the modes of files bind."""
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    program = [*(bound if as_ordinary_user else []), str(Path(sys.executable).with_name("swetrials"))]
    return subprocess.run([*program, *map(str, words)], capture_output=True, text=True, check=False)


def lay_out(tree: Path) -> None:
    """Put a tree with a killed trial in its place; the other trial has a score, without which there is no router."""
    shutil.copytree(KILLED, tree)
    other = TrialFolder(tree / SCOPE / "word-tally")
    record = other.metrics()
    write_record(other.evaluation_file, evaluation(record, rubric(4)))


def forbid_writing(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def allow_writing(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="nobody can give up root's rights without setpriv"
)
@first_is_quick("name", [*READERS])
def test_a_killed_attempt_is_counted(name: str, tmp_path: Path) -> None:
    tree, words = tmp_path / "results", READERS[name](tmp_path / "results")
    record = tree / SCOPE / "slugify-unicode" / "metrics.json"
    lay_out(tree)
    written = swetrials(words)
    assert written.returncode == 0, written.stderr
    assert [attempt.ended_by for attempt in read_record(record, Metrics).attempts] == ["killed"]
    page = TIMES.sub("", (tmp_path / "page.html").read_text()) if name == "report" else ""

    shutil.rmtree(tree)
    lay_out(tree)
    before = record.read_bytes()
    forbid_writing(tree)
    try:
        read = swetrials(words, as_ordinary_user=True)
    finally:
        allow_writing(tree)
    assert record.read_bytes() == before
    if name == "summarize":  # it writes the summary
        assert (read.returncode, read.stderr.count("\n")) == (1, 1)
        assert "run-summary.json: Permission denied" in read.stderr
        return
    assert (read.returncode, read.stderr) == (0, written.stderr)
    assert TIMES.sub("", read.stdout) == TIMES.sub("", written.stdout)
    if page:
        assert TIMES.sub("", (tmp_path / "page.html").read_text()) == page
