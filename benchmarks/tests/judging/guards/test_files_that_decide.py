"""Which files decide a verdict: those of runners, modules in the way, files that commands run, tests."""

import pytest

from swetrials.judging.guards.hidden_tests import taken_for
from swetrials.judging.guards.named_files import NamedFiles
from swetrials.judging.guards.runner_files import loaded_by
from swetrials.judging.guards.shadowing import Shadowing
from swetrials.judging.guards.test_files import done_to_tests, folder_of, is_test
from swetrials.records.dataset import Verify
from swetrials.workspace.patch_sections import patch_sections


@pytest.mark.parametrize(
    ("path", "by"),
    [
        ("conftest.py", "pytest"),
        ("a/b/conftest.py", "pytest"),
        (".pytest.toml", "pytest"),
        ("setup.cfg", "pytest"),
        ("pkg/x.pth", "Python"),
        ("tests/__pycache__/test_a.cpython-311.pyc", "Python"),
        ("pkg.egg-info/entry_points.txt", "Python"),
        (".venv", "Python"),
        ("pkg/speed.cpython-311-x86_64-linux-gnu.so", "Python"),  # found before pkg/speed.py
        ("setup.py", "setuptools"),
        (".env", "pipenv"),
        ("native/speed.node", "Node"),
        ("node_modules/jest/index.js", "Node"),
        ("packages/a/jest.config.mjs", "jest"),
        ("vitest.workspace.ts", "vitest"),
        ("tsconfig.build.json", "TypeScript"),
        (".npmrc", "npm"),
        ("sub/GNUmakefile", "make"),
        ("rules/all.mk", "make"),
        ("go.mod", "go"),
        ("src/conftest_helpers.py", None),
        ("package.py", None),
        ("docs/pytest.ini.md", None),
        ("README.md", None),
    ],
)
def test_runners_load_these_by_themselves(path: str, by: str | None) -> None:
    assert loaded_by(path) == by


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("unittest.py", "unittest"),
        ("pytest.cpython-311-x86_64-linux-gnu.so", "pytest"),
        ("src/random.py", "random"),
        ("email/__init__.py", "email"),
        ("email/__main__.py", "email"),
        ("tests/json.py", "json"),
        ("given/json.py", "json"),
        ("queue/data.txt", None),  # a folder that is no package
        ("calendar.py", None),  # the repository's own
        ("pkg/types.py", None),
        ("other/types.py", None),  # not on sys.path
        ("typed/tests/types.py", None),  # in a package
        ("json", None),
        ("unittest.txt", None),
    ],
)
def test_a_new_module_shadows_where_python_looks_first(path: str, module: str | None) -> None:
    there = {"calendar.py", "pkg/__init__.py", "typed/tests/__init__.py"}
    shadowing = Shadowing(there.__contains__, {"email/__init__.py", path}, {"given"})
    assert shadowing.shadowed(path, is_link=False) == module


@pytest.mark.parametrize(
    ("path", "there", "installed", "module"),
    [
        ("numpy.py", set(), {"numpy"}, "numpy"),
        ("src/numpy/__init__.py", set(), {"numpy"}, "numpy"),
        ("numpy.py", set(), set(), None),
        ("numpy.py", {"numpy.py"}, {"numpy"}, None),
        ("src/queue.py", {"src/__init__.py"}, set(), None),  # its name is src.queue
    ],
)
def test_a_module_that_hidden_tests_have_from_elsewhere(
    path: str, there: set[str], installed: set[str], module: str | None
) -> None:
    assert Shadowing(there.__contains__, {path}, (), installed).shadowed(path, is_link=False) == module


def test_a_link_may_be_a_package() -> None:
    assert Shadowing(lambda _: False, {"unittest"}, ()).shadowed("unittest", is_link=True) == "unittest"


WRITTEN_DOWN = {
    "Makefile": b"test: build\n\tpython ci/all.py\n",
    "package.json": b'{"scripts": {"test": "node ci/all.js --quiet"}, "main": "index.js"}',
}


@pytest.mark.parametrize(
    ("command", "path", "runs", "named"),
    [
        ("./run_tests.sh", "run_tests.sh", False, True),
        ("bash ci/test all", "ci/test", False, True),
        ("python -W error tools/check.py", "tools/check.py", False, False),  # nobody knows which options take a value
        ("python -u tools/check.py", "tools/check.py", False, True),
        ("pytest -c ci/strict.ini", "ci/strict.ini", False, True),
        ("pytest --config-file=ci/strict.toml", "ci/strict.toml", False, True),
        ("grep -q changed greeting.txt", "greeting.txt", False, False),
        ("gcc -c src/a.c", "src/a.c", False, False),
        ("pytest tests", "tools/pytest", True, True),
        ("pytest tests", "tools/python3", True, True),
        ("pytest tests", "tools/other", True, False),
        ("sh -c 'PATH=$PWD/bin:$PATH jest'", "bin/anything", False, True),
        ("sh -c 'cd sub && ./all.py'", "all.py", False, True),
        ("python -m tools.check", "tools/check.py", False, True),
        ("python -m tools", "tools/__main__.py", False, True),
        ("python -m tools.check", "tools/other.py", False, False),
        ("make test", "ci/all.py", False, True),
        ("pytest", "ci/all.py", False, False),
        ("npm test", "ci/all.js", False, True),
        ("npm test", "index.js", False, False),
    ],
)
def test_a_command_names_what_it_runs(command: str, path: str, runs: bool, named: bool) -> None:
    verify = Verify.model_validate({"commands": [command]})
    assert NamedFiles.of(verify, WRITTEN_DOWN.get).names(path, runs=runs) is named


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("pkg/test_a.py", True),
        ("a_test.go", True),
        ("src/a.spec.tsx", True),
        ("tests/helpers.py", True),
        ("test/a.js", True),
        ("src/__tests__/a.js", True),
        ("src/test/java/A.java", True),
        ("django/test/client.py", False),
        ("src/testing.py", False),
        ("attest.py", False),
        ("contest/a.py", False),
    ],
)
def test_tests_have_names(path: str, test: bool) -> None:
    assert is_test(path) is test


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("tests/test_a.py", True),
        ("other/test_a.py", True),
        ("tests/test_a/__init__.py", True),
        ("tests/test_a.cpython-311-x86_64-linux-gnu.so", True),
        ("tests/test_ab.py", False),
        ("pkg/__init__.py", False),
    ],
)
def test_a_new_file_can_be_taken_for_a_hidden_one(path: str, taken: bool) -> None:
    hidden = {"tests/test_a.py", "tests/__init__.py"}
    assert bool(taken_for(path, hidden, is_new=True)) is taken
    assert bool(taken_for(path, hidden, is_new=False)) is (path in hidden)


def changed(removed: str, added: str) -> str:
    lines = "".join(f"{sign}{line}\n" for sign, text in (("-", removed), ("+", added)) for line in text.splitlines())
    return f"diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1,9 +1,9 @@\n{lines}"


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (changed("def test_a():\n", "def test_b():\n"), "tests are gone from it: test_a"),
        (changed("", "@pytest.mark.skip\n"), "tests in it are skipped, or expected to fail: @pytest.mark.skip"),
        (changed("  it('adds', f)\n", "  it.skip('adds', f)\n"), "tests are gone from it: adds"),
        (changed("    return 1\n", "    @unittest.expectedFailure\n"), "expected to fail: @unittest.expectedFailure"),
        (changed("assert 1\n", "assert 2\n"), None),
        (changed("", "def test_more(): pass\n"), None),
        ("diff --git a/t.py b/t.py\ndeleted file mode 100644\n--- a/t.py\n+++ /dev/null\n", "it is deleted"),
        ("diff --git a/t.py b/u.py\nrename from t.py\nrename to u.py\n", "it is renamed to u.py"),
        ("diff --git a/t.py b/t.py\nnew file mode 100644\n--- /dev/null\n+++ b/t.py\n@@ -0,0 +1 @@\n+@skip\n", None),
    ],
)
def test_what_is_done_to_tests_that_were_there(patch: str, told: str | None) -> None:
    [section] = patch_sections(patch.encode())
    found = [*done_to_tests(section)]
    assert (told is None) == (not found)
    assert told is None or told in found[0]


@pytest.mark.parametrize(
    ("test", "folder"),
    [
        ("packages/one/test/sub/a.test.js", "packages/one/test"),
        ("django/test/tests/test_a.py", "django/test/tests"),
        ("pkg/testing/test_a.py", None),  # it may be what is tested
        ("test_a.py", None),
    ],
)
def test_a_test_shows_that_a_folder_is_one_of_tests(test: str, folder: str | None) -> None:
    assert folder_of(test) == folder
