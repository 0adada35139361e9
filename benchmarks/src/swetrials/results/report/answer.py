"""``swetrials answer``: the answer in a few sentences, and what of it is not earned yet."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from swetrials.records.answer import Answer, AnswerPart
from swetrials.records.leaderboard import ModelStanding
from swetrials.results.answer import Ground, grounds, not_earned, untold_by_tests
from swetrials.results.mixtures import MixtureError
from swetrials.results.report import estimates
from swetrials.results.report import wording as figures
from swetrials.results.report.headline import cost_words, headline
from swetrials.results.resampling import share_over_tasks
from swetrials.results.trial_row import TrialRow

_MOST_NAMES = 5


def answer(rows: Sequence[TrialRow], tree: Path) -> Answer:
    """Return what some trials answer, scope by scope.

    Args:
        rows: the trials.
        tree: where they are from; the next command names it.
    """
    parts = [_part(ground) for ground in grounds(rows)]
    return Answer(parts=tuple(parts), next_command=_next_command(grounds(rows), tree))


def _part(ground: Ground) -> AnswerPart:
    return AnswerPart(
        scope=ground.rows[0].scope,
        rehearsal=ground.rehearsal,
        trials=ground.figures.trials,
        tasks=ground.tasks,
        candidates=len(ground.everyone),
        rank_by=ground.rank_by,
        rubric=ground.by_rubric,
        tests=ground.by_tests,
        sentences=tuple(_sentences(ground)),
        not_earned=tuple(not_earned(ground)),
    )


def _sentences(ground: Ground) -> Iterator[str]:
    yield _what_was_done(ground)
    if ground.rehearsal:
        yield from _counts(ground)
        return
    try:
        board = ground.board
    except MixtureError as error:
        yield f"There is no answer over all of them: {error}."
        return
    if ground.rank_by == "resolved" or ground.by_rubric or not ground.by_tests:
        yield from headline(board)
    if ground.rank_by == "rubric" and ground.by_tests:
        yield from _by_tests(ground, {one.key: one for one in board.standings})


def _what_was_done(ground: Ground) -> str:
    models = sorted({row.model for row in ground.rows})
    agents = sorted({f"{row.agent} with {row.skill}" for row in ground.rows})
    who = models[0] if len(models) == 1 else figures.counted(len(models), "model")
    if ground.rehearsal:
        who = "a scripted model"
    what = "sealed trial" if ground.sealed else "trial"
    return (
        f"On {figures.counted(ground.tasks, 'task')} of {ground.rows[0].scope}, {_by_what(ground)}: "
        f"{figures.counted(ground.figures.trials, what)} of {who} behind {', '.join(agents)}."
    )


def _by_what(ground: Ground) -> str:
    """Return what decided: a rubric, the tests, or both."""
    exit_codes = "exit-code" in ground.verdicts
    tests = "the exit codes of their tests" if exit_codes else "their tests"
    if ground.rank_by == "resolved" and ground.by_tests:
        single = len(ground.verdicts) > ground.verdicts.count("exit-code") > 0
        return f"verified by {'single tests and ' if single else ''}{tests}"
    by = [
        *([f"by a rubric ({', '.join(ground.judges) or 'judge not told'})"] if ground.by_rubric else []),
        *([f"by {tests}"] if ground.by_tests else []),
    ]
    return f"scored {' and '.join(by)}" if by else "not scored yet"


def _counts(ground: Ground) -> Iterator[str]:
    of = ground.figures
    if ground.rank_by == "resolved":
        tests = f"; {of.resolve.resolved} of {len(of.resolve.counted)} resolved their task" if ground.by_tests else ""
    else:
        tests = f"; tests passed in {of.tests_passed} of {of.tests_run}" if of.tests_run else ""
    yield f"{len(of.completed)} of {figures.counted(len(of.valid), 'valid trial')} completed{tests}."
    yield "The model is a script: these figures show that the harness works, and rank nothing."


def _by_tests(ground: Ground, standings: dict[str, ModelStanding]) -> Iterator[str]:
    tested = [one for one in ground.everyone if one.tests]
    ordered = sorted(tested, key=lambda one: (-(one.tests_passed_share or 0.0), one.candidate.key))
    best, others = ordered[0], ordered[1:]
    share = share_over_tasks(best.tests)
    standing = standings[best.candidate.key]
    if others and not share.value:
        yield f"No model passes the tests of any task ({estimates.interval(share, estimates.share)})."
        return
    verb = "passes the tests of the most tasks," if others else "passes the tests of"
    whose = "" if others else " of the tasks"
    cost = f", {cost_words(standing)}" if standing.completed else ""
    yield (
        f"{standing.label} {verb} {estimates.share(share.value or 0.0)}{whose} "
        f"({estimates.interval(share, estimates.share)}){cost}."
    )
    tied = untold_by_tests(best, others)
    if tied:
        names = [_tested(standings[one.candidate.key]) for one in tied[:_MOST_NAMES]]
        more = [f"{len(tied) - _MOST_NAMES} more"] if len(tied) > _MOST_NAMES else []
        yield f"By tests it cannot be told apart from {'; '.join([*names, *more])}."


def _tested(standing: ModelStanding) -> str:
    return f"{standing.label} ({estimates.share(standing.tests_passed.value or 0.0)}, {cost_words(standing)})"


def _next_command(found: Sequence[Ground], tree: Path) -> str:
    if all(ground.rehearsal for ground in found):
        return (
            "swetrials e2e --provider endpoint --endpoint http://HOST:PORT --model MODEL "
            "--dataset dataset/quickstart.yaml --yes"
        )
    real = [ground for ground in found if not ground.rehearsal]
    if any(ground.rank_by == "resolved" and ground.figures.resolve.unchecked for ground in real):
        return f"swetrials judge --recursive --no-overwrite --judge tests --folder {tree}"
    if any(ground.rank_by == "rubric" and ground.figures.unscored for ground in real):
        return f"swetrials judge --recursive --no-overwrite --folder {tree}"
    return f"swetrials report {tree} --out report.html"
