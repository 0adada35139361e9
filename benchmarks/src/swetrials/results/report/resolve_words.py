"""How many tasks were resolved and what that took, in words."""

from collections.abc import Callable, Mapping

from swetrials.records.leaderboard import PassK, PerResolved, Reliability, ResolveStanding
from swetrials.results.report import wording as figures

NOT_CHECKED = "not checked yet"


def resolve_lines(of: ResolveStanding) -> dict[str, str]:
    """Return what is to be said of a run, by name: rate, price, repeats, and what the rate is to be read with."""
    if not of.trials:
        left_out = left_out_words(of)
        return {"resolved": NOT_CHECKED + (f": {left_out}" if left_out else "")}
    lines = {
        "resolved": f"{of.resolved} of {of.trials}, {figures.estimate(of.rate, percent)}",
        "dollars per resolved": per_resolved(of.usd_per_resolved, figures.amount),
        "time per resolved": per_resolved(of.minutes_per_resolved, _of_minutes),
        "of k repeats": repeats_words(of.reliability) if of.reliability else "",
        "not in the rate": left_out_words(of),
        "verdicts": evidence_words(of),
    }
    return {name: words for name, words in lines.items() if words}


def percent(share: float | None) -> str:
    """Return a share of 0 to 1 in per cent."""
    return figures.UNKNOWN if share is None else f"{share:.0%}"


def per_resolved(of: PerResolved, form: Callable[[float | None], str]) -> str:
    """Return what one resolved task takes; where none was resolved, that it takes more than all that was spent."""
    if of.more_than is not None:
        return f"{f'over {form(of.more_than)}' if of.more_than else 'free'}: none was resolved"
    if of.ratio.value is None:
        return "unknown"
    if of.ratio.value == 0:
        return "free"
    said = f"{'at least ' if of.lower_bound else ''}{figures.estimate(of.ratio, form)}"
    return "; ".join(part for part in (said, figures.dominant(of.ratio)) if part)


def repeats_words(of: Reliability) -> str:
    """Return how likely one of k repeats resolves a task, and all of them."""
    return f"one resolves: {_by_k(of.pass_at_k)}; all resolve: {_by_k(of.pass_k)}"


def left_out_words(of: ResolveStanding) -> str:
    """Return the trials that are in no rate, but for those that failed on another account; empty: there is none."""
    return _counts({"unchecked": of.unchecked, "void": of.void})


def evidence_words(of: ResolveStanding) -> str:
    """Return what there is to doubt in the verdicts; empty: each stands on single tests, and broke none."""
    told = {
        "by exit codes alone": of.evidence.get("exit-code", 0),
        "weak, the patch changes what the runner loads": of.evidence.get("weak", 0),
        "doubtful": of.doubtful,
        "with a regression": of.regressed or 0,
    }
    return _counts(told)


def _of_minutes(value: float | None) -> str:
    return figures.seconds(None if value is None else 60 * value)


def _by_k(chances: tuple[PassK, ...]) -> str:
    return ", ".join(f"{percent(one.probability.value)} at k={one.k}" for one in chances)


def _counts(told: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in told.items() if number)
