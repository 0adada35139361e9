import unittest
from pathlib import Path


class Readme(unittest.TestCase):
    def lines(self):
        return Path("README.md").read_text(encoding="utf-8").splitlines()

    def test_the_file_has_a_new_name(self):
        self.assertFalse(Path("README").exists(), "README is still there")
        self.assertTrue(Path("README.md").is_file(), "README.md is not there")

    def test_the_heading_is_the_first_line_and_an_empty_one_follows(self):
        self.assertEqual(self.lines()[:2], ["# Hello World!", ""])

    def test_a_sentence_says_what_the_repository_is_for(self):
        sentence = " ".join(self.lines()[2:]).lower()
        self.assertIn("git", sentence)
        self.assertIn("pull request", sentence)

    def test_the_last_line_ends_in_a_line_feed(self):
        self.assertTrue(Path("README.md").read_bytes().endswith(b"\n"))
