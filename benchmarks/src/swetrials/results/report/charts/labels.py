"""Where the names of points go, so that none lies over another, over a point or outside the frame."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import cos, hypot, pi, sin

_ROUNDS = 4
_RADII = (9.0, 14.0, 22.0, 32.0, 45.0, 60.0)
_DIRECTIONS = 16
_OUTSIDE = 50.0
_OVER_NAME = 12.0
_OVER_POINT = 8.0
_OVER_LINE = 0.6
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] -"), frozenset("mwMW@%")


@dataclass(frozen=True)
class Point:
    """A point in pixels from the upper left corner, with its name."""

    x: float
    y: float
    name: str


@dataclass(frozen=True)
class Box:
    """A rectangle by its middle, in the same pixels, and its size."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: "Box") -> bool:
        """Whether two rectangles share any area."""
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2
            and abs(self.y - other.y) < (self.height + other.height) / 2
        )

    def distance(self, point: Point) -> float:
        """Return how far the nearest edge of the box is from a point."""
        return hypot(
            max(0.0, abs(self.x - point.x) - self.width / 2), max(0.0, abs(self.y - point.y) - self.height / 2)
        )


def text_width(text: str, font_size: float) -> float:
    """Return about how wide a text is in Liberation Sans or Arial, in pixels."""
    return font_size * sum(0.33 if c in _NARROW else 0.86 if c in _WIDE else 0.58 for c in text)


def place(
    points: Sequence[Point], width: float, height: float, font_size: float, lines: Sequence[Box] = ()
) -> list[Box]:
    """Return a place for each point's name.

    Each name in turn takes the place that costs least beside the others, some rounds over, so that an early choice can
    make room for a late one. Near is better than far, and right is better than left; lying over something is worst.

    Args:
        points: what is named.
        width: of the frame, in pixels.
        height: of the frame, in pixels.
        font_size: in pixels.
        lines: what a name had better not cross.
    """
    dots = [Box(point.x, point.y, font_size, font_size) for point in points]

    def alone(box: Box, point: Point) -> float:
        return _beyond(box, width, height) + _far(box, point) + _over(box, dots, lines)

    # What a place costs beside points and lines is the same in all rounds.
    choices = [[(box, alone(box, point)) for box in _places(point, font_size)] for point in points]
    chosen = [places[0][0] for places in choices]
    for _ in range(_ROUNDS):
        before = list(chosen)
        for index, places in enumerate(choices):
            others = [box for other, box in enumerate(chosen) if other != index]
            chosen[index] = min(places, key=lambda place: place[1] + _OVER_NAME * _met(place[0], others))[0]
        if chosen == before:
            break
    return chosen


def _places(point: Point, font_size: float) -> Iterator[Box]:
    wide, high = text_width(point.name, font_size), font_size * 1.25
    for radius, step in product(_RADII, range(_DIRECTIONS)):
        angle = 2 * pi * step / _DIRECTIONS
        x = point.x + cos(angle) * (radius + wide / 2)
        yield Box(x, point.y + sin(angle) * (radius + high / 2), wide, high)


def _beyond(box: Box, width: float, height: float) -> float:
    beyond = (
        max(0.0, box.width / 2 - box.x)
        + max(0.0, box.x + box.width / 2 - width)
        + max(0.0, box.height / 2 - box.y)
        + max(0.0, box.y + box.height / 2 - height)
    )
    return _OUTSIDE * (beyond > 0) + beyond


def _far(box: Box, point: Point) -> float:
    return box.distance(point) / _RADII[0] + (0.3 if box.x < point.x else 0.0)


def _over(box: Box, dots: Sequence[Box], lines: Sequence[Box]) -> float:
    return _OVER_POINT * _met(box, dots) + _OVER_LINE * _met(box, lines)


def _met(box: Box, others: Sequence[Box]) -> int:
    return sum(map(box.meets, others))
