"""The tables that say what the figures stand on: trials, failures, judges, findings, provenance."""

from collections.abc import Callable, Iterator, Sequence

from swetrials.records.leaderboard import Leaderboard
from swetrials.results.candidates import by_candidate
from swetrials.results.ranking import WORDS
from swetrials.results.report import estimates
from swetrials.results.report import wording as figures
from swetrials.results.report.html_tables import Cell, Table, table
from swetrials.results.sealing_words import sealing_words
from swetrials.results.task_grid import TaskCell
from swetrials.results.trial_background import TrialBackground, counted_findings, dates, distinct
from swetrials.results.trial_row import TrialRow

Link = Callable[[str], str]
"""From a trial's folder to where it is, seen from the page."""

_NAMED_TRIALS = 3


def failure_table(board: Leaderboard, rows: Sequence[TrialRow], link: Link) -> Table:
    """Return the trials that did not complete."""
    labels = {standing.key: standing.label for standing in board.standings}
    failed = [
        (labels[trials.candidate.key], _trial(row, link), row.outcome.replace("_", " "), _account(row), _cost(row))
        for trials in by_candidate(rows)
        for row in trials.rows
        if not row.completed
    ]
    columns = ("model", "trial", "outcome", "counts against model or agent", "cost")
    return table(columns, failed, words=("trial", "outcome", "counts against model or agent"))


def judge_table(board: Leaderboard, rows: Sequence[TrialRow]) -> Table:
    """Return in how many scored trials the judge read the repository."""
    lines = []
    for trials in by_candidate(rows):
        scored = [row for row in trials.rows if row.score is not None]
        told = [sum(row.repo_grounded is answer for row in scored) for answer in (True, False, None)]
        lines.append((board.standing(trials.candidate.key).label, str(len(scored)), *map(str, told)))
    columns = ("model", "scored trials", "judge read the repository", "judge read nothing of it", "not told")
    return table(columns, sorted(lines))


def finding_table(backgrounds: Sequence[TrialBackground], link: Link) -> Table | None:
    """Return what the records remark, by kind; ``None``: nothing."""
    lines = []
    for finding in counted_findings(backgrounds):
        named = finding.rows[:_NAMED_TRIALS]
        models = sorted({row.model for row in finding.rows})
        example = Cell(finding.message, f"as in {named[0].folder}", link(named[0].folder))
        lines.append((finding.code, finding.severity, str(len(finding.rows)), ", ".join(models), example))
    columns = ("finding", "severity", "trials", "models", "example")
    return table(columns, lines, words=("severity", "models", "example")) if lines else None


def provenance_table(board: Leaderboard, backgrounds: Sequence[TrialBackground]) -> Table:
    """Return what the figures were made with: versions, dates, sources."""
    return table(("of what", "what"), list(_facts(board, backgrounds)), words=("what",))


def task_table(board: Leaderboard, cells: Sequence[TaskCell], link: Link) -> Table:
    """Return every trial of one task, those of the leaderboard's first line first."""
    order = {standing.key: place for place, standing in enumerate(board.standings)}
    scored = board.rank_by == "rubric" or any(row.score is not None for cell in cells for row in cell.trials)
    columns = (
        "trial", "outcome", *(("score",) if scored else ()), "tests", "cost", "cost basis", "time", "turns",
        "fresh input", "cache read", "cache write", "output",
    )  # fmt: skip
    rows = [
        (
            _trial_of(board.standing(cell.candidate).label, row, link),
            row.outcome.replace("_", " "),
            *((_score(row),) if scored else ()),
            _verdict(row),
            _cost(row),
            row.cost_basis,
            figures.seconds(row.latency_seconds),
            figures.tokens(row.num_turns),
            figures.tokens(row.fresh_input_tokens, row.tokens_completeness),
            figures.tokens(row.cache_read_tokens, row.tokens_completeness),
            figures.tokens(row.cache_write_tokens, row.tokens_completeness),
            figures.tokens(row.output_tokens, row.tokens_completeness),
        )
        for cell in sorted(cells, key=lambda cell: order[cell.candidate])
        for row in cell.trials
    ]
    return table(columns, rows, words=("outcome", "tests", "cost basis"))


def _facts(board: Leaderboard, backgrounds: Sequence[TrialBackground]) -> Iterator[tuple[str, str]]:
    metrics = [background.metrics for background in backgrounds]
    judges = [b.rubric.judge.who for b in backgrounds if b.rubric and b.rubric.judge]
    imported = [m.imported for m in metrics if m.imported]
    days = dates(backgrounds)
    versions = [f"{b.row.agent} {b.metrics.provenance.agent_version or '(version not told)'}" for b in backgrounds]
    prices = [
        f"{m.cost.source}{f' as of {m.cost.price_date}' if m.cost.price_date else ''}" for m in metrics if m.cost.source
    ]
    yield "scope", board.scope
    yield "dataset", board.dataset or "not told"
    yield (
        "trials",
        f"{len(backgrounds):,}: {figures.counted(len(board.tasks), 'task')}, "
        f"{figures.counted(len(board.standings), 'line')} of the leaderboard",
    )
    yield "run", " to ".join(dict.fromkeys(days)) if days else "no date told"
    yield "agents", _listed(distinct(versions))
    yield "skills", _listed(distinct(b.row.skill for b in backgrounds))
    yield "harness", _listed(distinct(m.provenance.harness_version for m in metrics)) or "not told"
    yield "ran in", sealing_words([background.row for background in backgrounds])
    if judges or board.rank_by == "rubric":
        yield "judges", _listed(distinct(judges)) or "not told"
    yield "prices", _listed(distinct(prices)) or "none used"
    if imported:
        files = [f"{one.file}{f' ({one.source})' if one.source else ''}" for one in imported]
        yield "imported", f"{len(imported):,} trials from {_listed(distinct(files))}; each record names its line"
    rates = "of rates Wilson's, of their differences Newcombe's; others " if board.rank_by == "resolved" else ""
    yield (
        "intervals",
        f"95%, {rates}from {board.resamples:,} resamples of tasks (seed {board.seed}); repeats stay in their task",
    )
    yield "ranked by", "resolved tasks" if board.rank_by == "resolved" else "score of a rubric"
    band = board.tie_band
    width = "" if band.points is None else f"{band.points:.1f} {WORDS[board.rank_by].points}, "
    yield "tie band", f"{width}{band.derivation}"


def _listed(values: Sequence[str]) -> str:
    return "; ".join(values)


def _trial(row: TrialRow, link: Link) -> Cell:
    return Cell(row.task + ("" if row.repeat == 1 else f", repeat {row.repeat}"), href=link(row.folder))


def _trial_of(label: str, row: TrialRow, link: Link) -> Cell:
    return Cell(label + ("" if row.repeat == 1 else f", repeat {row.repeat}"), href=link(row.folder))


def _score(row: TrialRow) -> str:
    return figures.score(row.score) + (" (ungrounded)" if row.score is not None and row.repo_grounded is False else "")


def _verdict(row: TrialRow) -> Cell:
    """Return the tests' word, with what it is to be read with."""
    notes = [
        *([f"void: {row.void_reason}"] if row.void_reason else []),
        *(["weak evidence"] if row.evidence == "weak" else []),
        *(["doubtful"] if row.doubtful else []),
        *([figures.counted(row.regressions, "regression")] if row.regressions else []),
    ]
    return Cell(figures.verdict(row.tests_passed, row.resolved, row.tests_report), "; ".join(notes))


def _account(row: TrialRow) -> str:
    return "yes" if row.valid else "no"


def _cost(row: TrialRow) -> str:
    if row.cost_usd is None:
        return "unknown"
    return f"{'at least ' if row.cost_is_lower_bound else ''}{estimates.dollars(row.cost_usd)}"
