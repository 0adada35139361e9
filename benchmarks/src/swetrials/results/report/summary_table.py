"""The rows of a run's results, once for the terminal and for markdown alike."""

from collections.abc import Sequence

from swetrials.records.cost import Cost
from swetrials.records.summary import RunSummary, SummaryTask
from swetrials.results.report import wording as figures
from swetrials.results.report.resolve_words import NOT_CHECKED, resolve_lines

COLUMNS = (
    "task", "outcome", "artifacts", "turns", "fresh", "cache read", "cache write", "output",
    "cost", "latency", "tests", "score",
)  # fmt: skip
NARROW_COLUMNS = ("task", "outcome", "turns", "tokens", "cost", "tests", "score")
"""What fits into 80 columns; the lines below the table tell the buckets of all trials."""


def row(task: SummaryTask, columns: Sequence[str] = COLUMNS) -> tuple[str, ...]:
    """Return one trial's cells in the order of ``columns``."""
    usage, completeness = task.usage.usage, task.usage.completeness
    cells = {
        "task": task.folder,
        "outcome": task.outcome,
        "artifacts": f"{task.artifacts_produced}/{task.artifacts_expected}",
        "turns": figures.UNKNOWN if task.num_turns is None else str(task.num_turns),
        "tokens": figures.total_tokens(task.usage),
        "fresh": figures.tokens(usage.fresh_input, completeness),
        "cache read": figures.tokens(usage.cache_read, completeness),
        "cache write": figures.tokens(usage.cache_write, completeness),
        "output": figures.tokens(usage.output, completeness),
        "cost": figures.dollars(task.cost),
        "latency": figures.seconds(task.latency_seconds),
        "tests": figures.verdict(task.tests_passed, task.resolved, task.tests_report),
        "score": score_cell(task),
    }
    return tuple(cells[column] for column in columns)


def score_cell(task: SummaryTask) -> str:
    """Return the judge's score, or that there is none; a judge that never read the repository is marked."""
    if task.task_score is None:
        return {"unscored": "unscored", "not_judged": figures.UNKNOWN}.get(task.score_status, figures.UNKNOWN)
    return figures.score(task.task_score) + ("" if task.repo_grounded is not False else " (ungrounded)")


def totals(summary: RunSummary) -> Sequence[tuple[str, str]]:
    """Return the lines below the table: what the run comes to, with both denominators."""
    usage, completeness = summary.usage.usage, summary.usage.completeness
    buckets = {
        "fresh": usage.fresh_input,
        "cache read": usage.cache_read,
        "cache write": usage.cache_write,
        "output": usage.output,
    }
    parts = " + ".join(f"{figures.tokens(count, completeness)} {name}" for name, count in buckets.items())
    lines = [
        ("trials", f"{summary.num_tasks} ({_listed(summary.outcomes)})"),
        *_ranked(summary),
        ("tokens", f"{figures.total_tokens(summary.usage)} = {parts}"),
        ("cost", _cost(summary.cost)),
        ("time in agents", figures.seconds(summary.latency_seconds)),
        ("ran in", summary.ran_in or figures.UNKNOWN),
    ]
    if summary.cost_usd_estimate.value:
        lines.append(("cost, completed trials", _mean_cost(summary)))
    if summary.spent_elsewhere_usd is not None or summary.spent_elsewhere_is_lower_bound:
        lines.append(("spent elsewhere", f"{_elsewhere(summary)}, for other trials in these folders"))
    if summary.mixed:
        lines.append(("over several", ", ".join(summary.mixed)))
    if summary.infrastructure_failures:
        lines.append(("infrastructure failures", _listed(summary.infrastructure_failures)))
    return lines


def _elsewhere(summary: RunSummary) -> str:
    if summary.spent_elsewhere_usd is None:
        return "something more, and nobody knows how much"
    bound = "at least " if summary.spent_elsewhere_is_lower_bound else ""
    return f"{bound}{figures.amount(summary.spent_elsewhere_usd)} more"


def _ranked(summary: RunSummary) -> Sequence[tuple[str, str]]:
    """Return what models are ranked by, then the other thing where it is known."""
    resolved = resolve_lines(summary.resolve) if summary.resolve else {"tests passed": "none were run"}
    if resolved.get("resolved") == NOT_CHECKED:
        resolved["resolved"] += ": swetrials judge --recursive --judge tests --folder RUN"
    if summary.rank_by == "rubric":
        return [*_scores(summary), *resolved.items()]
    return [*resolved.items(), *(_scores(summary) if summary.num_scored else ())]


def _scores(summary: RunSummary) -> Sequence[tuple[str, str]]:
    """Return the mean scores by what they are over; one line where no judge has been asked yet."""
    if all(task.score_status == "not_judged" for task in summary.tasks):
        return [("score", "not judged yet: swetrials judge --recursive --folder RUN")]
    valid, everything = summary.valid_trials, summary.all_trials
    return [
        ("score, completed trials", figures.estimate(summary.score_estimate, figures.score)),
        (
            "score, failures as 0",
            f"{figures.estimate(summary.score_failures_as_zero_estimate, figures.score)}, "
            f"{figures.counted(valid.num_scored, 'trial')} of {valid.num_trials} valid",
        ),
        (
            "score, all trials",
            f"{figures.score(everything.mean_task_score)} over {figures.counted(everything.num_trials, 'trial')}, "
            "unscored as 0",
        ),
    ]


def _mean_cost(summary: RunSummary) -> str:
    bound = "at least " if summary.mean_cost_is_lower_bound else ""
    estimate = figures.estimate(summary.cost_usd_estimate, figures.amount)
    return "; ".join(part for part in (f"{bound}{estimate}", figures.dominant(summary.cost_usd_estimate)) if part)


def _cost(cost: Cost) -> str:
    """Return a sum in words, with where its prices are from and what is missing."""
    amount = figures.dollars(cost).replace(">= ", "at least ")
    return "; ".join(part for part in (amount, cost.source, cost.note) if part)


def title(summary: RunSummary) -> str:
    """Return what the run is of; a rehearsal says that it is one."""
    label = "REHEARSAL (scripted model, no ranking) · " if summary.rehearsal else ""
    return f"{label}{summary.model_slug} · {summary.agent} · {summary.skill} · {summary.scope}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())
