"""``import swetrials``: what it gives, that it costs nothing, and that its examples run."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import swetrials
from e2e.harness import needs_agent
from swetrials.runs.example import example_tree
from swetrials.store.project import find_project

EXAMPLES = find_project().root / "examples"
PAGE = (find_project().private / "docs" / "python-api.md").read_text(encoding="utf-8")


def test_every_name_is_there_and_nothing_else_is_public() -> None:
    for name in swetrials.__all__:
        assert getattr(swetrials, name) is not None
    source = ast.parse(Path(swetrials.__file__).read_bytes())
    [typed] = [node for node in source.body if isinstance(node, ast.If)]
    told = {
        alias.asname or alias.name for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert told | {"__version__"} == set(swetrials.__all__)
    assert dir(swetrials) == sorted(swetrials.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsuch'"):
        swetrials.nonsuch  # noqa: B018  looking it up is the point


def test_everything_in_it_is_documented() -> None:
    bare = [name for name in swetrials.__all__ if not (getattr(swetrials, name).__doc__ or "").strip()]
    assert bare == []
    for name in ("run", "judge", "read_results", "leaderboard", "compare"):
        assert f"`{name}(" in PAGE


def test_the_import_loads_no_module_of_ours() -> None:
    program = "import sys, swetrials; print([name for name in sys.modules if name.startswith('swetrials.')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_results_example_reads_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree = example_tree(find_project())
    words: list[str | Path] = [sys.executable, EXAMPLES / "read_results.py", tree, "claude-opus-5", "kimi-k3"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "claude-opus-5 against kimi-k3: " in done.stdout


@pytest.mark.slow
@needs_agent("claude")
def test_the_trial_example_runs_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "run_a_trial.py", tmp_path], capture_output=True, text=True, cwd=find_project().root
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "tests passed: True"
