import unittest

from title_slug.slug import slugify


class Length(unittest.TestCase):
    def test_a_long_slug_ends_at_a_whole_word(self):
        self.assertEqual(slugify("one two three", max_length=9), "one-two")

    def test_a_word_that_just_fits_stays(self):
        self.assertEqual(slugify("one two three", max_length=7), "one-two")

    def test_a_single_long_word_is_cut(self):
        self.assertEqual(slugify("incomprehensible", max_length=6), "incomp")
