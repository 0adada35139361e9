"""Names of points: near their point, inside the frame, and not one over the other while there is room."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swetrials.results.report.charts.labels import Box, Point, place, text_width

WIDTH, HEIGHT, FONT_SIZE = 800.0, 450.0, 11.0

spots = st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT))


@settings(max_examples=30, deadline=None)
@given(st.lists(spots, min_size=1, max_size=18))
def test_every_name_is_inside_the_frame(places: list[tuple[float, float]]) -> None:
    points = [Point(x, y, f"model-{number}") for number, (x, y) in enumerate(places)]
    for box in place(points, WIDTH, HEIGHT, FONT_SIZE):
        assert box.width / 2 <= box.x <= WIDTH - box.width / 2
        assert box.height / 2 <= box.y <= HEIGHT - box.height / 2


@pytest.mark.parametrize("count", [2, 5, 9])
def test_names_of_points_in_one_place_part(count: int) -> None:
    boxes = place([Point(400, 200, "claude-opus-4-5")] * count, WIDTH, HEIGHT, FONT_SIZE)
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))


def test_a_name_keeps_off_other_points_and_off_lines() -> None:
    point, neighbour = Point(400, 200, "claude-opus-5"), Point(425, 200, "glm-5.3")
    line = Box(400, 230, 300, 1.5)
    for box in place([point, neighbour], WIDTH, HEIGHT, FONT_SIZE, [line]):
        assert not any(box.meets(Box(p.x, p.y, FONT_SIZE, FONT_SIZE)) for p in (point, neighbour))
        assert not box.meets(line)


def test_a_lonely_name_stands_to_the_right() -> None:
    [box] = place([Point(100, 100, "kimi-k3")], WIDTH, HEIGHT, FONT_SIZE)
    assert box.x - box.width / 2 > 100
    assert box.distance(Point(100, 100, "kimi-k3")) < 10


def test_boundaries_touch_without_meeting() -> None:
    assert not Box(0, 0, 10, 10).meets(Box(10, 0, 10, 10))
    assert Box(0, 0, 10, 10).meets(Box(9, 9, 10, 10))


def test_a_width_is_near_what_is_drawn() -> None:
    # Arial's own widths of these letters, in thousandths of the font's size.
    assert text_width("claude-opus-5", 1000) == pytest.approx(6336, rel=0.12)
