import unittest

from temperature_table.statistics import Summary, summarize


class Statistics(unittest.TestCase):
    def test_one_reading_is_its_own_mean(self):
        self.assertEqual(summarize([4.5]), Summary(1, 4.5, 4.5, 4.5))

    def test_several_readings(self):
        self.assertEqual(summarize([-2.0, 0.0, 5.0]), Summary(3, 1.0, -2.0, 5.0))
