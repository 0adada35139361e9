"""What a project's manifests say of its runner and of its environment, and journals."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from swetrials.errors import UsageError
from swetrials.mining.environment_of_day import ways_to_prepare
from swetrials.mining.history import open_history
from swetrials.mining.journal import JOURNAL, claim_folder, open_journal
from swetrials.mining.mirror_reader import MirrorReader
from swetrials.mining.project_files import ProjectFiles, project_files
from swetrials.mining.runners import asked_runner, runner_of
from swetrials.records.mined import MINING_REFUSAL_REASONS, MINING_REFUSALS, MinedVerdict
from swetrials.store.project import find_project
from swetrials.workspace.repositories import Repositories
from workspace.sources import commit_all, new_repository


def project(texts: Mapping[str, str], *paths: str) -> ProjectFiles:
    return ProjectFiles(dict.fromkeys((*texts, *paths), "0" * 40), dict(texts))


def package(script: str, **more: object) -> str:
    scripts = {"test": script, "lint": "eslint .", "build": "tsc -p .", **more}
    return orjson.dumps(
        {"name": "it", "scripts": scripts, "devDependencies": {"mocha": "10.2.0", "eslint": "8"}}
    ).decode()


FUNCTION, CLASS = b"def test_it():\n    pass\n", b"import unittest\n\nclass T(unittest.TestCase):\n    pass\n"


@pytest.mark.parametrize(
    ("found", "test", "command", "report"),
    [
        (
            project({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['t']\n"}),
            FUNCTION,
            "python -m pytest",
            "junit",
        ),
        (project({"setup.py": ""}, "tests/test_a.py"), FUNCTION, "python -m pytest tests", "junit"),
        (project({}, "conftest.py", "test/test_a.py"), CLASS, "python -m pytest test", "junit"),
        (project({}, "tests/__init__.py"), CLASS, "python -m unittest discover", "unittest"),
        (project({}, "tests/test_a.py"), CLASS, "python -m unittest discover -s tests", "unittest"),
    ],
)
def test_runners_of_python(found: ProjectFiles, test: bytes, command: str, report: str) -> None:
    runner = runner_of(found, [("tests/test_a.py", test)])
    assert runner is not None
    assert ([" ".join(argv) for argv in runner.commands], runner.report) == ([command], report)


@pytest.mark.parametrize(
    ("script", "segment", "report", "setup"),
    [
        ("mocha --reporter spec --bail --check-leaks test/", "mocha --check-leaks test/", "junit", []),
        ("npm run lint && npm run build && jest --coverage --ci", "jest", "junit", ["tsc -p ."]),
        ("nyc --reporter=lcov mocha -R dot", "mocha", "junit", []),
        ("vitest run --reporter=verbose", "vitest run", "junit", []),
        ("node --test --test-reporter=spec test/", "node --test test/", "node-test", []),
        ("npm run unit", "mocha test", "junit", []),
    ],
)
def test_runners_of_node_keep_the_options_of_the_projects_own_script(
    script: str, segment: str, report: str, setup: list[str]
) -> None:
    runner = runner_of(project({"package.json": package(script, unit="mocha test")}), [("test/a.js", b"")])
    assert runner is not None
    before = 'PATH="$PWD/node_modules/.bin:$PATH" '
    assert [argv[-1] for argv in runner.commands] == [before + segment]
    assert [argv[-1] for argv in runner.setup] == [before + line for line in setup]
    assert runner.report == report


def test_what_nothing_runs_has_no_runner() -> None:
    assert runner_of(project({"go.mod": ""}, "a_test.go"), [("a_test.go", b"")]) is None
    assert runner_of(project({"package.json": package("echo no tests")}), [("test/a.js", b"")]) is None
    assert runner_of(project({"package.json": "{"}), [("test/a.js", b"")]) is None


def test_a_command_that_a_person_gives_is_words_or_a_line_for_a_shell() -> None:
    assert asked_runner("make check", "tap").commands == (("make", "check"),)
    line = "cd sub && go test -json ./... > $SWETRIALS_REPORT"
    assert asked_runner(line, "go-json").commands == (("sh", "-c", line),)


def test_an_environment_of_the_day_leaves_out_what_came_later() -> None:
    toml = "[project]\nname = 'it'\ndependencies = ['six']\noptional-dependencies = {test = ['x'], docs = ['y']}\n"
    found = project({"pyproject.toml": toml, "requirements-dev.txt": "pytest-mock\n"}, "src/it/__init__.py")
    runner = runner_of(found, [("tests/test_a.py", FUNCTION)])
    assert runner is not None
    day = datetime(2023, 1, 5, tzinfo=UTC)
    ways = list(ways_to_prepare(found, runner, day, "", find_project()))
    first = " ".join(ways[0].spec.setup[0])
    assert "--exclude-newer 2023-01-06" in first and "--exclude-newer-package=setuptools=false" in first
    assert "-e .[test]" in first and "-r requirements-dev.txt" in first and "pytest pytest-mock" in first
    assert all(way.spec.python == ways[0].spec.python for way in ways)
    assert ways[-1].spec.env["PYTHONPATH"] == "src" and "six" in ways[-1].spec.setup[0]
    assert [way.marks for way in ways] == [(), ("drifted",), ("drifted",)]


def test_a_project_in_a_folder_is_installed_and_tested_there(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    for name in ("README.md", "part/pyproject.toml", "part/src/it/a.py", "part/tests/test_a.py", "other/package.json"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("[project]\nname = 'it'\n" if name.endswith(".toml") else "")
    commit_all(repo, "Begin")
    history = open_history(Repositories.below(tmp_path), str(repo))
    found = project_files(MirrorReader(history.mirror), history.head, ["part/src/it/a.py", "part/tests/test_a.py"])
    assert (found.folder, sorted(found.paths)) == ("part", ["pyproject.toml", "src/it/a.py", "tests/test_a.py"])
    runner = runner_of(found, [("part/tests/test_a.py", FUNCTION)])
    assert runner is not None
    assert runner.inside("part").commands == (("sh", "-c", "cd part && exec python -m pytest tests"),)
    first, *_ = ways_to_prepare(found, runner, datetime(2024, 1, 5, tzinfo=UTC), "", find_project())
    assert first.spec.setup[0][:4] == ("uv", "--directory", "part", "pip")
    both = project_files(MirrorReader(history.mirror), history.head, ["part/src/it/a.py", "other/a.js"])
    assert both.folder == ""


def test_packages_of_node_are_those_of_the_lock_else_of_the_day_else_what_is_left() -> None:
    found = project({"package.json": package("mocha")}, "package-lock.json")
    runner = runner_of(found, [("test/a.js", b"")])
    assert runner is not None
    day = datetime(2023, 1, 5, tzinfo=UTC)
    locked, dated, undated, alone = ways_to_prepare(found, runner, day, "", find_project())
    assert locked.spec.setup[0][:2] == ("npm", "ci")
    assert dated.spec.setup[0][-2:] == ("--before", "2023-01-06")
    assert undated.marks == ("drifted",)
    assert [argv[-1] for argv in alone.spec.setup] == ["devDependencies", "mocha@10.2.0"]


@pytest.mark.parametrize("text", ["project = 1", "tool = []", "dependency-groups = 'x'", "project = [1]", "[", "x = 1"])
def test_a_pyproject_of_any_shape_is_read(text: str) -> None:
    found = ProjectFiles({}, {"pyproject.toml": text})
    assert found.pyproject == {} and not found.can_be_installed


def verdict(commit: str, asked: str = "one") -> MinedVerdict:
    return MinedVerdict(commit=commit, parent="1" * 40, asked_sha256=asked, subject="Count on", reason="base-passes")


def test_a_line_that_a_kill_has_cut_off_is_no_verdict(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, "one")
    journal.add(verdict("a"))
    journal.add(verdict("b", "two"))
    with journal.path.open("ab") as file:
        file.write(b'{"commit": "c", "par')
    again = open_journal(tmp_path, "one")
    assert list(again.verdicts) == ["a"]
    again.add(verdict("c"))
    assert list(open_journal(tmp_path, "one").verdicts) == ["a", "c"]
    assert list(open_journal(tmp_path, "two").verdicts) == ["b"]


def test_a_file_that_is_no_journal_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text("hello\n")
    with pytest.raises(UsageError, match=r"journal\.jsonl:1 is no verdict"):
        open_journal(tmp_path, "one")


def test_each_reason_has_a_sentence() -> None:
    assert set(MINING_REFUSALS) == set(MINING_REFUSAL_REASONS)


def test_the_page_has_each_reason_with_its_sentence() -> None:
    page = (find_project().root.parent / "docs" / "your-own-repository.md").read_text()
    rows = {reason: f"| `{reason}` | {sentence} |" for reason, sentence in MINING_REFUSALS.items()}
    assert [reason for reason, row in rows.items() if row not in page] == []


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    (theirs / "hidden").mkdir(parents=True)
    with pytest.raises(UsageError, match="theirs is not empty, and mining has not made it"):
        claim_folder(theirs, "one-mined")
    assert [path.name for path in theirs.iterdir()] == ["hidden"]

    claim_folder(ours, "one-mined")
    (ours / "one-mined.yaml").touch()
    claim_folder(ours, "one-mined")
    with pytest.raises(UsageError, match=r"ours holds another dataset, one-mined\.yaml"):
        claim_folder(ours, "two-mined")
    assert sorted(path.name for path in ours.iterdir()) == [JOURNAL, "one-mined.yaml"]
