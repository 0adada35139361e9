"""The colours of cells that carry a figure, each with the ink that is read best on it."""

from collections.abc import Sequence
from typing import Final

LIGHT, DARK = "#fefefe", "#000000"
"""Inks. They go with the cell's own colour and stay as they are in the dark, so neither is one of the page's."""

SCORES: Final = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
"""Cividis (Nuñez, Anderton and Renslow 2018): even steps of lightness, also for eyes without red or green."""

_FAIR_SCORE, _GOOD_SCORE = 40.0, 90.0

BETTER: Final = ("#cfe3f1", "#8fbfde", "#4f97c7", "#005f96")
WORSE: Final = ("#fadfcb", "#f2b98f", "#e08a4f", "#a94a08")
COUNTS: Final = ("#f7e3d3", "#f0b98c", "#dd8446", "#a94a08")


def score_shade(score: float, beside: Sequence[float]) -> str:
    """Return the colour of a score beside the others of a chart. A few points never span the whole ramp."""
    low, high = min(_FAIR_SCORE, *beside, score), max(_GOOD_SCORE, *beside, score)
    return shade((score - low) / (high - low), SCORES)


def shade(share: float, ramp: Sequence[str]) -> str:
    """Return the colour at a share of 0 to 1 of a ramp, mixed from the two nearest."""
    place = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    first = min(int(place), len(ramp) - 2)
    rest = place - first
    mixed = (round(a + (b - a) * rest) for a, b in zip(_parts(ramp[first]), _parts(ramp[first + 1]), strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink_on(fill: str) -> str:
    """Return the ink with the higher contrast on a colour, by the formula of WCAG 2."""
    luminance = _luminance(fill)
    on_light, on_dark = (1.05) / (luminance + 0.05), (luminance + 0.05) / (_luminance(DARK) + 0.05)
    return LIGHT if on_light > on_dark else DARK


def _luminance(colour: str) -> float:
    red, green, blue = (
        part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4
        for part in _parts(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
