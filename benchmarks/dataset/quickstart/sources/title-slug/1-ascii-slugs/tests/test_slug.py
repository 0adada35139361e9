import unittest

from title_slug.slug import slugify


class Slug(unittest.TestCase):
    def test_words_are_joined_by_single_hyphens(self):
        self.assertEqual(slugify("  Ten Things -- Explained!  "), "ten-things-explained")

    def test_digits_stay(self):
        self.assertEqual(slugify("Version 2.0"), "version-2-0")

    def test_a_title_without_letters_has_a_slug(self):
        self.assertEqual(slugify("?!"), "untitled")
