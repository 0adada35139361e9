"""A run's summary on disk: ``run-summary.json`` for programs, ``run-summary.md`` for people."""

from pathlib import Path

from swetrials.records.dataset import RankBy
from swetrials.records.summary import RunSummary
from swetrials.results.report.markdown import summary_markdown
from swetrials.results.summary import read_trials, summarize
from swetrials.store.files import write_atomically, write_record


def summarize_scope(scope: Path, judge: str | None = None, rank_by: RankBy | None = None) -> RunSummary:
    """Write both summaries into a scope folder and return what they say.

    Args:
        scope: the folder of a run.
        judge: take this judge's scores, by its name or the beginning of it; ``None``: each trial's headline judge's.
        rank_by: rank by this, whatever the trials' datasets rank by.

    Raises:
        SummaryError: there is no trial, or they do not belong together.
        RecordError: a record cannot be read.
    """
    summary = summarize(read_trials(scope, judge, rank_by))
    write_record(scope / "run-summary.json", summary)
    write_atomically(scope / "run-summary.md", summary_markdown(summary))
    return summary
