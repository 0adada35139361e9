"""Validating a dataset looks at the repositories that lie on this machine."""

import subprocess
from pathlib import Path

import pytest

from e2e.harness import Workplace
from swetrials.cli.dataset import show_dataset
from swetrials.store.problems import DocumentError

DATASET = """schema_version: "1.0"
name: one
tasks:
  - id: task-1
    repo: {repo}
    ref: {ref}
    complexity: low
    problem_statement: Do it.
"""


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    git = ["git", "-C", str(tmp_path / "mine"), "-c", "user.name=n", "-c", "user.email=n@localhost"]
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tmp_path / "mine")], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    return Workplace(tmp_path)


@pytest.mark.parametrize(
    ("repo", "ref", "code", "said"),
    [
        ("./mine", "main", 0, "valid"),
        ("./nowhere", "main", 2, "tasks[0] (task-1)"),
        ("./mine", "abcdefabcdefabcdefabcdefabcdefabcdefabcd", 2, "tasks[0] (task-1)"),
        ("./mine", "no-such-branch", 2, "no-such-branch"),
        ("https://127.0.0.1:9/never-asked.git", "main", 0, "valid"),
    ],
)
def test_a_local_repository_and_its_commit_have_to_be_there(
    place: Workplace, repo: str, ref: str, code: int, said: str
) -> None:
    file = place.root / "x.yaml"
    file.write_text(DATASET.format(repo=repo, ref=ref))
    done = place.command("dataset", "validate", str(file))
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("text", ["", "hello\n"])
def test_a_solution_without_a_change_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "gold.patch").write_text(text)
    (tmp_path / "d.yaml").write_text(
        'schema_version: "1.0"\nname: d\ndefault_ref: main\ntasks:\n  - id: one\n    repo: https://git.example/a.git\n'
        "    complexity: low\n    problem_statement: Do it.\n    verify:\n      commands: [pytest]\n"
        "      solution: gold.patch\n"
    )
    with pytest.raises(DocumentError, match=r"solution: 'gold\.patch' holds no change; write it with: git diff"):
        show_dataset(tmp_path / "d.yaml")
