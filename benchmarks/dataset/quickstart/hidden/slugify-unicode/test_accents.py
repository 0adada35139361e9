import unittest

from title_slug.slug import slugify


class Accents(unittest.TestCase):
    def test_a_letter_with_an_accent_is_kept_without_it(self):
        self.assertEqual(slugify("Crème brûlée à la carte"), "creme-brulee-a-la-carte")

    def test_composed_and_decomposed_text_have_one_slug(self):
        self.assertEqual(slugify("Cafe\u0301"), "cafe")
        self.assertEqual(slugify("Caf\u00e9"), "cafe")

    def test_upper_case_letters_with_accents(self):
        self.assertEqual(slugify("ÉTÉ À ÅRE"), "ete-a-are")

    def test_letters_that_no_accent_explains(self):
        self.assertEqual(slugify("Straße"), "strasse")
        self.assertEqual(slugify("Smørrebrød"), "smorrebrod")
        self.assertEqual(slugify("Łódź"), "lodz")
        self.assertEqual(slugify("Æsir"), "aesir")

    def test_the_limit_counts_the_letters_of_the_slug(self):
        self.assertEqual(slugify("groß und ganz", max_length=9), "gross-und")

    def test_other_scripts_still_separate_words(self):
        self.assertEqual(slugify("Tokyo 東京 guide"), "tokyo-guide")
        self.assertEqual(slugify("東京"), "untitled")
