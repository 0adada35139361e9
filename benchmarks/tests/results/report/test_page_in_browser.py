"""The report of 18 models on 21 tasks in a real browser: wide, narrow, dark and on paper."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from results.report.browser import chromium, needs_chromium
from results.report.published_tree import published_tree
from swetrials.results.report.page import report, write_report

pytestmark = [pytest.mark.slow, needs_chromium]

DESK, PHONE = (1280, 900), (360, 740)
CHARTS = 10
MOST_PIXELS_BEYOND = 1.5
"""Fonts of browsers differ a little from the one that a chart was drawn for."""

Box = Sequence[float]
"""Left, top, right, bottom, in pixels."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    write_report(report(published_tree(folder), folder), folder / "report.html", None)
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def opened(
    browser: Browser, file: Path, size: tuple[int, int], scheme: Literal["dark", "light"] = "light"
) -> tuple[Page, list[str]]:
    """Open the page and return it with everything that went wrong, and every address that it asked for."""
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url))
    page.goto(file.as_uri())
    return page, heard


@pytest.mark.parametrize(
    "size", [pytest.param(DESK, marks=pytest.mark.once, id="desk"), pytest.param(PHONE, id="phone")]
)
def test_nothing_is_wrong_fetched_or_wider_than_the_screen(browser: Browser, file: Path, size: tuple[int, int]) -> None:
    page, heard = opened(browser, file, size)
    assert heard == [file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.close()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_chart_is_drawn_and_no_word_in_it_is_cut(browser: Browser, file: Path, size: tuple[int, int]) -> None:
    page, _ = opened(browser, file, size)
    shown = [svg for svg in page.query_selector_all("figure svg") if svg.is_visible()]
    assert len(shown) == CHARTS
    for svg in shown:
        frame = svg.bounding_box()
        assert frame is not None
        assert frame["width"] > 100
        assert frame["height"] > 30
        [(_, outer)] = svg.evaluate(BOXES, None)
        for word, box in svg.evaluate(BOXES, "text"):
            assert beyond(box, outer) < MOST_PIXELS_BEYOND, word
    page.close()


BOXES = """(svg, selector) => Array.from(selector ? svg.querySelectorAll(selector) : [svg], element => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return [element.textContent, [left, top, right, bottom]];
})"""
"""The words and the boxes of a chart's elements, all in one go: the browser takes its time for each question."""


def beyond(inner: Box, outer: Box) -> float:
    """Return by how many pixels a box sticks out of another one."""
    return max(outer[0] - inner[0], outer[1] - inner[1], inner[2] - outer[2], inner[3] - outer[3])


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("chart", ["frontier", "pairs", "tasks", "tiers"])
def test_no_two_words_of_a_chart_overlap(browser: Browser, file: Path, size: tuple[int, int], chart: str) -> None:
    page, _ = opened(browser, file, size)
    [svg] = [svg for svg in page.query_selector_all(f"section.{chart} figure svg") if svg.is_visible()]
    # A name is there twice in one place: in the colour of the paper around itself, and in ink.
    words = {(word, tuple(box)) for word, box in svg.evaluate(BOXES, "text")}
    for (one, a), (other, b) in combinations(sorted(words), 2):
        assert one == other or shared(a, b) < 3, f"{one} and {other} overlap"
    page.close()


def shared(a: Box, b: Box) -> float:
    """Return how deep two boxes reach into each other, in pixels."""
    return min(min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_their_background(browser: Browser, file: Path, scheme: Literal["dark", "light"]) -> None:
    page, _ = opened(browser, file, DESK, scheme)
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.5) == (scheme == "light")
    for selector in ("body", "figcaption", "small", "nav a", "figure svg g.role-axis-label text", "tbody th"):
        ink = page.evaluate(
            "s => { const e = document.querySelector(s), c = getComputedStyle(e);"
            " return e instanceof SVGElement ? c.fill : c.color }",
            selector,
        )
        assert contrast(luminance(ink), paper) >= 4.5, selector
    page.close()


def luminance(colour: str) -> float:
    """Return the relative luminance of ``rgb(r, g, b)``, by WCAG 2."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_on_paper_it_is_light_whole_and_within_the_margins(browser: Browser, file: Path) -> None:
    page, _ = opened(browser, file, (680, 960), "dark")
    page.emulate_media(media="print")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    assert not page.query_selector_all("nav")[0].is_visible()
    folded = page.query_selector_all("section.trials details tr")
    assert folded
    assert all(row.evaluate("row => row.checkVisibility()") for row in folded)
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
    page.close()
