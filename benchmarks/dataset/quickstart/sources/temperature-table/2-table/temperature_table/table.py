"""Readings as comma-separated lines in, a table of stations out."""

import csv
from collections.abc import Iterable, Mapping

from temperature_table.statistics import summarize

_HEADING = f"{'station':<10} {'readings':>8} {'mean':>8} {'low':>8} {'high':>8}"


def read_stations(lines: Iterable[str]) -> dict[str, list[float]]:
    """Return the temperatures of each station from lines of ``station,celsius``; blank lines are skipped."""
    stations: dict[str, list[float]] = {}
    for row in csv.reader(lines):
        if row:
            station, celsius = row
            stations.setdefault(station.strip(), []).append(float(celsius))
    return stations


def render(stations: Mapping[str, list[float]]) -> str:
    """Return the table: one line for each station in alphabetical order, and one for all of them."""
    every = [celsius for temperatures in stations.values() for celsius in temperatures]
    lines = [_line(station, temperatures) for station, temperatures in sorted(stations.items())]
    return "\n".join([_HEADING, *lines, _line("all", every)])


def _line(name: str, temperatures: list[float]) -> str:
    summary = summarize(temperatures)
    return (
        f"{name:<10} {summary.readings:>8} {summary.mean:>8.1f} {summary.lowest:>8.1f} {summary.highest:>8.1f}"
    )
