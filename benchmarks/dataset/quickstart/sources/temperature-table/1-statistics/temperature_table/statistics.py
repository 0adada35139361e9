"""Minimum, mean and maximum of temperatures in degrees Celsius."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """What a series of readings comes to."""

    readings: int
    mean: float
    lowest: float
    highest: float


def summarize(temperatures: Sequence[float]) -> Summary:
    """Return the summary of a series of readings."""
    mean = sum(temperatures) / len(temperatures)
    return Summary(len(temperatures), mean, min(temperatures), max(temperatures))
