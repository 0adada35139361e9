"""``run-summary.md``: the run's table and totals for people and pull requests."""

from collections.abc import Sequence

from swetrials.records.summary import RunSummary
from swetrials.results.report import summary_table


def summary_markdown(summary: RunSummary) -> str:
    """Return a run's summary as GitHub-flavoured markdown."""
    lines = [f"# {summary_table.title(summary)}", ""]
    if summary.rehearsal:
        lines += [
            "> Made with the built-in rehearsal model: it shows how the harness works, nothing about any model.",
            "",
        ]
    lines += [
        f"Dataset `{summary.dataset}`, model `{summary.model}` by `{summary.provider}`, {summary.generated_at}.",
        "",
        *table(summary_table.COLUMNS, [summary_table.row(task) for task in summary.tasks]),
        "",
        *table(("total", ""), summary_table.totals(summary)),
        "",
    ]
    notes = [
        f"- `{one_line(task.folder)}`: {one_line(note).replace('<', '&lt;')}"
        for task in summary.tasks
        for note in _notes(task.score_reason, task.findings)
    ]
    if notes:
        lines += ["## Notes", "", *notes, ""]
    return "\n".join(lines)


def _notes(reason: str, findings: Sequence[str]) -> list[str]:
    return [*([f"score: {reason}"] if reason else []), *findings]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table's lines."""
    return [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    # A pipe or a line break inside a cell would break the table; so would a backslash that unmasks a pipe.
    masked = (one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(masked) + " |"


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())
