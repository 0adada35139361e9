"""What all charts share: colours that can be told apart by everybody, the font, and the look of axes.

Each colour has a name under which the page gives it another value in the dark; see :data:`VARIABLES`. The hues are
Okabe and Ito's, "Color Universal Design" (2008), a shade darker where text or thin lines are drawn with them.
"""

from collections.abc import Mapping, Sequence

import altair as alt

Layers = alt.LayerChart | alt.FacetChart
"""What layering charts gives."""

INK = "#1b1f24"
MUTED = "#5a6470"
GRID = "#dde1e6"
PAPER = "#ffffff"
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


def styled(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    """Give a chart the common look; the last step before it is drawn."""
    look: alt.TopLevelMixin = (
        chart.configure(font=FONT, background=PAPER, padding=8, aria=False)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=MUTED,
            labelFontSize=FONT_SIZE,
            titleFontSize=FONT_SIZE,
            titleFontWeight="normal",
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelLimit=400,
        )
        .configure_legend(
            labelColor=INK,
            titleColor=MUTED,
            labelFontSize=FONT_SIZE,
            titleFontSize=FONT_SIZE,
            titleFontWeight="normal",
            labelLimit=400,
        )
        .configure_title(color=INK, fontSize=FONT_SIZE + 1)
        .configure_text(font=FONT, fontSize=FONT_SIZE, color=INK)
    )
    return look
