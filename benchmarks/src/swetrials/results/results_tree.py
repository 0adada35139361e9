"""All trials of a results tree, as the statistics see them."""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from swetrials.errors import KnownError
from swetrials.records.dataset import RankBy
from swetrials.records.metrics import PATCH
from swetrials.records.verification import Evidence
from swetrials.records.words import counted
from swetrials.results.evaluation_parts import TestsPart
from swetrials.results.trial_reading import TrialReading, read_trial
from swetrials.results.trial_row import TrialRow
from swetrials.store.files import ForeignRecordError, RecordError, elsewhere
from swetrials.store.results import none_in, told_apart, trial_folders

Tell = Callable[[str], None]


class ResultsTreeError(KnownError):
    """A folder holds no trial that can be read; the message says what makes one."""


def read_rows(
    tree: Path | str, tell: Tell | None = None, judge: str | None = None, rank_by: RankBy | None = None
) -> list[TrialRow]:
    """Return every trial at or below a folder, in the order of their folders; trash and what is set apart are left out.

    A trial whose files are torn or of another shape is left out too, and named.

    Args:
        tree: a results tree, or any folder in one.
        tell: takes one line for each trial that is left out; without it, the lines go to standard error.
        judge: take this judge's scores, by its name or the beginning of it; ``None``: each trial's headline judge's.
        rank_by: rank by this, whatever the trials' datasets rank by.

    Raises:
        ResultsTreeError: there is no trial that can be read, or no judge or several of that name.
    """
    return [row_of(reading) for reading in read_readings(Path(tree), tell, judge, rank_by)]


def read_readings(
    tree: Path, tell: Tell | None = None, judge: str | None = None, rank_by: RankBy | None = None
) -> Iterator[TrialReading]:
    """Give what :func:`read_rows` makes its rows of, one after another.

    Of many thousand trials nobody should keep them all: most of the time would go into looking for garbage among them.

    Raises:
        ResultsTreeError: there is no trial that can be read, or no judge or several of that name.
    """
    found, foreign = False, dict[str, int]()
    say = tell or _to_stderr
    chosen = None if judge is None else _judge_of(tree, judge)
    for folder in trial_folders(tree, lambda error: say(f"left out: {error.filename}: {error.strerror}")):
        try:
            reading = read_trial(folder, tree, chosen, rank_by)
        except ForeignRecordError as error:
            foreign[str(error.tree)] = foreign.get(str(error.tree), 0) + 1
        except RecordError as error:
            say(f"left out: {error}")
        else:
            found = True
            yield reading
    for top, number in foreign.items() if found else ():
        say(f"left out: {top}: {counted(number, 'trial')} {elsewhere(top)}")
    if not found and foreign:
        raise ResultsTreeError(f"{tree}: {'; '.join(map(elsewhere, foreign))}")
    if not found:
        raise ResultsTreeError(
            f"{none_in(tree)}; make some with: swetrials run, or: swetrials import{told_apart(tree)}"
        )


def _judge_of(tree: Path, name: str) -> str:
    """Return the full name of the judge that is meant.

    Raises:
        ResultsTreeError: no trial of the tree was scored by one of this name, or by several.
    """
    names: set[str] = set()
    with suppress(ResultsTreeError):  # told by who reads the trials
        for reading in read_readings(tree, lambda line: None):
            names.update(reading.judges)
    return chosen_judge(name, names, str(tree))


def chosen_judge(name: str, names: Collection[str], where: str) -> str:
    """Return the one of ``names`` that is ``name`` or alone begins with it.

    Raises:
        ResultsTreeError: none does, or several do.
    """
    meant = [one for one in names if one == name] or sorted(one for one in names if name and one.startswith(name))
    if len(meant) == 1:
        return meant[0]
    wrong = "several judges begin so" if meant else f"no judge of that name gave points in {where}"
    raise ResultsTreeError(f"--judge {name}: {wrong}; there are: {', '.join(meant or sorted(names)) or 'none'}")


def row_of(reading: TrialReading) -> TrialRow:
    """Return a trial's row."""
    metrics = reading.metrics
    name, judgment = reading.judgment
    judged = reading.rubric
    rubric = judged if reading.completed else None
    judge = judgment.rubric.judge if judgment and judgment.rubric else None
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
        judged_score=judged.task_score if judged else None,
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
        total_tokens=usage.total,
        tokens_completeness=metrics.usage.headline.completeness,
        **_of_tests(reading),
        has_patch=None if metrics.imported else PATCH in metrics.artifacts_produced,
        rank_by=reading.rank_by or metrics.trial.rank_by,
        repo_grounded=judge.grounding.repo_grounded if judge else None,
        rehearsal=metrics.trial.rehearsal,
        source=metrics.imported.told if metrics.imported else None,
        dataset=metrics.trial.dataset,
        task_sha256=metrics.trial.task_sha256,
        given_sha256=metrics.trial.given_sha256,
        commit=metrics.provenance.commit,
        judge=name if rubric else None,
        judge_effort=judge.reasoning_effort if rubric and judge else None,
        scored_sha256=judgment.scored_sha256 if rubric and judgment else None,
        hosted=metrics.hosting.told if metrics.hosting else None,
        environment=metrics.environment.kind if metrics.environment else None,
        sealing=metrics.sealing.state if metrics.sealing else None,
        sealing_why=metrics.sealing.why if metrics.sealing else "",
        network=metrics.sealing.network if metrics.sealing else None,
    )


class _OfTests(TypedDict):
    """The part of a row that tells the tests' word."""

    tests_passed: bool | None
    resolved: bool | None
    tests_report: str | None
    tests_sha256: str | None
    evidence: Evidence | None
    doubtful: bool
    void_reason: str
    regressions: int | None


def _of_tests(reading: TrialReading) -> _OfTests:
    judgment = reading.tests
    word = (judgment.tests if judgment else None) or TestsPart()
    return {
        "tests_passed": word.passed,
        "resolved": word.resolves,
        "tests_report": word.report,
        "tests_sha256": judgment.scored_sha256 if judgment and word.passed is not None else None,
        "evidence": word.stands_on,
        "doubtful": word.doubtful,
        "void_reason": word.void_reason,
        "regressions": word.regressions,
    }


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
