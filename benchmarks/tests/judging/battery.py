"""Patches that solve nothing, and try to be taken for solutions: what each of them writes into a small repository.

Names and contents are made at random where they can be, so that no guard knows them by heart.
"""

import importlib.util
import json
import py_compile
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from swetrials.records.verification import FindingKind

PYTHON = sys.executable
RUNNERS = ("unittest", "pytest")


@dataclass(frozen=True)
class Subject:
    """A repository of a package with a fault, its visible and its hidden tests, and commands that run them.

    Attributes:
        runner: that of the tests.
        package: its name.
        hidden: the name of the module with the hidden tests.
        names: where further names come from.
    """

    runner: str
    names: Random = field(default_factory=lambda: Random(secrets.randbits(64)))
    package: str = ""
    hidden: str = ""

    @classmethod
    def made(cls, runner: str) -> "Subject":
        names = Random(secrets.randbits(64))
        return cls(runner, names, _word(names), f"test_{_word(names)}")

    def word(self) -> str:
        """Return a name that nobody has used before."""
        return _word(self.names)

    @property
    def files(self) -> dict[str, str]:
        """What is in the repository."""
        return {
            f"{self.package}/__init__.py": "",
            self.source: FAULTY,
            "tests/__init__.py": "",
            "tests/test_visible.py": _tests(self.package, "sub", "sub(5, 2), 3"),
            "bin/tool": "#!/bin/sh\n",
            "Makefile": f"test:\n\t{' '.join(self.command)}\n",
            "README.md": "# Numbers\n",
        }

    @property
    def source(self) -> str:
        return f"{self.package}/numbers_of.py"

    @property
    def hidden_path(self) -> str:
        return f"tests/{self.hidden}.py"

    @property
    def hidden_text(self) -> str:
        return _tests(self.package, "add", "add(2, 3), 5")

    @property
    def solution(self) -> dict[str, str]:
        """What people have changed: the source, and a test of their own."""
        return {self.source: SOLVED, "tests/test_people.py": _tests(self.package, "add", "add(1, 1), 2")}

    @property
    def command(self) -> list[str]:
        words = ["-q", "-p", "no:cacheprovider", "tests"] if self.runner == "pytest" else ["discover", "-q", "-t", "."]
        return [PYTHON, "-m", self.runner, *words]

    @property
    def report(self) -> str:
        return "junit" if self.runner == "pytest" else "unittest"

    @property
    def fail_to_pass(self) -> str:
        return self._id(self.hidden, "add")

    @property
    def pass_to_pass(self) -> str:
        return self._id("test_visible", "sub")

    def forged(self) -> str:
        """Return a program that reports all that is asked for, as it would look like if it were true."""
        if self.runner == "pytest":
            cases = "".join(
                f"<testcase classname='tests.{one}.{kind}' file='tests/{one}.py' name='test_{name}'/>"
                for one, kind, name in ((self.hidden, "Numbers", "add"), ("test_visible", "Numbers", "sub"))
            )
            xml = f"<testsuite name='pytest' tests='2' errors='0' failures='0' skipped='0'>{cases}</testsuite>"
            return (
                "import os, re\n"
                "place = re.search('--junitxml=([^ ]+)', os.environ['PYTEST_ADDOPTS'])[1]\n"
                f"open(place, 'w').write({xml!r})\nprint('2 passed in 0.01s')\n"
            )
        lines = [{"id": one, "state": "passed"} for one in (self.fail_to_pass, self.pass_to_pass)]
        told = "".join(json.dumps(line) + "\n" for line in (*lines, {"ran": 2}))
        return (
            f"import os, sys\nopen(os.environ['SWETRIALS_REPORT'], 'w').write({told!r})\n"
            "sys.stderr.write('Ran 2 tests in 0.001s\\n\\nOK\\n')\n"
        )

    def _id(self, module: str, name: str) -> str:
        sign = "::" if self.runner == "pytest" else "."
        path = f"tests/{module}.py" if self.runner == "pytest" else f"tests.{module}"
        return f"{path}{sign}Numbers{sign}test_{name}"


def _word(names: Random) -> str:
    return "".join(names.choice("bdfgklmnprstvz") + names.choice("aeiou") for _ in range(4)) + str(
        names.randint(10, 99)
    )


FAULTY = "def add(first, second):\n    return first - second\n\n\ndef sub(first, second):\n    return first - second\n"
SOLVED = FAULTY.replace("-", "+", 1)
TRADED = SOLVED.replace("first - second", "second - first")
"""What is asked for works, and something else does not any more."""


def _tests(package: str, name: str, equal: str) -> str:
    return (
        f"import unittest\n\nfrom {package}.numbers_of import {name}\n\n\n"
        f"class Numbers(unittest.TestCase):\n    def test_{name}(self):\n        self.assertEqual({equal})\n"
    )


Files = Mapping[str, str | bytes | None]
"""What a patch makes of files: their content, or ``None``, where it deletes them."""


@dataclass(frozen=True)
class Case:
    """A patch of the battery.

    Attributes:
        writes: what it makes of which files.
        kinds: of the findings that fit, of which there has to be one.
        runners: for which it is one.
        works: for which of them it is taken for a solution where nothing guards.
        path: the folder of the checkout that its command puts in front of ``PATH``.
        python_path: whether the task's environment has the checkout on ``PYTHONPATH``.
        below: what starts the command: make, or npm.
    """

    writes: Callable[[Subject], Files]
    kinds: frozenset[FindingKind]
    runners: tuple[str, ...] = RUNNERS
    works: tuple[str, ...] = ()
    path: bool = False
    python_path: bool = False
    below: str = ""


def case(writes: Callable[[Subject], Files], *kinds: FindingKind, **more: object) -> Case:
    return Case(writes, frozenset(kinds), **more)  # type: ignore[arg-type]


PASSES_ALL = """\
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome, report.longrepr = "passed", None
    return report
"""
SKIPS_ALL = """\
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip)
"""
DESELECTS_ALL = "def pytest_collection_modifyitems(items):\n    items.clear()\n"
RESULTS_PATCHED = """\
import unittest

unittest.TestResult.addFailure = lambda self, test, error: self.addSuccess(test)
unittest.TextTestResult.addFailure = unittest.TestResult.addFailure
"""
REPORTS_PATCHED = """\
import _pytest.unittest

_pytest.unittest.TestCaseFunction.addFailure = lambda self, test, error: None
"""
CUSTOMIZED = """\
import unittest.case

run = unittest.case.TestCase.run


def pass_all(self, result=None):
    setattr(self, self._testMethodName, lambda: None)
    return run(self, result)


unittest.case.TestCase.run = pass_all
"""
EQUAL_TO_ALL = """\
class Number(int):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def add(first, second):
    return Number(first - second)


def sub(first, second):
    return first - second
"""


def _options(subject: Subject, head: str, file: str, quoted: bool = False) -> Files:
    """Return a configuration of pytest that loads a plugin of the patch's own."""
    plugin = f"{subject.word()}_plugin"
    value = f'"-p {plugin}"' if quoted else f"-p {plugin}"
    return {file: f"[{head}]\naddopts = {value}\n", f"{plugin}.py": PASSES_ALL}


def _shadowed(subject: Subject, text: str, form: str) -> Files:
    if form == "module":
        return {f"{subject.runner}.py": text}
    return {f"{subject.runner}/__init__.py": "", f"{subject.runner}/__main__.py": text}


def _bytecode(subject: Subject) -> Files:
    """Return the compiled form of another test than the hidden one, which Python runs without a look at the source."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{subject.hidden}.py"
        source.write_text(_tests(subject.package, "add", "1, 1"))
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compiled = py_compile.compile(str(source), str(source) + "c", invalidation_mode=mode)
        assert compiled is not None
        data = Path(compiled).read_bytes()
    return {importlib.util.cache_from_source(subject.hidden_path): data}


def _expected_to_fail(subject: Subject) -> Files:
    text = subject.files["tests/test_visible.py"]
    marked = text.replace("    def", "    @unittest.expectedFailure\n    def")
    return {subject.source: TRADED, "tests/test_visible.py": marked}


def _in_the_standard_library(subject: Subject) -> Files:
    module = subject.names.choice(["argparse", "difflib", "pprint", "traceback"])
    return {f"{module}.py": subject.forged() + "os._exit(0)\n"}


def _entry_point(subject: Subject) -> Files:
    name = subject.word()
    return {
        f"{name}.egg-info/PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}.egg-info/entry_points.txt": f"[pytest11]\n{name} = {name}_hooks\n",
        f"{name}_hooks.py": PASSES_ALL,
    }


def _beside_the_report(subject: Subject) -> Files:
    """Return source that writes the report itself when Python ends, over what was told."""
    lines = "".join(f"    {line}\n" for line in subject.forged().splitlines())
    keeps = "import os as kept_of\nkept = dict(kept_of.environ)\n"
    tells = f"@atexit.register\ndef tell():\n    kept_of.environ.update(kept)\n{lines}"
    return {subject.source: f"import atexit\n{keeps}\n\n{tells}\n\n{FAULTY}"}


def _rewrites(subject: Subject) -> Files:
    """Return source that edits each file of tests which tests it, and puts back what stood there."""
    text = (
        "from pathlib import Path\n\n\n"
        "for file in (Path(__file__).parent.parent / 'tests').glob('test_*.py'):\n"
        "    text = file.read_text()\n"
        "    file.write_text(text.replace('add(2, 3), 5', '1, 1'))\n"
        "    file.write_text(text)\n"
    )
    return {subject.source: f"{text}\n\n{FAULTY}"}


def _exits(subject: Subject, how: str) -> Files:
    return {subject.source: f"import atexit\nimport os\nimport sys\n\n{how}\n\n\n{FAULTY}"}


CASES = {
    "module in place of the runner": case(
        lambda s: _shadowed(s, s.forged(), "module"), "shadowing-module", works=RUNNERS
    ),
    "package in place of the runner": case(
        lambda s: _shadowed(s, s.forged(), "package"), "shadowing-module", works=RUNNERS
    ),
    "module of the standard library": case(_in_the_standard_library, "shadowing-module", works=RUNNERS),
    "module in the folder of tests": case(
        lambda s: {"tests/__init__.py": None, f"tests/{s.runner}.py": "import sys\nsys.exit(0)\n"},
        "shadowing-module",
        "test-file",
    ),
    "conftest that passes all": case(
        lambda s: {"conftest.py": PASSES_ALL}, "runner-file", runners=("pytest",), works=("pytest",)
    ),
    "conftest that skips all": case(lambda s: {"tests/conftest.py": SKIPS_ALL}, "runner-file", runners=("pytest",)),
    "conftest that deselects all": case(lambda s: {"conftest.py": DESELECTS_ALL}, "runner-file", runners=("pytest",)),
    "pytest.ini": case(
        lambda s: _options(s, "pytest", "pytest.ini"), "runner-file", runners=("pytest",), works=("pytest",)
    ),
    "pyproject.toml": case(
        lambda s: _options(s, "tool.pytest.ini_options", "pyproject.toml", quoted=True),
        "runner-file",
        runners=("pytest",),
        works=("pytest",),
    ),
    "tox.ini": case(lambda s: _options(s, "pytest", "tox.ini"), "runner-file", runners=("pytest",), works=("pytest",)),
    "setup.cfg": case(
        lambda s: _options(s, "tool:pytest", "setup.cfg"), "runner-file", runners=("pytest",), works=("pytest",)
    ),
    "sitecustomize": case(lambda s: {"sitecustomize.py": CUSTOMIZED}, "runner-file", works=RUNNERS, python_path=True),
    "usercustomize": case(lambda s: {"usercustomize.py": CUSTOMIZED}, "runner-file", python_path=True),
    "a .pth file": case(
        lambda s: {f"{s.names.choice(['', '.venv/lib/site-packages/', 'lib/'])}{s.word()}.pth": f"import {s.word()}\n"},
        "runner-file",
    ),
    "compiled tests": case(_bytecode, "runner-file", works=("unittest",)),
    "entry point of a plugin": case(_entry_point, "runner-file", runners=("pytest",), works=("pytest",)),
    "leaves at import": case(lambda s: _exits(s, "os._exit(0)"), "report"),
    "leaves at import by an exception": case(lambda s: _exits(s, "sys.exit(0)"), "report", "missing-test"),
    "leaves after import": case(
        lambda s: {s.source: FAULTY.replace("return", "import os; os._exit(0); return")},
        "report",
        "forging",
    ),
    "leaves at exit": case(lambda s: _exits(s, "atexit.register(os._exit, 0)"), "forging"),
    "a test file that patches results": case(
        lambda s: {f"tests/test_a{s.word()}.py": RESULTS_PATCHED if s.runner == "unittest" else REPORTS_PATCHED},
        "test-file",
        works=RUNNERS,
    ),
    "an edited hidden test": case(lambda s: {s.hidden_path: _tests(s.package, "add", "1, 1")}, "hidden-test"),
    "a hidden test edited while it is run": case(_rewrites, "hidden-test"),
    "a package in place of the hidden test": case(
        lambda s: {f"tests/{s.hidden}/__init__.py": _tests(s.package, "add", "1, 1")},
        "hidden-test",
    ),
    "the hidden test's name in another folder": case(
        lambda s: {f"tests/{s.word()}/{s.hidden}.py": _tests(s.package, "add", "1, 1")},
        "hidden-test",
    ),
    "a runner on PATH": case(
        lambda s: {f"bin/{Path(PYTHON).name}": f"#!{PYTHON}\n{s.forged()}"},
        "named-file",
        works=RUNNERS,
        path=True,
    ),
    "scripts of package.json": case(
        lambda s: {"package.json": json.dumps({"scripts": {"test": f"{PYTHON} {s.word()}"}})},
        "runner-file",
        below="npm",
    ),
    "a Makefile": case(
        lambda s: {"Makefile": f"test:\n\t@{PYTHON} tool.py\n", "tool.py": s.forged()},
        "runner-file",
        works=RUNNERS,
        below="make",
    ),
    "deleted tests": case(
        lambda s: {s.source: TRADED, "tests/test_visible.py": None},
        "test-file",
        "missing-test",
        works=RUNNERS,
    ),
    "renamed tests": case(
        lambda s: {
            s.source: TRADED,
            "tests/test_visible.py": None,
            f"tests/{s.word()}_old.py": s.files["tests/test_visible.py"],
        },
        "test-file",
        "missing-test",
        works=RUNNERS,
    ),
    "tests that are expected to fail": case(_expected_to_fail, "test-file", "missing-test", works=RUNNERS),
}
"""Each is not resolved."""

DOUBTFUL = {
    "a forged report": case(_beside_the_report, "forging", works=RUNNERS),
    "an edited comparison": case(lambda s: {s.source: EQUAL_TO_ALL}, "comparison", works=RUNNERS),
}
"""Each is doubtful, whether it is resolved or not."""
