import unittest

from word_tally.counting import tally


class Tally(unittest.TestCase):
    def test_upper_and_lower_case_are_one_word(self):
        self.assertEqual(tally(["The cat", "the HAT"]), {"the": 2, "cat": 1, "hat": 1})

    def test_an_apostrophe_stays_inside_its_word(self):
        self.assertEqual(tally(["don't 'quote'"]), {"don't": 1, "quote": 1})

    def test_numbers_are_not_words(self):
        self.assertEqual(tally(["42 route66"]), {"route": 1})

    def test_nothing_counts_nothing(self):
        self.assertEqual(tally([]), {})
