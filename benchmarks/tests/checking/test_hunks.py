"""Which parts of a solution are left out in turn, and what is left then."""

import pytest

from swetrials.checking.file_kinds import FileKind, kind_of_file
from swetrials.checking.hunks import telling_hunks

TWO = b"""\
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,3 @@
 first
+x = 1
 second
@@ -10,2 +11,4 @@ def f():
 tenth
+y = 2
+z = 3
 eleventh
"""
NEW = b"""\
diff --git a/src/new.py b/src/new.py
new file mode 100644
index 0..2
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1,3 @@
+a = 1
+b = 2
+c = 3
"""
TEST = NEW.replace(b"src/new.py", b"tests/test_new.py")


def test_each_hunk_is_left_out_alone_the_largest_first() -> None:
    new, second, first = telling_hunks(TWO + NEW + TEST)
    assert [(hunk.file, hunk.at) for hunk in (new, second, first)] == [
        ("src/new.py", "-0,0 +1,3"),
        ("src/a.py", "-10,2 +11,4"),
        ("src/a.py", "-1,2 +1,3"),
    ]
    assert new.without == TWO + TEST
    assert b"x = 1" in second.without and b"y = 2" not in second.without and NEW in second.without
    assert b"x = 1" not in first.without and b"y = 2" in first.without
    assert first.without_file == NEW + TEST


def changing(path: str, *lines: str) -> bytes:
    added = "".join(f"+{line}\n" for line in lines)
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,{len(lines) + 1} @@\n a\n{added}".encode()
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("# said",),
        ("", "   "),
        ("import os", "from a import b"),
        ("// said", "/* said", " * more", " */"),
        ("const { a, b } = require('c');", "import x from 'y';"),
        ("#include <stdio.h>",),
        ('__version__ = "1.2.3"',),
        ('  "version": "2.0.0-rc1",',),
    ],
)
def test_a_hunk_without_effect_is_not_tried(lines: tuple[str, ...]) -> None:
    assert telling_hunks(TWO + changing("src/b.py", *lines)) == telling_hunks(TWO + changing("src/b.py", *lines))
    assert {hunk.file for hunk in telling_hunks(TWO + changing("src/b.py", *lines))} == {"src/a.py"}


@pytest.mark.parametrize("line", ["x = 1  # said", "#define A 1", "fromage = 2", "important()", "version = next()"])
def test_a_hunk_with_an_effect_is(line: str) -> None:
    assert {hunk.file for hunk in telling_hunks(changing("src/b.py", line))} == {"src/b.py"}


def test_a_change_of_documents_alone_is_asked_for_these_and_tests_never() -> None:
    docs = changing("README.md", "More.")
    assert {hunk.file for hunk in telling_hunks(docs + TEST)} == {"README.md"}
    assert {hunk.file for hunk in telling_hunks(docs + TWO)} == {"src/a.py"}
    assert telling_hunks(TEST) == () == telling_hunks(b"") == telling_hunks(b"\x00\xff no patch")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/a.py", "source"),
        ("latest.py", "source"),
        ("src/contest.js", "source"),
        ("tests/helpers.py", "test"),
        ("pkg/test_a.py", "test"),
        ("pkg/a_test.go", "test"),
        ("web/a.spec.ts", "test"),
        ("conftest.py", "test"),
        ("lib/test-a.js", "test"),
        ("django/test/client.py", "test"),
        ("src/main/java/ATest.java", "test"),
        ("README.md", "docs"),
        ("docs/conf.py", "docs"),
        ("LICENSE", "docs"),
        ("requirements.txt", "manifest"),
        ("web/package.json", "manifest"),
        ("CMakeLists.txt", "manifest"),
    ],
)
def test_what_a_file_is_for(path: str, kind: FileKind) -> None:
    assert kind_of_file(path) == kind
