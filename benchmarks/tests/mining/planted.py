"""A repository whose commits are of known kinds: what mining has to say of each is planted with it."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from swetrials.records.mined import MiningRefusal

Expected = MiningRefusal | Literal["kept"]
Content = str | bytes | None
"""Of a file; ``None``: it goes."""

_DAY_SECONDS = 86_400
_FIRST_DAY = 1_718_000_000  # in June 2024


@dataclass
class Planted:
    """A repository under construction.

    Attributes:
        root: its folder.
        expected: what each commit is, by its id.
        kinds: what each commit was made to show, by its id.
    """

    root: Path
    expected: dict[str, Expected] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        """Begin with an empty repository."""
        self.root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, stdin: bytes = b"", author: str = "A Person") -> str:
        """Run git in the repository as a person, and return what it printed."""
        moment = f"{_FIRST_DAY + self._count * _DAY_SECONDS} +0000"
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": author,
            "GIT_AUTHOR_EMAIL": "person@example.org",
            "GIT_COMMITTER_NAME": author,
            "GIT_COMMITTER_EMAIL": "person@example.org",
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
        }
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=variables, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode(errors="replace").strip()

    def write(self, files: Mapping[str, Content]) -> None:
        """Write files into the work tree."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(
        self,
        kind: str,
        expected: Expected,
        message: str | bytes,
        files: Mapping[str, Content],
        author: str = "A Person",
    ) -> str:
        """Commit files, and note what mining has to say of the commit."""
        self.write(files)
        self.git("add", "--all")
        return self.commit_staged(kind, expected, message, author)

    def commit_staged(self, kind: str, expected: Expected, message: str | bytes, author: str = "A Person") -> str:
        """Commit what is staged, likewise."""
        self._count += 1
        text = message.encode() if isinstance(message, str) else message
        self.git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "-F", "-", stdin=text, author=author)
        return self.note(kind, expected)

    def note(self, kind: str, expected: Expected) -> str:
        """Note what mining has to say of the newest commit."""
        commit = self.git("rev-parse", "HEAD")
        self.expected[commit], self.kinds[commit] = expected, kind
        return commit

    def merge(self, kind: str, expected: Expected, message: str, *branches: Mapping[str, Content]) -> str:
        """Make a branch for each of some changes, and merge them at once."""
        names = []
        for number, files in enumerate(branches):
            names.append(f"topic-{self._count}-{number}")
            self.git("checkout", "--quiet", "-b", names[-1], "main")
            self.write(files)
            self.git("add", "--all")
            self.git("commit", "--quiet", "-m", f"Work on {number}")
            self.git("checkout", "--quiet", "main")
        self._count += 1
        self.git("merge", "--quiet", "--no-ff", "-m", message, *names)
        return self.note(kind, expected)


def module(name: str, body: str) -> str:
    """Return a module with a function of this body."""
    return f"def {name}(value):\n    return {body}\n"


def checks_of(name: str, *lines: str) -> str:
    """Return a file of tests of a module that has the function of the same name."""
    body = "\n".join(f"        {line}" for line in lines)
    head = f"import unittest\n\nfrom calc import {name}\n\n\nclass Test(unittest.TestCase):\n"
    return f"{head}    def test_{name}(self):\n{body}\n"


def good(name: str, before: str = "value", after: str = "value + 1", expected: str = "3") -> Mapping[str, Content]:
    """Return a change of a module that the base has, with its test."""
    check = f"self.assertEqual({name}.{name}(2), {expected})"
    return {f"calc/{name}.py": module(name, after), f"tests/test_{name}.py": checks_of(name, check)}


def with_base(root: Path, names: list[str]) -> Planted:
    """Return a repository with a package, a module for each name, and one test."""
    planted = Planted(root)
    files: dict[str, Content] = {f"calc/{name}.py": module(name, "value") for name in names}
    files |= {"calc/__init__.py": "", "tests/__init__.py": "", "README.md": "# Calc\n"}
    files["tests/test_base.py"] = (
        "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test_one(self):\n        pass\n"
    )
    planted.commit("root", "root", "Begin the library with its modules", files)
    return planted


MODULES = [f"m{number:02}" for number in range(1, 60)]

Plant = Callable[[Planted], None]


def plant_unsuited(planted: Planted) -> None:
    """Plant commits that their files alone rule out."""
    change = {"calc/m01.py": module("m01", "value - 5"), "tests/test_m01.py": checks_of("m01", "self.assertTrue(m01)")}
    planted.commit("docs", "no-source", "Explain the library in more words", {"README.md": "# Calc\n\nMore words.\n"})
    planted.commit("source-only", "no-tests", "Count from another number", {"calc/m01.py": module("m01", "value - 1")})
    planted.commit("test-only", "tests-only", "Try one more number", {"tests/test_more.py": checks_of("m02", "pass")})
    planted.commit(
        "tests-removed",
        "tests-removed",
        "Count on and try less",
        {"tests/test_more.py": None, "calc/m01.py": module("m01", "value - 2")},
    )
    planted.commit("empty", "empty", "Start the build again", {})
    planted.commit("bot", "bot", "Bump everything there is to bump", change, author="dependabot[bot]")
    planted.commit(
        "undo",
        "tests-removed",
        "Undo what was bumped",
        {"tests/test_m01.py": None, "calc/m01.py": module("m01", "value")},
    )
    large = "\n".join(f"line_{number} = {number}" for number in range(1100))
    planted.commit("large", "too-large", "Count a lot of lines at once", {"calc/large.py": large, **good("m03")})
    binary = {"calc/logo.bin": bytes(range(256)) * 4, **good("m04")}
    planted.commit("binary", "binary-or-lfs", "Draw a logo for the counter", binary)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    planted.commit("lfs", "binary-or-lfs", "Keep the picture somewhere else", {"calc/big.py": pointer, **good("m05")})
    planted.write(good("m06"))
    planted.git("add", "--all")
    (planted.root / "vendor" / "other").mkdir(parents=True)
    planted.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/other")
    planted.commit_staged("submodule", "submodule", "Take the other library from its own place")
    (planted.root / "tests" / "link.py").symlink_to("test_base.py")
    planted.commit("link", "file-unusual", "Run the tests once more by a link", good("m07"))
    odd = os.fsdecode(b"tests/na\xefve.txt")
    planted.commit("odd name", "file-unusual", "Read a file whose name nobody can read", {odd: "x\n", **good("m08")})
    (planted.root / "tests" / "link.py").unlink()
    planted.commit(
        "undo", "tests-removed", "Undo links and odd names", {odd: None, "calc/m07.py": module("m07", "value")}
    )


def plant_untold(planted: Planted) -> None:
    """Plant commits of which nothing fit to be asked for is said."""
    planted.commit("number alone", "statement-empty", "#12", good("m09"))
    planted.commit("vague", "statement-vague", "fix: more tests and a bug fix", good("m10"))
    leak = "Count one more than before:\n\n    return value + 1\n"
    planted.commit("leak of a line", "statement-leaks", leak, good("m11"))
    planted.commit("leak of a hash", "statement-leaks", "Do as 4f2a91bc7d03 did for the other counter", good("m12"))
    planted.commit("leak of a test", "statement-leaks", "Make test_m13 pass on slow machines", good("m13"))
    dynamic = (
        'def __getattr__(name):\n    if name != "frobnicate":\n        raise AttributeError(name)\n    return int\n'
    )
    files = {"calc/m14.py": dynamic, "tests/test_m14.py": checks_of("m14", "self.assertEqual(m14.frobnicate(), 0)")}
    planted.commit("interface never stated", "names-untold", "Offer what the users have asked for", files)


def plant_failing(planted: Planted) -> None:
    """Plant commits whose tests show nothing, or cannot be run to their end; each is taken away again."""
    number = iter(range(15, 40))

    def bad(kind: str, expected: MiningRefusal, *lines: str, after: str = "value + 1", top: str = "") -> None:
        name = f"m{next(number)}"
        files = {f"calc/{name}.py": module(name, after), f"tests/test_{name}.py": top + checks_of(name, *lines)}
        planted.commit(kind, expected, f"Let the counter {name} say what it has", files)
        undone: Mapping[str, Content] = {f"tests/test_{name}.py": None, f"calc/{name}.py": module(name, "value + 2")}
        planted.commit("undo", "tests-removed", f"Leave the counter {name} alone", undone)

    bad("gold fails", "gold-fails", "self.assertEqual(m15.m15(2), 77)")
    bad("green before", "base-passes", "self.assertEqual(m16.m16(0) or 1, 1)")
    bad("vacuous", "base-passes", "pass")
    bad(
        "needs the network",
        "gold-fails",
        "import urllib.request",
        "urllib.request.urlopen('http://counter.invalid/')",
        "self.assertEqual(m18.m18(2), 3)",
    )
    bad("hangs", "gold-hangs", "import time", "time.sleep(3600)")
    bad("hangs without it", "base-hangs", "import time", "while m20.m20(2) != 3:", "    time.sleep(0.1)")
    bad("kills its parent", "gold-no-report", "import os, signal", "os.kill(os.getpid(), signal.SIGKILL)")
    name = f"m{next(number)}"
    random = (
        "import random\nimport unittest\n\nfrom calc import m22\n\n\nclass Test(unittest.TestCase):\n    pass\n\n\n"
        'setattr(Test, f"test_{random.randrange(10**9)}", lambda self: self.assertEqual(m22.m22(2), 3))\n'
    )
    planted.commit(
        "flaky",
        "flaky",
        "Let the counter name itself anew",
        {f"calc/{name}.py": module(name, "value + 1"), f"tests/test_{name}.py": random},
    )
    planted.commit(
        "undo",
        "tests-removed",
        "Leave that counter alone",
        {f"tests/test_{name}.py": None, f"calc/{name}.py": module(name, "value")},
    )
    twice = {
        "calc/m23.py": module("m23", "value + 1"),
        "calc/m24.py": module("m24", "value + 1"),
        "tests/test_twice.py": "import unittest\n\nfrom calc import m23, m24\n\n\nclass Test(unittest.TestCase):\n"
        "    def test_any(self):\n        self.assertIn(3, [m23.m23(2), m24.m24(2)])\n",
    }
    planted.commit("no power", "no-power", "Count on in one place or in the other", twice)
    masked = checks_of("m25", "self.assertEqual(m25.m25(2), 2)")
    planted.commit("test-only", "tests-only", "Try what the counter always did", {"tests/test_m25.py": masked})
    files = {
        "calc/m25.py": module("m25", "value") + "\n\ndef helper():\n    return None\n",
        "tests/test_m25.py": masked.replace(
            "from calc import m25\n", "from calc import m25\nfrom calc.m25 import helper\n"
        ),
    }
    planted.commit("masked", "only-masked", "Give the counter a helper function", files)


def plant_unprepared(planted: Planted) -> None:
    """Plant commits on a base whose environment cannot be made, and a language that nothing runs."""
    planted.commit(
        "manifest", "no-source", "Ask for something that is nowhere", {"requirements-test.txt": "./nowhere/at/all\n"}
    )
    planted.commit("environment", "environment-build", "Count on in a broken environment", good("m40"))
    planted.commit("manifest", "no-source", "Ask for nothing any more", {"requirements-test.txt": None})
    old = '[project]\nname = "calc"\nversion = "1"\nrequires-python = ">=3.77"\n'
    planted.commit("manifest", "no-source", "Ask for the Python of another century", {"pyproject.toml": old})
    planted.commit("environment", "environment-unavailable", "Count on in that century", good("m41"))
    planted.commit("manifest", "no-source", "Come back to this century", {"pyproject.toml": None})
    go = {"counter/count.go": "package counter\n", "counter/count_test.go": "package counter\n"}
    planted.commit("other language", "runner-unknown", "Count in another language as well", go)
    planted.commit("undo", "tests-removed", "Count in one language again", dict.fromkeys(go))


def plant_good(planted: Planted) -> None:
    """Plant commits that are tasks, of many shapes."""
    planted.commit(
        "plain", "kept", "Count one more than before (#201)\n\nSigned-off-by: A <a@example.org>", good("m42")
    )
    planted.merge(
        "merge",
        "kept",
        "Merge pull request #7 from a/b\n\nCount two more in the merged counter",
        good("m43", after="value + 2", expected="4"),
    )
    planted.merge("octopus", "kept", "Count on in two counters at once, by one merge", good("m44"), good("m45"))
    moved = {
        "calc/m46.py": None,
        "calc/moved.py": module("moved", "value + 1"),
        "tests/test_moved.py": checks_of("moved", "self.assertEqual(moved.moved(2), 3)"),
    }
    planted.commit("rename", "kept", "Rename the counter m46 to moved, which counts on", moved)
    locked = {"poetry.lock": "# nothing is locked\n", **good("m47")}
    planted.commit("lock-file", "kept", "Lock what there is and count on", locked)
    wide = {
        "calc/m48.py": module("m48", "value + 1").replace("\n", "\r\n"),
        "tests/test_m48.py": good("m48")["tests/test_m48.py"],
    }
    planted.commit("CRLF", "kept", "Count on with the line ends of another system", wide)
    planted.commit("no UTF-8", "kept", b"Z\xe4hle weiter mit einem anderen Z\xe4hler", good("m49"))
    named = {os.fsdecode(b"calc/\xe4.txt"): "x\n", **good("m50")}
    planted.commit("odd name beside", "kept", "Count on beside a file with an odd name", named)
    spoken = {
        "calc/m51.py": "class Counter:\n    def step(self, by: int = 1) -> int:\n        return by + 1\n",
        "tests/test_m51.py": checks_of("m51", "self.assertEqual(m51.Counter().step(by=2), 3)"),
    }
    planted.commit("interface", "kept", "Offer an object that counts for its users", spoken)
    loud = checks_of("m52", "print('x' * 5_000_000)", "self.assertEqual(m52.m52(2), 3)")
    planted.commit("loud", "kept", "Count on however loud it may be", {**good("m52"), "tests/test_m52.py": loud})
    outside = checks_of(
        "m53",
        "import contextlib, pathlib",
        "with contextlib.suppress(OSError):",
        f"    pathlib.Path({str(planted.root)!r}, 'written').write_text('x')",
        "self.assertEqual(m53.m53(2), 3)",
    )
    planted.commit(
        "writes outside", "kept", "Count on whatever lies outside", {**good("m53"), "tests/test_m53.py": outside}
    )
    planted.commit(
        "both", "kept", "Count three more in the last counter\n\nFixes #9", good("m54", after="value + 3", expected="5")
    )


def planted_history(root: Path) -> Planted:
    """Return a repository with at least 40 commits of all kinds."""
    planted = with_base(root, MODULES)
    for plant in (plant_unsuited, plant_untold, plant_failing, plant_unprepared, plant_good):
        plant(planted)
    return planted
