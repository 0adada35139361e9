"""What is run in place of a patch: which files are as the solution has them, and which are left out."""

from dataclasses import replace
from pathlib import Path

import pytest

from judging.submissions import TASK, submission
from swetrials.judging.guards.guarding import Guarded, guard
from swetrials.records.dataset import Verify
from swetrials.workspace.patch_sections import patch_sections
from swetrials.workspace.repositories import Repositories
from workspace.sources import commit_all, git, new_repository

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "setup.cfg": "[x]\n",
    "tests/test_calc.py": "def test_a(): ...\n",
}
SOLVED = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "setup.cfg": "[y]\n",
    "tests/test_more.py": "def test_b(): ...\n",
}
MINE = {"calc.py": "add = int.__add__\n", "setup.cfg": "[z]\n", "tests/test_calc.py": "", "conftest.py": "x = 1\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = new_repository(tmp_path / "repo")
    write(folder, FILES)
    commit_all(folder, "first")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def diff(repo: Path, files: dict[str, str]) -> bytes:
    write(repo, files)
    git(repo, "add", "--all", "--force")
    git(repo, "diff", "--cached", f"--output={repo.parent / 'patch'}")
    git(repo, "reset", "--quiet", "--hard")
    return (repo.parent / "patch").read_bytes()


def guarded(repo: Path, patch: bytes, solution: bytes | None) -> Guarded:
    verify = Verify.model_validate({"commands": ["pytest"]})
    commit = git(repo, "rev-parse", "HEAD")
    given = submission(task=TASK, repo=str(repo), commit=commit, hidden_files={}, patch=patch)
    return guard(replace(given, solution=solution), verify, Repositories(repo.parent / "mirrors"))


def holds(patch: bytes | None) -> dict[str, bytes]:
    assert patch is not None
    return {section.paths[0]: section.data for section in patch_sections(patch)}


def test_with_a_solution_files_that_decide_are_as_it_has_them(repo: Path) -> None:
    mine, theirs = diff(repo, MINE), diff(repo, SOLVED)
    found = guarded(repo, mine, theirs)
    run = holds(found.patch)
    assert run == {
        "calc.py": holds(mine)["calc.py"],
        "setup.cfg": holds(theirs)["setup.cfg"],
        "tests/test_more.py": holds(theirs)["tests/test_more.py"],
    }
    assert [(one.kind, one.file, one.fate) for one in found.touched] == [
        ("runner-file", "conftest.py", "it was left out"),
        ("runner-file", "setup.cfg", "it is as the solution has it"),
        ("test-file", "tests/test_calc.py", "it is as it was before the change"),
    ]
    assert (found.without, found.tests_touched, found.weak) == (None, True, False)


def test_the_solution_itself_is_run_as_it_is(repo: Path) -> None:
    theirs = diff(repo, SOLVED)
    signed = theirs + b"-- \n2.39.5\n\n"  # as git format-patch ends
    for solution in (theirs, signed):
        found = guarded(repo, theirs, solution)
        assert holds(found.patch) == holds(theirs)
        assert (found.touched, found.doubts) == ((), ())


def test_without_a_solution_a_patch_is_held_against_itself(repo: Path) -> None:
    mine = diff(repo, MINE)
    found = guarded(repo, mine, None)
    assert found.patch == mine
    assert [*holds(found.without)] == ["calc.py"]
    plain = diff(repo, {"calc.py": SOLVED["calc.py"], "tests/test_more.py": "def test_c(): ...\n"})
    assert guarded(repo, plain, None) == Guarded(plain, tests_touched=True)


def test_names_that_no_screen_shows_are_told_all_the_same(repo: Path) -> None:
    odd = b"\xff\x1b[2J"
    (repo / "sub").mkdir()
    (repo.joinpath("sub") / odd.decode(errors="surrogateescape")).mkdir()
    name = f"sub/{odd.decode(errors='surrogateescape')}/conftest.py"
    [one] = guarded(repo, diff(repo, {name: "x = 1\n"}), None).touched
    finding = one.finding()
    assert finding.file == "sub/\\udcff\\x1b[2J/conftest.py"
    assert finding.model_dump_json()


def test_what_hidden_tests_import_is_shadowed_unless_the_solution_makes_it(repo: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden.py"
    hidden.write_text("import checker\nimport calc\nimport fresh\nimport spaces\n")
    write(repo, {"spaces/a.py": ""})
    commit_all(repo, "a package without __init__.py")
    theirs = diff(repo, {"calc.py": SOLVED["calc.py"], "fresh/__init__.py": ""})
    mine = diff(repo, {"calc.py": "x = 1\n", "checker.py": "", "fresh.py": "", "spaces/__init__.py": "", "own.py": ""})
    given = replace(
        submission(task=TASK, repo=str(repo), commit=git(repo, "rev-parse", "HEAD"), patch=mine, solution=theirs),
        hidden_files={"tests/test_hidden.py": hidden},
    )
    found = guard(given, Verify.model_validate({"commands": ["pytest"]}), Repositories(tmp_path / "mirrors"))
    assert [(one.kind, one.file) for one in found.touched] == [("shadowing-module", "checker.py")]
    assert [*holds(found.patch)] == ["calc.py", "fresh.py", "own.py", "spaces/__init__.py"]


def test_what_lies_beside_a_hidden_test_in_a_folder_of_tests_is_a_test(repo: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden.js"
    hidden.write_text("")
    write(repo, {"one/test/helper.js": "exports.check = 1;\n", "two/test/core.js": ""})
    commit_all(repo, "helpers")
    mine = diff(repo, {"one/test/helper.js": "exports.check = 0;\n", "two/test/core.js": "1;\n"})
    given = replace(
        submission(task=TASK, repo=str(repo), commit=git(repo, "rev-parse", "HEAD"), patch=mine),
        solution=diff(repo, {"calc.py": SOLVED["calc.py"]}),
        hidden_files={"one/test/hidden.test.js": hidden},
    )
    found = guard(given, Verify.model_validate({"commands": ["node --test"]}), Repositories(tmp_path / "mirrors"))
    assert [*holds(found.patch)] == ["two/test/core.js"]
