"""What may be added up, and what may not, since a figure over both would be of neither.

Over several ways of **ranking** (:mod:`swetrials.results.ranking`), several **judges**, several **versions of a rubric
or of the tests** (what scored a task, by content), and several **commits** of one task, a summary and the lines of
``results`` say so (:func:`mixed`); a report, a comparison and the router's figures, which rank, refuse and name what
settles it (:func:`refuse_mixtures`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from swetrials.errors import KnownError
from swetrials.results.candidates import by_candidate
from swetrials.results.trial_row import TrialRow


class MixtureError(KnownError):
    """Trials cannot be set beside each other; the message says which differ in what."""


def refuse_mixtures(rows: Sequence[TrialRow]) -> None:
    """Raise unless the trials may stand beside each other.

    Raises:
        MixtureError: they may not; the message says which differ in what, and what settles it.
    """
    if not rows:
        raise MixtureError("no trial to compare; make some with: swetrials run")
    by_scope = {row.scope: row.folder for row in rows}
    if len(by_scope) > 1:
        raise MixtureError(f"these trials are of several scopes: {_where(by_scope)}. Compare one scope at a time")
    refuse_rehearsals_beside_real(rows)
    refuse_other_wordings(rows)
    _refuse_several_sources(rows)
    refuse_several_scorings(rows)


def refuse_several_scorings(rows: Sequence[TrialRow]) -> None:
    """Raise where scores of several judges or versions, or trials of several commits of a task, would be one mean.

    Raises:
        MixtureError: they would; the message names the trials and the remedy.
    """
    for mixture in _mixtures(rows):
        raise MixtureError(f"{mixture.what}: {_where(mixture.found)}. {mixture.remedy}")


def mixed(rows: Sequence[TrialRow]) -> list[str]:
    """Return what is mixed in these trials, in a few words each, such as ``2 judges``."""
    return list(dict.fromkeys(mixture.short for mixture in _mixtures(rows)))


def refuse_rehearsals_beside_real(rows: Iterable[TrialRow]) -> None:
    """Raise when some of the trials are of the scripted model and some are not.

    Raises:
        MixtureError: they are; the message names one of each.
    """
    by_kind = {"a rehearsal" if row.rehearsal else "a real model": row.folder for row in rows}
    if len(by_kind) > 1:
        raise MixtureError(
            f"rehearsals are not ranked beside real models: {_where(by_kind)}. Leave one kind out of the comparison"
        )


def refuse_other_wordings(rows: Iterable[TrialRow]) -> None:
    """Raise when a task was worded differently in two trials.

    Those that were given the same are one task, whatever scores it.

    Raises:
        MixtureError: it was; the message names the two.
    """
    known: dict[str, TrialRow] = {}
    for row in rows:
        if row.task_sha256 is None:
            continue
        first = known.setdefault(row.task, row)
        if first.task_sha256 == row.task_sha256 or (first.given_sha256 and first.given_sha256 == row.given_sha256):
            continue
        raise MixtureError(
            f"task {row.task} was worded differently in {first.folder} and {row.folder} (task_sha256); "
            "move the older trial away"
        )


def _refuse_several_sources(rows: Sequence[TrialRow]) -> None:
    for one in by_candidate(rows):
        by_source = {row.source or "measured here": row.folder for row in one.rows}
        if len(by_source) > 1:
            raise MixtureError(
                f"trials of {one.candidate.key} are from several sources: {_where(by_source)}. Keep them in trees apart"
            )


@dataclass(frozen=True)
class _Mixture:
    """Something of which there are several."""

    short: str
    what: str
    found: dict[str, str]
    """A trial's folder of each."""

    remedy: str


def _mixtures(rows: Sequence[TrialRow]) -> Iterator[_Mixture]:
    told = [row for row in rows if row.rank_by is not None]
    ways = {str(way): row.folder for way, row in _first_of_each(told, lambda row: row.rank_by).items()}
    if len(ways) > 1:
        yield _Mixture("2 ways of ranking", "these trials are ranked by several things", ways, _RANK_BY_ONE)
    scored = [row for row in rows if row.score is not None]
    judges = _first_of_each([row for row in scored if row.judge], _judge)
    if len(judges) > 1:
        names = {row.judge for row in judges.values()}
        remedy = "Choose one with --judge NAME" if len(names) > 1 else _JUDGE_AGAIN
        found = {str(name): row.folder for name, row in judges.items()}
        yield _Mixture(f"{len(judges)} judges", "these scores are of several judges", found, remedy)
    else:
        yield from _of_tasks(scored, lambda row: row.scored_sha256, "rubrics", _SCORED_APART, _JUDGE_AGAIN)
    tested = [row for row in rows if row.tests_passed is not None]
    yield from _of_tasks(tested, lambda row: row.tests_sha256, "versions of the tests", _TESTED_APART, _TEST_AGAIN)
    pinned = [row for row in rows if row.commit is not None]
    yield from _of_tasks(pinned, lambda row: row.commit, "commits", _RUN_APART, _PIN)


_RANK_BY_ONE = "Choose one with --rank-by resolved or --rank-by rubric"
_SCORED_APART = "was scored by several versions of a rubric, a prompt or its ground truth"
_TESTED_APART = "was tested by several versions of its tests"
_RUN_APART = "was run at several commits"
_JUDGE_AGAIN = "Judge them in one way: swetrials judge --recursive --folder TREE"
_TEST_AGAIN = "Test them in one way: swetrials judge --recursive --judge tests --folder TREE"
_PIN = "Name the commit that is meant as the task's ref in the dataset, and move the trials of the other away"


def _of_tasks(
    rows: Iterable[TrialRow], version: Callable[[TrialRow], str | None], plural: str, verb: str, remedy: str
) -> Iterator[_Mixture]:
    """Give a mixture for each task that has several versions; ``None`` beside a known one is one of its own."""
    tasks: dict[str, list[TrialRow]] = {}
    for row in rows:
        tasks.setdefault(row.task, []).append(row)
    for task, of_task in sorted(tasks.items()):
        versions = _first_of_each(of_task, version)
        if len(versions) > 1:
            found = {(str(name) if name else "an older judgment"): row.folder for name, row in versions.items()}
            yield _Mixture(f"{len(versions)} {plural} of {task}", f"task {task} {verb}", found, remedy)


def _first_of_each(rows: Iterable[TrialRow], of: Callable[[TrialRow], Hashable]) -> dict[Hashable, TrialRow]:
    found: dict[Hashable, TrialRow] = {}
    for row in rows:
        found.setdefault(of(row), row)
    return found


def _judge(row: TrialRow) -> str:
    return f"{row.judge}, effort {row.judge_effort}" if row.judge_effort else f"{row.judge}"


def _where(found: dict[str, str]) -> str:
    # Of a hash, as many digits as people compare.
    names = {name: name[:12] if len(name) in _HASHES else name for name in found}
    return ", ".join(f"{names[name]} (as in {folder})" for name, folder in sorted(found.items()))


_HASHES = {40, 64}
"""Lengths of a commit's id and of a SHA-256, in hexadecimal digits."""
