"""The lines of ``swetrials results``: one for each run of a results tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from swetrials.results.report import wording as figures

Run = Mapping[str, Any]
"""A line of the view ``runs``, by column."""

_NAMES = ("agent", "skill", "scope", "provider", "hosted", "ran in")
"""What stands above the table when it is the same in all runs."""

_TRIALS = ("trials", "completed")
_SCORES = ("score", "with failures")
_RESOLVED = ("resolved", "rate", "per resolved")
_LEFT_OUT = "not in rate"
_SPENT = ("cost", "basis", "latency", "turns")
_MIXED = "over several"


def heading(runs: Sequence[Run]) -> str:
    """Return what all runs share, and how many trials there are."""
    apart = _told_apart_by(runs)
    shared = [f"{name} {told}" for name in _NAMES if name not in apart and (told := _told(runs[0], name))]
    trials = figures.counted(sum(run["trials"] for run in runs), "trial")
    return " · ".join([f"{trials} in {figures.counted(len(runs), 'run')}", *shared])


def columns(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the columns that these runs need."""
    by_resolved = any(run["rank_by"] == "resolved" for run in runs)
    scores = _SCORES if not by_resolved or any(run["scored"] for run in runs) else ()
    resolved = _RESOLVED if by_resolved or any(run["tests_run"] for run in runs) else ()
    left_out = (_LEFT_OUT,) if resolved and any(run["unchecked"] or run["void"] for run in runs) else ()
    ranked = (*resolved, *left_out, *scores) if by_resolved else (*scores, *resolved, *left_out)
    mixed = (_MIXED,) if any(run["mixed"] for run in runs) else ()
    return ("model", *_told_apart_by(runs), *_TRIALS, *ranked, *_SPENT, *mixed)


def rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Return the table's cells, one line for each run, in the order of :func:`columns`."""
    wanted = columns(runs)
    return [tuple(_cells(run)[name] for name in wanted) for run in runs]


def closing(runs: Sequence[Run]) -> list[str]:
    """Return the lines below the table."""
    shown = columns(runs)
    means = "Score, cost" if "score" in shown else "Cost"
    with_failures = "; with failures: a failed one scores 0" if "score" in shown else ""
    lines = [f"{means}, latency and turns: means over tasks of completed trials{with_failures}."]
    if "rate" in shown:
        lines.append(
            "Resolved: of valid trials with a verdict, and failures without one; per resolved: all that these cost. "
            "The rate is a mean over tasks, with its 95 % interval."
        )
    return [*lines, "Means without intervals rank nothing."]


def _told_apart_by(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(name for name in _NAMES if len({_told(run, name) for run in runs}) > 1)


def _told(run: Run, name: str) -> str | None:
    told: str | None = run[name.replace(" ", "_")]
    return told


def _cells(run: Run) -> dict[str, str]:
    return {
        "model": f"{run['model']} (rehearsal)" if run["rehearsal"] else run["model"],
        **{name: _told(run, name) or figures.UNKNOWN for name in _NAMES},
        _MIXED: run["mixed"] or "",
        "trials": f"{run['trials']:,}",
        # Out of those that say something about model and agent.
        "completed": f"{run['completed']:,} of {run['valid']:,}",
        "score": _of(figures.score(run["mean_score"]), run["scored"], run["completed"]),
        "with failures": figures.score(run["mean_score_with_failures"]),
        "cost": _cost(run),
        "basis": run["cost_basis"],
        "latency": figures.seconds(run["mean_latency_seconds"]),
        "turns": figures.UNKNOWN if run["mean_turns"] is None else f"{run['mean_turns']:.0f}",
        "resolved": f"{run['resolved']:,} of {run['counted']:,}" if run["counted"] else figures.UNKNOWN,
        "rate": _rate(run),
        "per resolved": _per_resolved(run),
        _LEFT_OUT: ", ".join(f"{run[what]} {what}" for what in ("unchecked", "void") if run[what]),
    }


def _rate(run: Run) -> str:
    if run["resolve_rate"] is None:
        return figures.UNKNOWN
    return f"{run['resolve_rate']:.0%} ({run['resolve_rate_low'] * 100:.0f} to {run['resolve_rate_high'] * 100:.0f})"


def _per_resolved(run: Run) -> str:
    """Say what one resolved task costs; where none was resolved, that it costs more than all that was spent."""
    if run["usd_per_resolved"] is not None:
        return figures.amount(run["usd_per_resolved"]) if run["usd_per_resolved"] else "free"
    spent = run["counted_cost_usd"]
    return figures.UNKNOWN if spent is None or run["resolved"] else f"over {figures.amount(spent)}"


def _of(mean: str, known: int, completed: int) -> str:
    """Say of how many trials a mean is, when not of all that completed."""
    return mean if known in {0, completed} else f"{mean} ({known} of {completed})"


def _cost(run: Run) -> str:
    """Say what is missing where the mean is not known, and that it is a lower bound where it is one."""
    amount, known, completed = run["mean_cost_usd"], run["costs_known"], run["completed"]
    if amount is None:
        return f"unknown ({known} of {completed} known)" if known else figures.UNKNOWN
    return f"{'>= ' if run['cost_is_lower_bound'] else ''}{figures.amount(amount)}"
