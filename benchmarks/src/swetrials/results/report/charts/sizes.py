"""How large charts are drawn: for a desk or paper, and for a phone."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Size:
    """Of the area inside the axes, in pixels."""

    width: float
    height: float = 0.0
    """Charts with a row for each name take none: they are as high as there are rows."""

    panels: int = 1
    """Side by side, where a chart has several; they share the width."""

    legend_columns: int = 1


DESK: Final = Size(820, 470, panels=2, legend_columns=3)
PHONE: Final = Size(285, 430)
DESK_ROWS: Final = Size(600, panels=2, legend_columns=4)
PHONE_ROWS: Final = Size(190)
