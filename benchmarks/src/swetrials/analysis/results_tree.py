"""All trials of a results tree, as the statistics see them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from swetrials.analysis.trial_reading import TrialReading, read_trial
from swetrials.analysis.trial_row import TrialRow
from swetrials.records.errors import KnownError
from swetrials.store.files import ForeignRecordError, RecordError, elsewhere
from swetrials.store.results import told_apart, trial_folders

Tell = Callable[[str], None]


class ResultsTreeError(KnownError):
    """A folder holds no trial that can be read; the message says what makes one."""


def read_rows(tree: Path, tell: Tell | None = None) -> list[TrialRow]:
    """Return every trial at or below a folder, in the order of their folders; trash and what is set apart are left out.

    A trial whose files are torn or of another shape is left out too, and named.

    Args:
        tree: a results tree, or any folder in one.
        tell: takes one line for each trial that is left out; without it, the lines go to standard error.

    Raises:
        ResultsTreeError: there is no trial that can be read.
    """
    return [row_of(reading) for reading in read_readings(tree, tell)]


def read_readings(tree: Path, tell: Tell | None = None) -> Iterator[TrialReading]:
    """Give what :func:`read_rows` makes its rows of, one after another.

    Of many thousand trials nobody should keep them all: most of the time would go into looking for garbage among them.

    Raises:
        ResultsTreeError: there is no trial that can be read.
    """
    found, foreign = False, dict[str, int]()
    say = tell or _to_stderr
    for folder in trial_folders(tree, lambda error: say(f"left out: {error.filename}: {error.strerror}")):
        try:
            reading = read_trial(folder, tree)
        except ForeignRecordError as error:
            foreign[str(error.tree)] = foreign.get(str(error.tree), 0) + 1
        except RecordError as error:
            say(f"left out: {error}")
        else:
            found = True
            yield reading
    for top, number in foreign.items() if found else ():
        say(f"left out: {top}: {number} trials {elsewhere(top)}")
    if not found and foreign:
        raise ResultsTreeError(f"{tree}: {'; '.join(map(elsewhere, foreign))}")
    if not found:
        raise ResultsTreeError(
            f"{tree}: no trial with a metrics.json to read; make some with: swetrials run, or: swetrials import"
            + told_apart(tree)
        )


def row_of(reading: TrialReading) -> TrialRow:
    """Return a trial's row."""
    metrics, evaluation = reading.metrics, reading.evaluation
    rubric = reading.rubric if reading.completed else None
    tests = evaluation.tests if evaluation else None
    judge = evaluation.rubric.judge if evaluation and evaluation.rubric else None
    usage = metrics.usage.headline.usage
    return TrialRow(
        folder=reading.folder,
        model=metrics.model_slug,
        agent=metrics.agent,
        skill=metrics.skill,
        provider=metrics.provider,
        scope=metrics.trial.scope,
        task=metrics.task,
        repeat=metrics.trial.repeat,
        tier=metrics.complexity,
        outcome=metrics.outcome.kind.value,
        completed=reading.completed,
        valid=metrics.outcome.valid,
        score=rubric.task_score if rubric else None,
        unit_scores={unit: score.total for unit, score in rubric.scores.items()} if rubric else {},
        cost_usd=metrics.cost.amount_usd,
        cost_basis=metrics.cost.basis,
        cost_is_lower_bound=metrics.cost.status == "lower_bound",
        latency_seconds=metrics.latency_seconds,
        api_seconds=metrics.time.api_seconds,
        waiting_seconds=metrics.time.waiting_seconds,
        num_turns=metrics.num_turns,
        fresh_input_tokens=usage.fresh_input,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
        tests_passed=tests.passed if tests else None,
        repo_grounded=judge.grounding.repo_grounded if judge else None,
        rehearsal=metrics.trial.rehearsal,
        source=metrics.imported.told if metrics.imported else None,
        dataset=metrics.trial.dataset,
        task_sha256=metrics.trial.task_sha256,
    )


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
