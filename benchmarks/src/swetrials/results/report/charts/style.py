"""What all charts share: colours that can be told apart by everybody, the font, and the look of axes.

Each colour has a name under which the page gives it another value in the dark; see :data:`VARIABLES`. The hues are
Okabe and Ito's, "Color Universal Design" (2008), a shade darker where text or thin lines are drawn with them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

Layers = alt.LayerChart | alt.FacetChart
"""What layering charts gives."""

INK = "#1b1f24"
MUTED = "#5a6470"
GRID = "#dde1e6"
PAPER = "#ffffff"
PANEL = "#eceff2"
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#00805d"
YELLOW = "#e69f00"
PINK = "#b8578a"
SKY = "#56b4e9"

VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    PAPER: "--paper",
    PANEL: "--panel",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    YELLOW: "--yellow",
    PINK: "--pink",
    SKY: "--sky",
}
"""The page's name of each colour. Cells of heat maps keep theirs: they carry their own background."""

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first is inside vl-convert, and the second has the same widths: a label fits everywhere if it fits here."""

FONT_SIZE = 11.0


def chart_of(values: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Return a chart over records, without marks yet."""
    return alt.Chart(alt.Data(values=list(values)))  # type: ignore[no-untyped-call]


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart in the common look, as Vega-Lite."""
    # Altair checks each part as it is made; checking the whole once more takes as long as drawing it.
    found: dict[str, Any] = chart.to_dict(validate=False)
    return {**found, "config": _CONFIG}


_TEXT = {"labelColor": INK, "titleColor": MUTED, "labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE}
_CONFIG = {
    "font": FONT,
    "background": PAPER,
    "padding": 8,
    "aria": False,  # the picture as a whole is described
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": GRID,
        "tickColor": GRID,
        "labelLimit": 400,
    },
    "legend": {
        **_TEXT,
        "titleFontWeight": "normal",
        "labelLimit": 400,
        # Several legends stand one below the other.
        "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 2}},
    },
    "title": {"color": INK, "fontSize": FONT_SIZE + 1},
    "text": {"fontSize": FONT_SIZE, "color": INK},
}
