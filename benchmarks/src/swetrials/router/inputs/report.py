"""The page on what a router has to be told of each task: what was judged, how sure that is, and every judgment."""

from swetrials.records.judged_inputs import InputJudgment, JudgedInputs, RouterInputs, TaskInputs
from swetrials.results.report import wording as figures
from swetrials.results.report.markdown import one_line, table

_METHOD = """\
Floor: the score, 0 to 100, that a model has to reach; the median of the judgments (of two in the middle, their mean).
Tier: how hard the task is; the most frequent judgment, and of several the hardest. Base and adjustment are those of the
judgments at the median. Spread: the highest floor less the lowest. A judgment that failed (no answer, a floor or a tier
outside its scale, a changed checkout) counts for nothing."""

_TASK_COLUMNS = ("task", "floor", "tier", "base", "adjustment", "floors seen", "tiers seen", "spread", "failed")
_JUDGMENT_COLUMNS = ("task", "repeat", "floor", "tier", "if it is wrong", "why", "cost", "time")


def judged_inputs_markdown(record: JudgedInputs) -> str:
    """Return the page as GitHub-flavoured markdown."""
    lines = [f"# What the tasks of {record.dataset} need, as judged by {record.agent}", ""]
    if record.rehearsal:
        lines += ["> Made with the built-in rehearsal model: it shows how this works, nothing about any task.", ""]
    lines += [*table(("judged", ""), _header(record)), "", _METHOD, "", "## Tasks", ""]
    lines += [*table(_TASK_COLUMNS, [_task(row) for row in record.tasks]), "", "## Judgments", ""]
    places = {row.task: index for index, row in enumerate(record.tasks)}
    listed = sorted(record.judgments, key=lambda judgment: (places[judgment.task], judgment.repeat))
    counted = [_judgment(judgment, judgment.inputs) for judgment in listed if judgment.inputs is not None]
    lines += [*table(_JUDGMENT_COLUMNS, counted), ""]
    if failed := [judgment for judgment in listed if judgment.inputs is None]:
        lines += ["## Failed", "", *map(_failure, failed), ""]
    return "\n".join(lines)


def _header(record: JudgedInputs) -> list[tuple[str, str]]:
    region = f", {record.aws_region}" if record.aws_region else ""
    versions = sorted({judgment.agent_version for judgment in record.judgments if judgment.agent_version})
    served = sorted({model for judgment in record.judgments for model in judgment.models_served})
    return [
        ("by", f"{record.model} by {record.provider}{region}, in {' '.join([record.agent, ', '.join(versions)])}"),
        ("answered by", ", ".join(served) or figures.UNKNOWN),
        ("when", _when(record)),
        (
            "judgments",
            f"{record.judged}, {record.failed} of them failed; {record.repeats or '?'} asked for of each task",
        ),
        ("cost", figures.dollars(record.cost)),
        ("tokens", figures.total_tokens(record.usage)),
        ("time", figures.seconds(record.seconds)),
        ("skill", f"the first step of {record.skill}, SHA-256 {(record.skill_sha256 or figures.UNKNOWN)[:12]}"),
        (
            "tools",
            f"{', '.join(record.allowed_tools) or figures.UNKNOWN}; sandbox: {record.sandbox or figures.UNKNOWN}",
        ),
    ]


def _when(record: JudgedInputs) -> str:
    if record.imported is not None:
        return f"{record.started_at or '?'} to {record.ended_at or '?'}, imported from {record.imported.file}"
    return f"{record.started_at} to {record.ended_at or 'now: not everything that was asked for is judged'}"


def _task(row: TaskInputs) -> tuple[str, ...]:
    return (
        row.task,
        _number(row.floor),
        row.tier or figures.UNKNOWN,
        _number(row.base_floor),
        _number(row.adjustment),
        ", ".join(map(str, row.floors_seen)) or figures.UNKNOWN,
        ", ".join(f"{tier} x{times}" for tier, times in row.tiers_seen.items()) or figures.UNKNOWN,
        _number(row.spread),
        str(row.failed),
    )


def _number(value: float | None) -> str:
    return figures.UNKNOWN if value is None else f"{value:g}"


def _judgment(judgment: InputJudgment, inputs: RouterInputs) -> tuple[str, ...]:
    return (
        judgment.task,
        str(judgment.repeat),
        str(inputs.floor),
        inputs.tier,
        _said(inputs.consequence),
        _said(inputs.reason),
        figures.dollars(judgment.cost),
        figures.seconds(judgment.seconds),
    )


def _failure(judgment: InputJudgment) -> str:
    return f"- {judgment.task}, repeat {judgment.repeat}: {_said(judgment.failure)}"


def _said(text: str) -> str:
    """Return what somebody else wrote so that no markup in it counts."""
    return one_line(text).replace("<", "&lt;")
