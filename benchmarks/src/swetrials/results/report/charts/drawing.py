"""Drawing charts: once as SVG, from which the page's own form and the PNG are made. No browser, no network."""

import re
from dataclasses import dataclass
from html import escape

import altair as alt
import vl_convert

from swetrials.results.report.charts.style import INK, PAPER, VARIABLES, specification

_VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
_PNG_SCALE = 2.0
_COLOUR = re.compile(r'"(#[0-9a-f]{6})"')
_ID = re.compile(r'(?<=\sid=")[^"]+')
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_WORDS = 'aria-labelledby="title text"'
_BACKGROUND = re.compile(r'<rect width="[\d.]+" height="[\d.]+" fill="' + PAPER + '"/>')


@dataclass(frozen=True)
class Drawing:
    """A chart that has been drawn."""

    name: str
    """Of its files, without ending; also the prefix of the ids in the page."""

    title: str
    description: str
    """What the picture shows, in a sentence, for who cannot see it."""

    svg: str
    """A file of its own, on white."""

    @property
    def width(self) -> float:
        """In pixels, unscaled."""
        return float(_attribute(self.svg, "width"))

    @property
    def inline(self) -> str:
        """The SVG for the page: without background, and in the page's colours, whichever these are."""
        svg = _BACKGROUND.sub("", self.svg, count=1)
        svg = _COLOUR.sub(lambda found: f'"{_in_page(found[1])}"', svg)
        svg = _ID.sub(lambda found: f"{self.name}-{found[0]}", svg)
        svg = svg.replace(_WORDS, f'aria-labelledby="{self.name}-title {self.name}-text"', 1)
        return _REFERENCE.sub(lambda found: f"url(#{self.name}-{found[1]})", svg)

    def png(self) -> bytes:
        """Return the picture in twice its size."""
        return bytes(vl_convert.svg_to_png(self.svg, scale=_PNG_SCALE))


def draw(chart: alt.TopLevelMixin, name: str, title: str, description: str) -> Drawing:
    """Draw a chart.

    Args:
        chart: without configuration; the common look is put on here.
        name: of files and ids: letters and hyphens.
        title: shown above it.
        description: what the picture shows, in a sentence.
    """
    svg = vl_convert.vegalite_to_svg(specification(chart), vl_version=_VEGA_LITE, allowed_base_urls=[])
    return Drawing(name, title, description, _with_words(svg, title, description))


def _with_words(svg: str, title: str, description: str) -> str:
    opening, rest = svg.split(">", 1)
    words = f'<title id="title">{escape(title)}</title><desc id="text">{escape(description)}</desc>'
    return f'{opening} role="img" {_WORDS}>{words}{rest}'


def _in_page(colour: str) -> str:
    return "currentColor" if colour == INK else f"var({VARIABLES[colour]})" if colour in VARIABLES else colour


def _attribute(svg: str, name: str) -> str:
    found = re.search(rf'\s{name}="([^"]+)"', svg)
    assert found is not None, "vl-convert writes the size of every picture"
    return found[1]
