"""What counts as a judge's read of the repository, and what does not."""

from pathlib import Path

import pytest

from swetrials.agents.events import Event, ToolCall, ToolResult
from swetrials.judging.grounding import GroundingWitness, stages
from swetrials.records.evaluation import Grounding

README = "# A small library\n\nIt adds numbers.\n"
ADD = "def add(first: int, second: int) -> int:\n    return first + second\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    repository = tmp_path / "checkout"
    (repository / "src").mkdir(parents=True)
    (repository / ".git").mkdir()
    (repository / ".git" / "config").write_text("[core]\n\tbare = false\n")
    (repository / "README.md").write_text(README)
    (repository / "src" / "add.py").write_text(ADD)
    (repository / "empty.txt").touch()
    (tmp_path / "outside.txt").write_text("a secret of somebody else\n")
    (repository / "circle").symlink_to("circle")
    (repository / "link.txt").symlink_to(tmp_path / "outside.txt")
    return repository


def ran(command: str, output: str, exit_code: int | None = 0) -> list[Event]:
    return [
        ToolCall("1", "shell", {"command": command}),
        ToolResult("1", output, is_error=exit_code != 0, exit_code=exit_code),
    ]


def grounding_of(checkout: Path, *events: list[Event]) -> Grounding:
    witness = GroundingWitness(checkout, checkout)
    for batch in events:
        witness.add(batch)
    return witness.grounding


@pytest.mark.parametrize(
    ("command", "output", "files"),
    [
        ("/bin/bash -lc 'cat README.md'", README, {"README.md"}),
        ("/bin/bash -c \"cat 'README.md'\"", README, {"README.md"}),
        ("cat README.md", README, {"README.md"}),
        ("bash -lc 'cd src && cat add.py'", ADD, {"src/add.py"}),
        ("bash -lc 'sed -n 1,50p src/add.py'", ADD, {"src/add.py"}),
        ("bash -lc 'cat src/add.py | head -1'", ADD.splitlines()[0], {"src/add.py"}),
        ("bash -lc 'nl -ba src/*.py'", f"     1\t{ADD}", {"src/add.py"}),
        ("bash -lc 'cat README.md src/add.py'", README + ADD, {"README.md", "src/add.py"}),
        ("bash -lc 'cat < README.md'", README, {"README.md"}),
        ("bash -lc 'git show HEAD:src/add.py'", ADD, {"src/add.py"}),
        ("bash -lc 'cat README.md\ncat src/add.py'", README + ADD, {"README.md", "src/add.py"}),
        ("python3 - <<'EOF'\nprint(open('README.md').read())\nEOF", README, {"README.md"}),
        ("bash -lc 'for f in README.md src/add.py; do cat $f; done'", README + ADD, {"README.md", "src/add.py"}),
        ("bash -lc 'grep -o add src/add.py'", "add\n", {"src/add.py"}),
        ("bash -lc 'cat src/../README.md 2>/dev/null; true'", README, {"README.md"}),
    ],
)
def test_a_read_is_a_file_whose_content_reached_the_judge(
    checkout: Path, command: str, output: str, files: set[str]
) -> None:
    grounding = grounding_of(checkout, ran(command, output))
    assert set(grounding.files_read) == files
    assert grounding.repo_grounded
    assert (grounding.commands_run, grounding.commands_failed) == (1, 0)


@pytest.mark.parametrize(
    "command", ["rg -n add", "bash -lc 'rg add src'", "git grep -n add", "bash -lc 'cd src && grep -rn add . | head'"]
)
def test_a_search_with_hits_grounds(checkout: Path, command: str) -> None:
    assert grounding_of(checkout, ran(command, "src/add.py:1:def add(\n")).repo_grounded


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ls", "README.md\nsrc\n"),
        ("ls README.md", "README.md\n"),
        ("rg --files", "README.md\nsrc/add.py\n"),
        ("bash -lc 'ls | grep README'", "README.md\n"),
        ("echo README.md", "README.md\n"),
        ("cat README.md", ""),
        ("rg nothing", "  \n"),
        ("bash -lc 'cat README.md; true'", "cat: README.md: Permission denied\n"),
        ("bash -lc 'echo It adds numbers. > README.md'", "bash: README.md: Read-only file system\n"),
        ("cat ../outside.txt", "a secret of somebody else\n"),
        ("cat link.txt", "a secret of somebody else\n"),
        ("cat .git/config", "[core]\n\tbare = false\n"),
        ("bash -lc 'cd .. && grep -r secret .'", "./outside.txt:a secret of somebody else\n"),
        ("cat empty.txt no-such-file", "something\n"),
        ("bash -lc 'cat \"README.md'", README),
        ("python3 -c '" + "x = 1;" * 2000 + "'", "1\n"),
        ("cat circle a\0b ***[", "something\n"),
        ("", "output without a command\n"),
    ],
)
def test_what_shows_no_content_of_the_repository_does_not_ground(checkout: Path, command: str, output: str) -> None:
    grounding = grounding_of(checkout, ran(command, output))
    assert grounding.files_read == ()
    assert not grounding.repo_grounded


def test_a_judge_whose_shell_fails_is_not_grounded(checkout: Path) -> None:
    broken = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n"
    grounding = grounding_of(checkout, ran("cat README.md", broken, 1), ran("rg add", broken, None))
    assert grounding == Grounding(commands_run=2, commands_failed=2, files_read=(), repo_grounded=False)


def test_a_command_that_never_ended_counts_for_nothing(checkout: Path) -> None:
    assert grounding_of(checkout, [ToolCall("1", "shell", {"command": "cat README.md"})]) == Grounding()


def test_stages_keep_folder_and_pipe() -> None:
    found = stages("bash -lc 'cd a/b; cat x | grep \"y z\" >out && rg q 2>&1'")
    assert [(stage.words, stage.folder, stage.piped) for stage in found] == [
        (("cat", "x"), "a/b", False),
        (("grep", "y z"), "a/b", True),
        (("rg", "q", "2"), "a/b", False),
    ]
