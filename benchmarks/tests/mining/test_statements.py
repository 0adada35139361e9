"""What a task asks for: where it is from, what is taken out of it, and what makes it unfit."""

from pathlib import Path

import pytest

from swetrials.errors import UsageError
from swetrials.mining.issue_texts import read_issue_texts
from swetrials.mining.statement import judged, numbers_in, statement_of
from swetrials.mining.untold_names import names_used, signatures_of


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Allow a leading dot (#174)\n", "Allow a leading dot"),
        ("Merge pull request #12 from a/b\n\nTeach the parser dates", "Teach the parser dates"),
        ("Merge branch 'x' into main\n", ""),
        ("Add an option\n\ncloses #147\ncloses #151, closes #3\n", "Add an option"),
        ("Add an option\n\nFixes: https://forge.example/a/b/issues/3\n", "Add an option"),
        ("Count on\n\nSigned-off-by: A <a@b>\nCo-authored-by: C <c@d>\nChange-Id: I12\n", "Count on"),
        ("Count on\n\nAs was said in #12, and a/b#13, it counts.\n", "Count on\n\nAs was said in, and, it counts."),
        ("Count on\r\n\r\n* one\r\n\r\n\r\n* two\r\n", "Count on\n\n* one\n\n* two"),
        ("Teach (cherry)\n\n(cherry picked from commit 0123456789abcdef)\n", "Teach (cherry)"),
        ("#12", ""),
    ],
)
def test_numbers_trailers_and_merges_are_taken_out(message: str, told: str) -> None:
    assert statement_of(message, {}) == told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "statement-empty"),
        ("...", "statement-empty"),
        ("fix", "statement-vague"),
        ("fix(parser): more tests and a bug fix", "statement-vague"),
        ("Bump version: 1.2 -> 1.3", "statement-vague"),
        ("Add partitioned option", None),
        ("Allow leading dot for domain", None),
        ("Do it as in 4f2a91bc7d03 please, for counters", "statement-leaks"),
        ("The facade decided on a cabbage, and 12345678 of them", None),
        ("Count on by one:\n\n    total = total + one\n", "statement-leaks"),
        ("Make the counter pass test_counts_on again", "statement-leaks"),
        ("Make the counter pass test_counts_on_and_on", None),
    ],
)
def test_what_says_nothing_or_too_much_is_refused(text: str, reason: str | None) -> None:
    told = judged(text, ["    total = total + one", "import os"], ["test_counts_on"])
    assert told.reason == reason
    assert bool(told.evidence) == (reason in {"statement-leaks", "statement-vague"})


def test_the_text_of_an_issue_comes_before_the_message(tmp_path: Path) -> None:
    export = tmp_path / "issues.json"
    export.write_text(
        '[{"number": 3, "title": "It counts wrong", "body": "See #2: one is missing.", "labels": []},'
        ' {"number": 9, "title": "Count right", "body": null, "closingIssuesReferences": [{"number": 3}]},'
        ' {"iid": 4, "title": "Other", "description": "From another forge."}]'
    )
    texts = read_issue_texts(export)
    assert texts[4] == "Other\n\nFrom another forge."
    assert numbers_in("Count right (#9)\n\nfixes gh-3, https://forge.example/a/b/pull/12") == (9, 3, 12)
    assert statement_of("Count right (#9)", texts) == "It counts wrong\n\nSee: one is missing."
    assert statement_of("Count on (#77)", texts) == "Count on"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"title": "no number"}]'])
def test_what_is_no_export_is_told_with_the_command_that_makes_one(tmp_path: Path, text: str) -> None:
    export = tmp_path / "issues.json"
    export.write_text(text)
    with pytest.raises(UsageError, match="gh issue list"):
        read_issue_texts(export)


PYTHON_TEST = b"""
import unittest
from calc import Counter, made_here
import calc.deep

class Test(unittest.TestCase):
    def test_it(self):
        self.mine = Counter(start=1).step(by_steps=2)
        self.assertEqual(self.mine.colour, "mauve")
"""
PYTHON_SOURCE = b'''
class Counter:
    """Counts."""
    def __init__(self, start: int = 0) -> None:
        self.colour = "mauve"
    async def step(self, by_steps: int = 1, *, twice: bool = False) -> "Counter":
        return self
'''


def test_signatures_of_python_come_from_its_syntax_tree() -> None:
    used = names_used({"tests/test_a.py": PYTHON_TEST})
    assert {"Counter", "start", "step", "by_steps", "colour", "deep", "made_here"} <= used.names
    assert "mine" not in used.names and used.values == {"mauve"}
    found = signatures_of({"Counter", "by_steps", "colour"}, {"mauve"}, {"src/calc/core.py": PYTHON_SOURCE})
    assert found.unknown == ()
    assert dict(found.signatures) == {
        "Counter": "calc.core: class Counter",
        "by_steps": "calc.core.Counter: async def step(self, by_steps: int=1, *, twice: bool=False) -> 'Counter'",
        "colour": "calc.core.Counter: attribute colour",
        "mauve": "src/calc/core.py: value 'mauve'",
    }
    assert found.section.startswith("\n\nInterface (names that the tests use):\n- `calc.core: class Counter`")


def test_a_name_that_is_made_by_a_text_has_no_signature_and_one_of_a_library_needs_none() -> None:
    source = b'import sys\nsetattr(sys, "frob", 1)\nsys.getrecursionlimit()\n'
    found = signatures_of({"frob", "getrecursionlimit"}, (), {"calc.py": source})
    assert (found.unknown, found.section) == (("frob",), "")


def test_names_of_javascript_are_words_outside_of_texts() -> None:
    test = b"it('sets the minimum flag', () => { serialize('a', { priority: 'medium' }).should.be(1) })"
    used = names_used({"test/a.js": test})
    assert "minimum" not in used.names | used.values and "medium" in used.values and "priority" in used.names
    source = b"function count(a, b) {\n  switch (opt.priority) { case 'medium': return 1 }\n}\nexports.add = (a) => a\n"
    found = signatures_of({"count", "priority", "add"}, {"medium"}, {"index.js": source})
    assert dict(found.signatures) == {
        "add": "index.js: exports.add = (a)",
        "count": "index.js: function count(a, b)",
        "medium": "index.js: value 'medium'",
        "priority": "index.js: property priority",
    }


def test_broken_python_is_read_by_words() -> None:
    assert "counted" in names_used({"tests/test_a.py": b"print 'old'; counted(1"}).names
    assert signatures_of({"counted"}, (), {"a.py": b"def counted(:"}).signatures == {}
