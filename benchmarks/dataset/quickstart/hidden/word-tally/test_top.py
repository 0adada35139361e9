import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from word_tally.cli import main

TEXT = "ant bee bee cow cow cow dog"


def run(*arguments, text=TEXT):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input.txt"
        file.write_text(text, encoding="utf-8")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = main([*arguments, str(file)])
    return code, printed.getvalue().splitlines()


class Top(unittest.TestCase):
    def test_prints_the_most_frequent_words_only(self):
        self.assertEqual(run("--top", "2"), (0, ["3\tcow", "2\tbee"]))

    def test_a_tie_at_the_limit_is_broken_by_the_alphabet(self):
        self.assertEqual(run("--top", "3"), (0, ["3\tcow", "2\tbee", "1\tant"]))

    def test_more_than_there_are_prints_all(self):
        self.assertEqual(run("--top", "100"), run())

    def test_without_the_option_everything_is_printed(self):
        self.assertEqual(len(run()[1]), 4)

    def test_works_on_an_empty_file(self):
        self.assertEqual(run("--top", "5", text=""), (0, []))

    def test_anything_but_a_positive_whole_number_is_a_usage_error(self):
        for wrong in ("0", "-1", "two", "1.5", ""):
            with self.subTest(wrong), contextlib.redirect_stderr(io.StringIO()) as complaint:
                with self.assertRaises(SystemExit) as stopped:
                    run("--top", wrong)
                self.assertEqual(stopped.exception.code, 2)
                self.assertIn("--top", complaint.getvalue())
