import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from word_tally.cli import main


def run(text, *arguments):
    """Return exit code and printed lines of a run over one file that holds the text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input.txt"
        file.write_text(text, encoding="utf-8")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = main([*arguments, str(file)])
    return code, printed.getvalue().splitlines()


class CommandLine(unittest.TestCase):
    def test_the_most_frequent_word_comes_first(self):
        self.assertEqual(run("cat the the"), (0, ["2\tthe", "1\tcat"]))

    def test_ties_are_in_alphabetical_order(self):
        self.assertEqual(run("pear apple fig"), (0, ["1\tapple", "1\tfig", "1\tpear"]))

    def test_an_empty_file_prints_nothing(self):
        self.assertEqual(run(""), (0, []))

    def test_a_missing_file_is_named(self):
        complaint = io.StringIO()
        with contextlib.redirect_stderr(complaint):
            code = main(["/nowhere/at/all.txt"])
        self.assertEqual(code, 1)
        self.assertIn("/nowhere/at/all.txt", complaint.getvalue())
