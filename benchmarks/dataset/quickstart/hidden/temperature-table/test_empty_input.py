import subprocess
import sys
import unittest

from temperature_table.table import read_stations, render


class EmptyInput(unittest.TestCase):
    def test_the_table_says_that_there_are_no_readings(self):
        lines = render({}).splitlines()
        self.assertEqual(lines[0].split(), ["station", "readings", "mean", "low", "high"])
        self.assertEqual(lines[1:], ["no readings"])

    def test_blank_lines_are_no_readings(self):
        self.assertEqual(render(read_stations(["\n", "\n"])).splitlines()[1:], ["no readings"])

    def test_the_command_ends_well(self):
        done = subprocess.run(
            [sys.executable, "-m", "temperature_table"], input="", capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("no readings", done.stdout)

    def test_readings_are_summarized_as_before(self):
        self.assertEqual(render({"oslo": [1.0, 3.0]}).splitlines()[1].split(), ["oslo", "2", "2.0", "1.0", "3.0"])
