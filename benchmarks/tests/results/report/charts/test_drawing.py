"""Drawn charts: files for themselves and parts of a page."""

import re
import xml.etree.ElementTree as ElementTree

import altair as alt

from swetrials.results.report.charts.drawing import Drawing, draw
from swetrials.results.report.charts.style import BLUE, INK, PAPER, chart_of, specification

EVIL = '</svg><script>alert("1")</script> id="x" "#0072b2"'


def bars(name: str = "a name") -> alt.Chart:
    chart: alt.Chart = chart_of([{"name": name, "value": 3}, {"name": "other", "value": 5}]).mark_bar(fill=BLUE)
    return chart.encode(x="value:Q", y=alt.Y("name:N", axis=alt.Axis(labelLimit=0)))


def drawn(name: str = "chart") -> Drawing:
    return draw(bars(), name, "Title & more", "What it <shows>.")


def test_a_file_is_whole_and_says_what_it_shows() -> None:
    root = ElementTree.fromstring(drawn().svg)
    words = {element.tag.split("}")[1]: element.text for element in root if element.tag.endswith(("title", "desc"))}
    assert words == {"title": "Title & more", "desc": "What it <shows>."}
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title text")
    assert f'fill="{PAPER}"' in drawn().svg


def test_in_the_page_it_has_the_pages_colours_and_no_background() -> None:
    inline = drawn().inline
    assert "var(--blue)" in inline
    assert "currentColor" in inline
    for colour in (INK, BLUE, f'fill="{PAPER}"'):
        assert colour not in inline


def test_ids_of_two_charts_on_one_page_differ() -> None:
    one, other = (set(re.findall(r'\sid="([^"]+)"', drawn(name).inline)) for name in ("one", "other"))
    assert one
    assert one.isdisjoint(other)
    assert 'aria-labelledby="one-title one-text"' in drawn("one").inline


def test_a_name_with_markup_in_it_stays_a_name() -> None:
    made = draw(bars(EVIL), "chart", EVIL, EVIL)
    for svg in (made.svg, made.inline):
        tags = [element.tag.split("}")[-1] for element in ElementTree.fromstring(svg).iter()]
        assert "script" not in tags
        assert "script" in svg


def test_the_same_chart_is_drawn_the_same_and_as_a_picture() -> None:
    assert drawn() == drawn()
    assert drawn().png().startswith(b"\x89PNG")
    assert drawn().width > 100


def test_the_common_look_is_vega_lite() -> None:
    alt.Chart.from_dict(bars().to_dict())
    config = specification(bars())["config"]
    legend = {name: value for name, value in config["legend"].items() if name != "layout"}
    alt.Config.from_dict({**config, "legend": legend})
