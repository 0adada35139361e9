"""Colours of cells: words on them can be read, and a larger figure is never the lighter one by chance."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from swetrials.results.report.charts.shades import BETTER, COUNTS, SCORES, WORSE, ink_on, shade

STEPS = [step / 50 for step in range(51)]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("ramp", [SCORES, BETTER, WORSE, COUNTS])
def test_the_figure_on_every_shade_can_be_read(ramp: Sequence[str]) -> None:
    for step in STEPS:
        fill = shade(step, ramp)
        light, dark = sorted((luminance(fill), luminance(ink_on(fill))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, fill


@pytest.mark.parametrize("ramp", [SCORES, BETTER, WORSE, COUNTS])
def test_lightness_goes_one_way(ramp: Sequence[str]) -> None:
    steps = [luminance(shade(step, ramp)) for step in STEPS]
    rises = {later > earlier for earlier, later in pairwise(steps)}
    assert rises == {ramp is SCORES}


def test_the_ends_are_those_of_the_ramp_and_nothing_is_beyond_them() -> None:
    assert (shade(0, SCORES), shade(1, SCORES)) == (SCORES[0], SCORES[-1])
    assert (shade(-1, SCORES), shade(2, SCORES)) == (SCORES[0], SCORES[-1])
