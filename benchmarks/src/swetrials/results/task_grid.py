"""What every candidate did on every task: one cell each, with the trials that it stands on."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from swetrials.results.candidates import by_candidate
from swetrials.results.figures import Figures
from swetrials.results.ranking import settled
from swetrials.results.trial_row import TrialRow


@dataclass(frozen=True)
class TaskCell:
    """The trials of one candidate on one task."""

    candidate: str
    """Key of the leaderboard's line."""

    task: str
    tier: str
    trials: tuple[TrialRow, ...]
    """By repeat."""

    @property
    def ranked(self) -> float | None:
        """What the task's trials are ranked by, 0 to 100; ``None``: there is none."""
        return Figures(self.trials).mean_ranked

    @property
    def failed(self) -> int:
        """Trials that did not complete on the model's or the agent's account."""
        return Figures(self.trials).failed

    @property
    def void(self) -> int:
        """Trials whose verification says nothing of the patch, where what is resolved is ranked."""
        of = Figures(self.trials)
        return of.resolve.void if of.rank_by == "resolved" else 0

    @property
    def not_valid(self) -> int:
        """Trials that failed for another reason and say nothing about the model."""
        return Figures(self.trials).infrastructure


def task_cells(rows: Iterable[TrialRow]) -> list[TaskCell]:
    """Return the cells of one scope, in the order of candidates' keys and tasks' names."""
    cells = []
    for trials in by_candidate(settled(list(rows))):
        tasks: dict[str, list[TrialRow]] = {}
        for row in trials.rows:
            tasks.setdefault(row.task, []).append(row)
        for task, of_task in sorted(tasks.items()):
            in_order = tuple(sorted(of_task, key=lambda row: row.repeat))
            cells.append(TaskCell(trials.candidate.key, task, in_order[0].tier, in_order))
    return cells


def tasks_by_tier(cells: Iterable[TaskCell], tiers: Iterable[str]) -> dict[str, list[str]]:
    """Return the tasks of each tier, the one with the highest mean over the candidates first."""
    scores: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        of_task = scores.setdefault((cell.tier, cell.task), [])
        if cell.ranked is not None:
            of_task.append(cell.ranked)
    means = {place: fmean(values) if values else -1.0 for place, values in scores.items()}
    ordered = sorted(means, key=lambda place: (-means[place], place))
    return {tier: [task for of, task in ordered if of == tier] for tier in tiers}
