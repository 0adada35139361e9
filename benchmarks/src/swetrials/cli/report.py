"""``report``: the page and its charts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.cli.options import JudgeChosen, RankByChosen
from swetrials.cli.outputs import LeftOut, check_folder, check_output

if TYPE_CHECKING:
    from swetrials.records.dataset import RankBy

app = single_command()


@app.command(epilog="Example: swetrials report swe-benchmark-data --out report.html --charts charts")
def report(
    tree: Annotated[Path | None, typer.Argument(help="A results tree, or any folder in one.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The page to write; default: report.html, the example's in example-report/.", metavar="FILE"),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option(help="Also write each chart as PNG and SVG here.", metavar="DIR")
    ] = None,
    tie_band: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Points within which two are equal; default: from the noise."),
    ] = None,
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
    example: Annotated[
        bool, typer.Option("--example", help="Report the published figures that come with the project.")
    ] = False,
) -> None:
    """Write one page that answers which model to use for what, with charts; it needs no network."""
    if (tree is None) != example:
        raise typer.BadParameter("name a results tree, or give --example; one of the two")
    if tree is None:
        raise typer.Exit(write_example(out, charts, tie_band))
    raise typer.Exit(write(tree, out or Path("report.html"), charts, tie_band, judge, rank_by))


def write(
    tree: Path,
    page: Path,
    charts: Path | None,
    tie_band: float | None,
    judge: str | None = None,
    rank_by: RankBy | None = None,
) -> int:
    """Write a report of a results tree and say where it is; return 1 when trials could not be read.

    Raises:
        UsageError: the page or the folder of charts cannot be where it is to be; nothing was done.
        ResultsTreeError: there is no trial that can be read.
        MixtureError: trials of one scope cannot be set beside each other.
        ReportError: a file cannot be written.
    """
    from swetrials.cli.recovering import recover_below
    from swetrials.results.report.page import report, write_report
    from swetrials.results.report.wording import counted

    check_output("--out", page)
    check_folder("--charts", charts)
    recover_below(tree)
    left_out = LeftOut()
    made = report(tree, page.parent, tie_band=tie_band, judge=judge, rank_by=rank_by, tell=left_out)
    write_report(made, page, charts)
    print(f"{page}: {page.stat().st_size / 1000:,.0f} kB, {counted(len(made.drawings), 'chart')}")
    if charts is not None and made.drawings:
        print(f"{charts}: each chart as PNG and SVG")
    for part in made.parts:
        if len(made.parts) > 1:
            print(f"{part.title}:")
        for sentence in part.answer:
            print(f"  {sentence}")
    return 1 if left_out.count else 0


def write_example(page: Path | None, charts: Path | None, tie_band: float | None) -> int:
    """Write a report of the published figures that come with the project, and a results tree of them.

    Raises:
        ProjectError: the project's folder cannot be found.
        ImportingError: something else lies where the tree belongs.
        ReportError: a file cannot be written.
    """
    from swetrials.runs.example import FOLDER, example_tree
    from swetrials.store.project import find_project

    page = page or FOLDER / "report.html"
    check_output("--out", page)
    tree = example_tree(find_project())
    code = write(tree, page, charts, tie_band)
    print(f"{tree}: the published figures as a results tree, which the page's links lead to")
    return code
