"""What a trial's tokens and its time are made of."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import altair as alt

from swetrials.records.leaderboard import Leaderboard, ModelStanding
from swetrials.results.report.charts.axes import rows_axis
from swetrials.results.report.charts.sizes import Size
from swetrials.results.report.charts.style import BLUE, MUTED, ORANGE, SKY, YELLOW, chart_of

_ROW_PIXELS = 21

_BUCKETS = {
    "fresh input": ("fresh_input_tokens", BLUE),
    "cache write": ("cache_write_tokens", YELLOW),
    "output": ("output_tokens", ORANGE),
    "cache read": ("cache_read_tokens", SKY),
}
_PARTS = {"model (API)": BLUE, "waiting to retry": ORANGE, "agent and tools": SKY, "not split": MUTED}

_TOKEN_UNITS = ((1e6, "million"), (1e3, "thousand"), (1.0, "single"))
_TIME_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


@dataclass(frozen=True)
class _Part:
    name: str
    part: str
    order: int
    value: float


def token_chart(board: Leaderboard, size: Size) -> alt.ConcatChart:
    """Return the mean tokens of a trial by bucket: all of them, and without cache reads, which hide the others."""
    parts = [part for standing in board.standings for part in _buckets(standing)]
    labels = [s.label for s in board.standings if any(part.name == s.label for part in parts)]
    colours = {bucket: colour for bucket, (_, colour) in _BUCKETS.items()}
    without = [part for part in parts if part.part != "cache read"]
    panel = replace(size, width=size.width / size.panels)
    return alt.concat(
        _stacked(parts, labels, colours, _TOKEN_UNITS, "tokens per completed trial", panel),
        _stacked(without, labels, colours, _TOKEN_UNITS, "tokens without cache reads", panel, named=size.panels == 1),
        columns=size.panels,
        spacing=14,
    )


def time_chart(board: Leaderboard, size: Size) -> alt.Chart:
    """Return the mean wall time of a trial, split where requests were timed."""
    parts = [part for standing in board.standings for part in _times(standing)]
    labels = [s.label for s in board.standings if any(part.name == s.label for part in parts)]
    used = {part.part for part in parts}
    colours = {name: colour for name, colour in _PARTS.items() if name in used}
    return _stacked(parts, labels, colours, _TIME_UNITS, "of wall time per completed trial", size)


def _buckets(standing: ModelStanding) -> list[_Part]:
    means = {bucket: getattr(standing.means, field).value for bucket, (field, _) in _BUCKETS.items()}
    return [
        _Part(standing.label, bucket, order, mean)
        for order, (bucket, mean) in enumerate(means.items())
        if mean is not None
    ]


def _times(standing: ModelStanding) -> list[_Part]:
    wall, api = standing.latency_seconds, standing.means.api_seconds
    if wall.value is None:
        return []
    if api.value is None or api.trials != wall.trials:
        return [_Part(standing.label, "not split", 3, wall.value)]
    waiting = standing.means.waiting_seconds.value or 0.0
    rest = max(wall.value - api.value - waiting, 0.0)
    seconds = {"model (API)": api.value, "waiting to retry": waiting, "agent and tools": rest}
    return [_Part(standing.label, part, order, value) for order, (part, value) in enumerate(seconds.items())]


def _stacked(
    parts: Sequence[_Part],
    labels: Sequence[str],
    colours: dict[str, str],
    units: Sequence[tuple[float, str]],
    title: str,
    size: Size,
    *,
    named: bool = True,
) -> alt.Chart:
    unit, name = _unit(parts, units)
    values = [{**asdict(part), "value": part.value / unit} for part in parts]
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    fill = alt.Fill("part:N", title=None, scale=scale, legend=alt.Legend(orient="top", columns=size.legend_columns))
    bars: alt.Chart = chart_of(values).mark_bar(height=13)
    y = rows_axis(labels, named=named)
    return bars.encode(x=alt.X("value:Q", title=f"{name} {title}"), y=y, fill=fill, order="order:Q").properties(
        width=size.width, height=alt.Step(_ROW_PIXELS)
    )


def _unit(parts: Sequence[_Part], units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest unit that the longest bar has at least two of, else the smallest."""
    lengths: dict[str, float] = {}
    for part in parts:
        lengths[part.name] = lengths.get(part.name, 0.0) + part.value
    longest = max(lengths.values(), default=0.0)
    return next((unit for unit in units if longest >= 2 * unit[0]), units[-1])
