"""The lines of a comparison of two runs, for the terminal and for markdown alike."""

from swetrials.records.comparison import ComparedRun, Comparison, Mean, Measure, Unit
from swetrials.results.report import wording as figures

COLUMNS = ("mean over tasks", "A", "trials", "B", "trials", "B - A")


def rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the table's cells, one line for each measure, in the order of :data:`COLUMNS`."""
    return [_row(measure) for measure in comparison.measures]


def heads(comparison: Comparison) -> list[str]:
    """Return the lines above the table: what is compared, and what else is not the same."""
    lines = [_title("A", comparison.first), _title("B", comparison.second)]
    lines.append(f"differs: {', '.join(comparison.differs) or 'nothing that was asked or allowed'}")
    lines.append(_sealing(comparison))
    shared = figures.counted(len(comparison.tasks), "task")
    lines.append(f"over {shared} of {comparison.dataset} that both have")
    for name, tasks in (("A", comparison.only_first), ("B", comparison.only_second)):
        if tasks:
            lines.append(f"only in {name}, and in no figure: {', '.join(tasks)}")
    if comparison.rehearsal:
        lines.insert(0, "REHEARSAL (scripted model): figures of the harness and the agents, nothing about any model")
    return lines


def _sealing(comparison: Comparison) -> str:
    first, second = comparison.first, comparison.second
    if first.ran_in == second.ran_in:
        return f"ran in: {first.sealing}"
    return f"not run alike, so that they compare roughly: A {first.sealing}; B {second.sealing}"


def closing(comparison: Comparison) -> str:
    """Return the line below the table."""
    if comparison.claim is None or comparison.claim.rank_by == "rubric":
        means = (
            "Score, cost, turns, tokens and times are of completed trials; completed and passed tests of valid ones."
        )
    else:
        score = "Score, turns" if any(measure.name == "score" for measure in comparison.measures) else "Turns"
        means = (
            "The resolve rate and costs are of valid trials with a verdict, and of failures without one; completed is "
            f"of valid ones. {score}, tokens and times are of completed trials."
        )
    return f"Each task weighs alike. {means} Differences without an interval rank nothing."


def _title(name: str, run: ComparedRun) -> str:
    version = f" {run.agent_version}" if run.agent_version else ""
    outcomes = ", ".join(f"{count} {kind}" for kind, count in run.outcomes.items())
    parts = (
        run.model,
        f"{run.agent}{version}",
        run.skill,
        run.provider,
        f"{figures.counted(run.trials, 'trial')} ({outcomes})",
    )
    return f"{name}: {' · '.join(parts)}"


def _row(measure: Measure) -> tuple[str, ...]:
    difference = measure.difference
    return (
        measure.name,
        _cell(measure.first, measure.unit),
        str(measure.first.trials),
        _cell(measure.second, measure.unit),
        str(measure.second.trials),
        figures.UNKNOWN if difference is None else _signed(difference, measure.unit),
    )


def _cell(mean: Mean, unit: Unit) -> str:
    if mean.value is None:
        return figures.UNKNOWN
    return f"{'>= ' if mean.lower_bound else ''}{_figure(mean.value, unit)}"


def _signed(value: float, unit: Unit) -> str:
    return f"{'-' if value < 0 else '+'}{_figure(abs(value), unit)}"


def _figure(value: float, unit: Unit) -> str:
    match unit:
        case "USD":
            return f"${value:,.4f}"
        case "tokens":
            return f"{value:,.0f}"
        case "share":
            return f"{value:.0%}"
        case "seconds":
            return figures.seconds(value)
        case _:
            return f"{value:.1f}"
