import unittest

from temperature_table.table import read_stations, render


class Table(unittest.TestCase):
    def test_readings_are_grouped_by_station(self):
        self.assertEqual(
            read_stations(["rome,12\n", "\n", "oslo,-3.5\n", "rome,14\n"]), {"rome": [12.0, 14.0], "oslo": [-3.5]}
        )

    def test_stations_are_in_alphabetical_order_and_the_sum_comes_last(self):
        names = [line.split()[0] for line in render({"rome": [12.0], "oslo": [-3.5]}).splitlines()]
        self.assertEqual(names, ["station", "oslo", "rome", "all"])

    def test_figures_have_one_decimal(self):
        self.assertEqual(render({"oslo": [1.25, 2.0]}).splitlines()[1].split(), ["oslo", "2", "1.6", "1.2", "2.0"])
