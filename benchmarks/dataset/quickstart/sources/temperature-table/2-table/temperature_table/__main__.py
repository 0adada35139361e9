"""``python3 -m temperature_table``: readings from standard input, a table to standard output."""

import sys

from temperature_table.table import read_stations, render

print(render(read_stations(sys.stdin)))
