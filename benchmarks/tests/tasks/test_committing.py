"""Summaries are committed and nothing else is; what is in the way is said and left as it is."""

from pathlib import Path

import pytest

from swetrials.tasks.committing import CommitError, commit_files
from swetrials.workspace.git import run_git, users_environment


def git(folder: Path, *words: str) -> str:
    return run_git(*words, purpose="test", environment=users_environment(), cwd=folder).decode().strip()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a summary, in a repository that ignores it and has a change of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repository = tmp_path / "repository"
    results = repository / "results" / "model"
    results.mkdir(parents=True)
    git(repository, "init", "--quiet", "--initial-branch=work")
    for key, value in (("user.name", "Someone"), ("user.email", "someone@localhost")):
        git(repository, "config", key, value)
    (repository / ".gitignore").write_text("results/\n")
    (repository / "code.py").write_text("x = 1\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=first")
    (repository / "code.py").write_text("x = 2\n")
    (results / "run-summary.json").write_text("{}\n")
    (results / "metrics.json").write_text("{}\n")
    return results


def test_the_summary_alone_is_committed_on_the_current_branch(results: Path) -> None:
    told = commit_files([results / "run-summary.json"], "Run summary of model")
    assert told == f"work {git(results, 'rev-parse', '--short', 'HEAD')}"
    assert git(results, "show", "--name-only", "--format=%s") == (
        "Run summary of model\n\nresults/model/run-summary.json"
    )
    assert git(results, "status", "--short") == "M ../../code.py"


def test_an_unchanged_summary_makes_no_commit(results: Path) -> None:
    commit_files([results / "run-summary.json"], "one")
    assert commit_files([results / "run-summary.json"], "two") == ""
    assert git(results, "log", "-1", "--format=%s") == "one"


def test_a_dirty_index_is_left_as_it_is(results: Path) -> None:
    git(results, "add", "../../code.py")
    with pytest.raises(CommitError, match=r"the index holds other changes \(code.py\)"):
        commit_files([results / "run-summary.json"], "no")
    assert git(results, "diff", "--cached", "--name-only") == "code.py"


def test_a_detached_head_gets_no_commit(results: Path) -> None:
    git(results, "checkout", "--quiet", "--detach")
    with pytest.raises(CommitError, match="HEAD is detached"):
        commit_files([results / "run-summary.json"], "no")
    assert git(results, "log", "-1", "--format=%s") == "first"


def test_what_git_refuses_is_not_left_in_the_index(results: Path) -> None:
    git(results, "config", "commit.gpgSign", "true")
    git(results, "config", "gpg.program", "false")
    with pytest.raises(CommitError, match="cannot commit in"):
        commit_files([results / "run-summary.json"], "no")
    assert git(results, "diff", "--cached", "--name-only") == ""


def test_results_outside_of_any_repository(tmp_path: Path) -> None:
    (tmp_path / "run-summary.json").write_text("{}")
    with pytest.raises(CommitError, match="not a git repository"):
        commit_files([tmp_path / "run-summary.json"], "no")
