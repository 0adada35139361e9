"""What the page says of one leaderboard, section by section."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import Leaderboard
from swetrials.results.leaderboard_caveats import of_sealing
from swetrials.results.report import evidence_tables, resolve_tables, standing_tables
from swetrials.results.report import wording as figures
from swetrials.results.report.board_figures import BoardFigures, Figure, against_cost
from swetrials.results.report.evidence_tables import Link
from swetrials.results.report.headline import headline
from swetrials.results.report.html_tables import Table
from swetrials.results.task_grid import TaskCell, task_cells
from swetrials.results.trial_background import TrialBackground
from swetrials.results.trial_row import TrialRow


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    name: str
    """Of its anchor, unique within a board."""

    title: str
    paragraphs: Sequence[str] = ()
    points: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    folded: Sequence[tuple[str, Table]] = field(default=())
    """Tables that open on a click, by what they hold; on paper they are open."""

    @property
    def empty(self) -> bool:
        """Whether nothing would stand below the heading."""
        return not (self.paragraphs or self.points or self.figures or self.tables or self.folded)


@dataclass(frozen=True)
class BoardTrials:
    """A leaderboard with the trials that it stands on."""

    board: Leaderboard
    backgrounds: Sequence[TrialBackground]


def sections(trials: BoardTrials, link: Link, prefix: str) -> list[Section]:
    """Return everything that is to be said of a leaderboard. A rehearsal is described, and ranked in nothing.

    Args:
        trials: the leaderboard and its trials.
        link: from a trial's folder to where it is, seen from the page.
        prefix: of the charts' names.
    """
    board = _unranked(trials.board) if trials.board.rehearsal else trials.board
    rows = [background.row for background in trials.backgrounds]
    cells = task_cells(rows)
    drawn = BoardFigures(board, cells, prefix)
    units = drawn.units()
    ranking = [] if board.rehearsal else list(_ranking(board, drawn, rows))
    found = [
        Section("answer", "The answer", paragraphs=headline(board)),
        *ranking,
        *([_rehearsed(board)] if board.rehearsal else []),
        Section("tasks", "Task by task", figures=drawn.tasks()),
        Section(
            "artifacts",
            "Artifacts",
            figures=units,
            folded=(("Figures with intervals", standing_tables.unit_table(board)),) if units else (),
        ),
        Section(
            "cost",
            "Cost and tokens",
            figures=(*(() if board.rehearsal else drawn.costs()), *drawn.tokens()),
            tables=(standing_tables.token_table(board, rows),),
        ),
        Section("time", "Time", figures=drawn.times(), tables=(standing_tables.time_table(board, trials.backgrounds),)),
        *_evidence(trials, board, drawn, link),
        Section(
            "trials", "Every trial", paragraphs=(_TRACES[board.rank_by],), folded=list(_by_task(board, cells, link))
        ),
    ]
    return [section for section in found if not section.empty]


_TRACED = (
    "Each figure above comes from these trials. A name leads to the trial's folder, with its record (metrics.json), "
    "its {kept} (eval.json), the artifacts and the streams: MODEL/AGENT/SKILL/SCOPE/TASK, with --rN for repeat N."
)
_TRACES: Final[Mapping[RankBy, str]] = {
    "rubric": _TRACED.format(kept="scores"),
    "resolved": _TRACED.format(kept="verdicts"),
}


def _all_pairs(pairs: int) -> str:
    return "The pair" if pairs == 1 else f"All {pairs} pairs"


def _ranking(board: Leaderboard, drawn: BoardFigures, rows: Sequence[TrialRow]) -> Iterator[Section]:
    yield Section("frontier", against_cost(board), figures=drawn.frontier())
    repeats = standing_tables.reliability_table(board)
    yield Section(
        "leaderboard",
        "Leaderboard",
        paragraphs=(
            _DENOMINATORS[board.rank_by],
            *_on_tests(board),
            *_on_heavy_tasks(board),
            *of_sealing(board.standings, rows),
        ),
        figures=drawn.scores(),
        tables=(standing_tables.standing_table(board), *([repeats] if repeats else [])),
    )
    if board.pairs:
        pairs = (f"{_all_pairs(len(board.pairs))} in figures", standing_tables.pair_table(board))
        yield Section("pairs", "Pair by pair", figures=drawn.pairs(), folded=(pairs,))
    what = "Scores, completion" if board.rank_by == "rubric" else "Resolve rates"
    tiers = (f"{what} and costs in figures", standing_tables.tier_table(board))
    yield Section("tiers", "By difficulty", figures=drawn.tiers(), folded=(tiers,))


_BELOW_THE_FRONTIER = (
    "Below the frontier: the chance that nothing beats it on both {figure} and cost, among all, and among those of its "
    "own cost basis."
)
_DENOMINATORS: Final[Mapping[RankBy, str]] = {
    "rubric": (
        "Score, cost and time are means over tasks of completed trials, with 95% intervals in small letters. A trial "
        "that model or agent failed is outside these means and inside the completion; the second score counts it 0. "
        "One that failed for another reason says nothing about the model: it is 0 in the third score alone. "
        + _BELOW_THE_FRONTIER.format(figure="score")
    ),
    "resolved": (
        "A task is resolved by a patch with which its tests pass, however the trial ended; a trial that model or agent "
        "failed without one has not resolved it. The rate is a mean over tasks; 95% intervals are in small letters. "
        "Dollars and minutes per resolved task are all that these trials took, failures too, over those resolved. The "
        "cost of a trial is over the same trials. " + _BELOW_THE_FRONTIER.format(figure="resolve rate")
    ),
}


def _on_tests(board: Leaderboard) -> Iterator[str]:
    if board.rank_by == "rubric" and any(standing.tests_passed.value is not None for standing in board.standings):
        yield "Passed tests are the patch's: a trial that left a document out has passed them, where its patch does."


def _on_heavy_tasks(board: Leaderboard) -> Iterator[str]:
    shares = [standing.ranked_cost_usd.largest_share for standing in board.standings]
    if any(share is not None for share in shares):
        yield "Where one task is over a quarter of a cost, the interval of that cost holds 84 to 90 % rather than 95 %."


def _rehearsed(board: Leaderboard) -> Section:
    note = "In alphabetical order. The scripted model's scores and costs say nothing about any real one."
    paragraphs = (note, *_on_tests(board))
    return Section("leaderboard", "What was rehearsed", paragraphs, tables=(standing_tables.standing_table(board),))


def _evidence(trials: BoardTrials, board: Leaderboard, drawn: BoardFigures, link: Link) -> Iterator[Section]:
    rows = [background.row for background in trials.backgrounds]
    failed = evidence_tables.failure_table(board, rows, link)
    yield Section(
        "failures",
        "Failures",
        paragraphs=_FAILED[board.rank_by] if failed.rows else ("Every trial completed.",),
        figures=drawn.failures(),
        folded=((f"{figures.counted(len(failed.rows), 'trial')} one by one", failed),) if failed.rows else (),
    )
    findings = evidence_tables.finding_table(trials.backgrounds, link)
    yield Section(
        "caveats",
        "Caveats and findings",
        points=board.caveats,
        paragraphs=() if findings else ("No record has a finding.",),
        tables=(findings,) if findings else (),
    )
    if board.rank_by == "resolved":
        verdicts = resolve_tables.verdict_table(board)
        yield Section("tests", "The tests", paragraphs=(_VERDICTS,), tables=(verdicts,) if verdicts.rows else ())
    if any(row.score is not None for row in rows):
        yield Section(
            "judge",
            "The judge",
            paragraphs=("A judge that read no file of the repository scored from the artifacts alone.",),
            tables=(evidence_tables.judge_table(board, rows),),
        )
    elif board.rank_by == "rubric":
        yield Section("judge", "The judge", paragraphs=("No trial has a score by a rubric.",))
    yield Section("provenance", "Provenance", tables=(evidence_tables.provenance_table(board, trials.backgrounds),))


_FAILED: Final[Mapping[RankBy, Sequence[str]]] = {
    "rubric": (),
    "resolved": ("A trial that did not complete may yet have resolved its task, by the patch that it left.",),
}

_VERDICTS = (
    "What the verdicts stand on. An exit code alone is weak evidence, as no single test is told; a doubtful verdict is "
    "one that the patch could have forged. Void ones say nothing of the patch: they are in no rate, as are trials that "
    "nobody checked and those that failed for another reason than model or agent."
)


def _by_task(board: Leaderboard, cells: Sequence[TaskCell], link: Link) -> Iterator[tuple[str, Table]]:
    by_task: dict[str, list[TaskCell]] = {}
    for cell in cells:
        by_task.setdefault(cell.task, []).append(cell)
    for task, of_task in sorted(by_task.items()):
        trials = sum(len(cell.trials) for cell in of_task)
        yield f"{task} ({of_task[0].tier}, {trials})", evidence_tables.task_table(board, of_task, link)


def _unranked(board: Leaderboard) -> Leaderboard:
    return board.model_copy(update={"standings": tuple(sorted(board.standings, key=lambda s: s.label))})
