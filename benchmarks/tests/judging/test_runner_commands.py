"""Which runner a command runs, told from its words alone."""

import pytest

from swetrials.judging.guards.runner_commands import Discovery, runner_command

THERE = {"tests", "src", "tests/test_a.py"}


@pytest.mark.parametrize(
    ("line", "runner", "named", "alone", "joins"),
    [
        ("pytest", "pytest", (), "pytest", True),
        ("pytest -qq -n 4 tests -p no:x", "pytest", ("tests",), "pytest -qq -n 4 -p no:x", True),
        ("pytest --cov src tests", "pytest", ("tests",), "pytest --cov src", True),
        ("pytest --new-option tests", "pytest", (), "pytest --new-option tests", False),
        ("pytest --new-option=1 tests", "pytest", ("tests",), "pytest --new-option=1", True),
        ("py.test -xvs tests", "pytest", ("tests",), "py.test", False),
        ("pytest -vkadd tests", "pytest", ("tests",), "pytest", False),
        ("pytest -m slow tests", "pytest", ("tests",), "pytest", False),
        ("pytest --maxfail=3 tests", "pytest", ("tests",), "pytest", False),
        ("python3.11 -B -W error -m pytest tests", "pytest", ("tests",), "python3.11 -B -W error -m pytest", True),
        ("/usr/bin/python -m coverage run --branch -m pytest", "pytest", (), None, True),
        ("coverage run -m unittest a.b", "unittest", ("a.b",), "coverage run -m unittest", True),
        (
            "uv run --with pytest -p 3.12 pytest tests",
            "pytest",
            ("tests",),
            "uv run --with pytest -p 3.12 pytest",
            True,
        ),
        ("env A=1 B=2 python -m unittest -v tests.test_a", "unittest", ("tests.test_a",), None, True),
        ("python -m unittest -f tests.test_a", "unittest", ("tests.test_a",), "python -m unittest", False),
        ("python -m unittest -k add tests.test_a", "unittest", ("tests.test_a",), "python -m unittest", False),
        ("node --require ./a.cjs --test tests", "node", ("tests",), "node --require ./a.cjs --test", True),
        ("node --test --test-name-pattern=x", "node", (), "node --test", False),
        ("npx -y jest --ci tests", "jest", ("tests",), "npx -y jest --ci", True),
        ("node node_modules/.bin/jest -t add", "jest", (), "node node_modules/.bin/jest", False),
        ("node_modules/.bin/jest --bail", "jest", (), "node_modules/.bin/jest", False),
        ("npx vitest run --bail 1 tests", "vitest", ("tests",), "npx vitest run", False),
    ],
)
def test_a_runner_is_known_by_its_words(
    line: str, runner: str, named: tuple[str, ...], alone: str | None, joins: bool
) -> None:
    argv = tuple(line.split())
    found = runner_command(argv, THERE.__contains__)
    assert found is not None
    assert (found.runner, found.named, not found.not_joined) == (runner, named, joins)
    assert " ".join(found.alone) == (line.removesuffix(f" {' '.join(named)}") if alone is None else alone)
    if named:
        assert found.after_named is not None
        assert argv[found.after_named - 1] == named[-1]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("python -m unittest", Discovery()),
        ("python -m unittest -v", Discovery()),
        ("python -m unittest discover", Discovery()),
        ("python -m unittest discover -s tests -p *_test.py -t .", Discovery("tests", "*_test.py", ".")),
        ("python -m unittest discover tests check*.py", Discovery("tests", "check*.py")),
        ("python -m unittest discover --start-directory=tests", Discovery("tests")),
    ],
)
def test_what_unittest_discovers_is_known(line: str, found: Discovery) -> None:
    command = runner_command(tuple(line.split()), THERE.__contains__)
    assert command is not None
    assert command.discovery == found
    assert " ".join(command.alone).replace(" -v", "") == "python -m unittest discover"


@pytest.mark.parametrize(
    "line",
    [
        "make test", "npm test", "tox", "go test ./...", "python tests/run.py", "python -m mypy", "python", "env A=1",
        "sh -c pytest", "node run.js", "node", "uv run", "./pytest.sh", "python run.py -m pytest", "cargo test",
    ],
)  # fmt: skip
def test_another_command_has_no_known_runner(line: str) -> None:
    assert runner_command(tuple(line.split()), THERE.__contains__) is None
