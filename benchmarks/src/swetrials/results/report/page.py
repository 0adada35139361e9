"""The report: one page that needs no network, and its charts as files."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from swetrials import __version__
from swetrials.errors import KnownError
from swetrials.records.dataset import RankBy
from swetrials.results.leaderboard import leaderboard
from swetrials.results.report.charts.drawing import Drawing
from swetrials.results.report.sections import BoardTrials, Section, sections
from swetrials.results.results_tree import read_rows
from swetrials.results.trial_background import read_backgrounds
from swetrials.results.trial_row import TrialRow
from swetrials.store.files import write_atomically


@dataclass(frozen=True)
class BoardPart:
    """What the page says of one leaderboard."""

    anchor: str
    title: str
    rehearsal: bool
    sections: Sequence[Section]

    @property
    def answer(self) -> Sequence[str]:
        """The headline, in sentences."""
        return self.sections[0].paragraphs

    @property
    def drawings(self) -> list[Drawing]:
        """Every chart of it."""
        return [figure.drawing for section in self.sections for figure in section.figures]


@dataclass(frozen=True)
class Report:
    """A report in the making, with the charts drawn; ``left_out`` tells, a line each, what is not."""

    title: str
    made: str
    parts: Sequence[BoardPart]
    left_out: Sequence[str]

    @property
    def drawings(self) -> list[Drawing]:
        """Every chart of the page, in its order."""
        return [drawing for part in self.parts for drawing in part.drawings]

    def html(self) -> str:
        """Return the page."""
        return _ENVIRONMENT.get_template("report.html.j2").render(report=self, version=__version__)


class ReportError(KnownError):
    """A file of the report cannot be written; the message says which and why."""


def report(
    tree: Path,
    beside: Path,
    *,
    tie_band: float | None = None,
    judge: str | None = None,
    rank_by: RankBy | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Report:
    """Read a results tree and draw its charts. Each scope has a part of its own; rehearsals come last, unranked.

    A trial that cannot be read is left out, and named on the page.

    Args:
        tree: a results tree, or any folder in one.
        beside: the folder that the page will be in; its links start there.
        tie_band: points within which two count as equal; without it, what the trials' noise says.
        judge: take this judge's scores, by its name or the beginning of it; ``None``: each trial's headline judge's.
        rank_by: rank by this, whatever the trials' datasets rank by.
        tell: takes a line for each trial that is left out, as soon as it is met.

    Raises:
        ResultsTreeError: there is no trial that can be read.
        MixtureError: trials of one scope cannot be set beside each other.
    """
    left_out = list[str]()

    def leave_out(line: str) -> None:
        left_out.append(line)
        tell(line)

    groups = _by_board(read_rows(tree, leave_out, judge, rank_by))
    names = _names(groups)

    def link(folder: str) -> str:
        return quote(f"{os.path.relpath(tree / folder, beside)}/")

    parts = []
    for (scope, rehearsal), rows in groups.items():
        name = names[scope, rehearsal]
        trials = BoardTrials(leaderboard(rows, tie_band=tie_band), read_backgrounds(tree, rows))
        prefix = f"{name}-" if len(groups) > 1 else ""
        parts.append(BoardPart(name, scope, rehearsal, sections(trials, link, prefix)))
    return Report(f"swetrials: {', '.join(dict.fromkeys(scope for scope, _ in groups))}", _now(), parts, left_out)


def write_report(made: Report, page: Path, charts: Path | None) -> list[Path]:
    """Write the page, and with ``charts`` each chart as PNG and SVG into that folder; return what was written.

    Raises:
        ReportError: a file cannot be written.
    """
    files: dict[Path, bytes | str] = {page: made.html()}
    if charts is not None:
        for drawing in made.drawings:
            files[charts / f"{drawing.name}.svg"] = drawing.svg
            files[charts / f"{drawing.name}.png"] = drawing.png()
    for path, content in files.items():
        try:
            write_atomically(path, content)
        except OSError as error:
            raise ReportError(f"{path}: cannot be written: {error.strerror or error}; give another place") from None
    return list(files)


def _by_board(rows: Iterable[TrialRow]) -> dict[tuple[str, bool], list[TrialRow]]:
    groups: dict[tuple[str, bool], list[TrialRow]] = {}
    for row in rows:
        groups.setdefault((row.scope, row.rehearsal), []).append(row)
    return dict(sorted(groups.items(), key=lambda group: (group[0][1], group[0][0])))


def _names(groups: Iterable[tuple[str, bool]]) -> dict[tuple[str, bool], str]:
    """Return a name for each leaderboard that can be part of a file's name and of an anchor."""
    names: dict[tuple[str, bool], str] = {}
    for scope, rehearsal in groups:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", scope).strip("-") or "scope"
        name = f"{plain}-rehearsal" if rehearsal else plain
        names[scope, rehearsal] = f"{name}-{len(names) + 1}" if name in names.values() else name
    return names


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


_ENVIRONMENT = Environment(
    loader=PackageLoader("swetrials.results.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
