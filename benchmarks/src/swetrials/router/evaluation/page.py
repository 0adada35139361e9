"""The page of an evaluation of the router, and its chart."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from swetrials.records.dataset import RankBy
from swetrials.records.router_evaluation import EvaluationConfig, EvaluationRun, RouterEvaluation
from swetrials.results.ranking import WORDS
from swetrials.results.report.charts.drawing import Drawing, draw
from swetrials.results.report.markdown import table
from swetrials.router.evaluation import tables
from swetrials.router.evaluation.curve import curve_chart, has_a_curve
from swetrials.router.evaluation.headline import sentences, sweep_sentence
from swetrials.store.files import write_atomically

_METHOD = """\
Every task has been done by every model already, so nothing is run: the router is asked which model to take, and what
that model {did} and cost on the task is looked up. Beside it stands one model on everything, the baseline.

- **The rule** is `route.py` of the skill swe-router itself: of the models that may be used and are expected to reach
  the task's floor, the cheapest. Expected are a model's means of {figure} and cost at the task's tier. Where no model
  reaches the floor, or none may be used, the baseline is kept.
- **Held out**: for each task every mean is worked out again without that task's own trials. **In sample**: they count.
{figures}- **Intervals** are at 95 %, by the studentised bootstrap over tasks, with the picks as they are."""


_FIGURES: Final[Mapping[RankBy, str]] = {
    "rubric": """\
- **A task's figures** are means over its repeats: scores over those that completed, costs over all, as the money was
  spent. A task of which no repeat completed has failed: it has no score, and is below its floor.
- **Saved** is total against total; the mean of the tasks' own percentages stands beside it. Mean scores are over the
  tasks that have a score in both arms.""",
    "resolved": """\
- **A task's figures** are means over its repeats: how many of 100 resolved it, however they ended, and costs over all,
  as the money was spent. One that was run once is at 0 or 100. The
  intervals of changes of the rate are Newcombe's.
- **Saved** is total against total; the mean of the tasks' own percentages stands beside it. Resolve rates are over the
  tasks that were checked in both arms.""",
}


def write_page(path: Path, evaluation: RouterEvaluation, out_json: Path | None) -> None:
    """Write the page, and beside it the chart as SVG and PNG under the same name.

    Args:
        path: of the markdown file.
        evaluation: what it tells.
        out_json: where the record was written, for the command at the page's end.
    """
    drawing = _drawing(path.stem, evaluation)
    if drawing is not None:
        write_atomically(path.with_suffix(".svg"), drawing.svg)
        write_atomically(path.with_suffix(".png"), drawing.png())
    write_atomically(path, markdown(evaluation, drawing, command(evaluation.config, out_json, path)))


def markdown(evaluation: RouterEvaluation, drawing: Drawing | None, made_by: str) -> str:
    """Return the page as GitHub-flavoured markdown.

    Args:
        evaluation: what it tells.
        drawing: the chart, which lies beside the page as ``<name>.svg``; ``None``: there is nothing to draw.
        made_by: the command that makes the page.
    """
    kind = "judged floors" if evaluation.runs[0].floor is None else "one floor for all tasks"
    lines = [f"# Does the router's advice pay? With {kind}", "", *_of_what(evaluation), ""]
    lines += [*_in_short(evaluation), ""]
    for run in evaluation.runs:
        lines += _run(evaluation, run)
    lines += [*_over_floors(evaluation, drawing), ""]
    lines += [*_one_model(evaluation.runs, evaluation.config.rank_by), ""]
    lines += ["## What to keep in mind", "", *(f"- {caveat}" for caveat in evaluation.caveats), ""]
    if evaluation.tasks_left_out:
        lines += ["Left out of every figure:", ""]
        lines += [f"- `{task}`: {reason}" for task, reason in evaluation.tasks_left_out.items()] + [""]
    lines += ["## How it was made", "", _method(evaluation.config.rank_by), "", *_made_by(evaluation, made_by)]
    return "\n".join(lines)


def _method(rank_by: RankBy) -> str:
    did = "scored" if rank_by == "rubric" else "resolved"
    return _METHOD.format(did=did, figure=WORDS[rank_by].figure, figures=_FIGURES[rank_by] + "\n")


def command(config: EvaluationConfig, out_json: Path | None, out_md: Path) -> str:
    """Return the command that makes the page again."""
    words = ["scripts/eval_swe_router.py", "--data", config.data]
    words += ["--harness", config.harness, "--skill", config.skill, "--scope", config.scope]
    words += ["--dataset", config.dataset] if config.dataset else []
    words += _floors(config)
    words += ["--holdout"] if config.holdout else []
    words += ["--no-allow-list"] if config.allow_list == "none" else []
    words += ["--allowed-file", config.allowed_file] if config.allowed_file else []
    words += ["--baseline", config.baseline] if config.baseline_chosen == "given" else []
    words += ["--available", ",".join(config.available)] if config.available else []
    words += ["--rank-by", config.rank_by] if config.rank_by_given else []
    words += ["--tie-band", f"{config.tie_band:g}"] if config.tie_band_given else []
    words += ["--out-json", out_json.as_posix()] if out_json else []
    return shlex.join([*words, "--out-md", out_md.as_posix()])


def _floors(config: EvaluationConfig) -> list[str]:
    judged = ["--judged-inputs", config.judged_inputs] if config.judged_inputs else []
    if not config.floors:
        return judged
    floors = ",".join(f"{floor:g}" for floor in config.floors)
    return [*judged, *(["--floor", floors] if len(config.floors) == 1 else ["--floor-sweep", floors])]


def _of_what(evaluation: RouterEvaluation) -> Iterator[str]:
    config, of = evaluation.config, evaluation.provenance
    if of.rehearsal:
        yield "> Made with the built-in rehearsal model: it shows how the harness works, nothing about any model."
        yield ""
    yield (
        f"{evaluation.runs[0].totals.tasks} tasks of `{config.scope}`, {len(of.models)} models behind "
        f"`{config.harness}` with the skill `{config.skill}`, {of.trials} trials."
    )
    if of.sources:
        yield f"The figures of the trials are imported, not measured by this harness: {'; '.join(of.sources)}."
    highest = f"the highest {WORDS[config.rank_by].mean} of those that may be used"
    chosen = "as asked for" if config.baseline_chosen == "given" else highest
    yield f"The baseline is `{config.baseline}` on everything: {chosen}."


def _in_short(evaluation: RouterEvaluation) -> Iterator[str]:
    yield from ["## In short", ""]
    runs = evaluation.runs
    if len(runs) == 1:
        yield from (f"- {sentence}" for sentence in sentences(evaluation, runs[0]))
        return
    rank_by = evaluation.config.rank_by
    yield from [sweep_sentence(runs, WORDS[rank_by]), ""]
    yield from table(*tables.in_words(tables.FLOOR_COLUMNS, tables.floor_rows(runs), rank_by))
    yield ""
    yield (
        "In brackets behind a percentage or a change: its 95 % interval; behind a count: that of "
        f"{runs[0].totals.baseline_model} on everything."
    )


def _run(evaluation: RouterEvaluation, run: EvaluationRun) -> Iterator[str]:
    """Yield what there is to say of one floor policy; of several, each under a heading of its own."""
    mark, rank_by = "##", evaluation.config.rank_by
    if len(evaluation.runs) > 1:
        mark = "###"
        yield from [f"## Floor {run.floor:g}", "", *(f"- {line}" for line in sentences(evaluation, run)), ""]
    yield from [f"{mark} Ways to choose models", ""]
    yield from table(*tables.in_words(tables.POLICY_COLUMNS, tables.policy_rows(run, rank_by), rank_by))
    yield from ["", "In brackets: 95 % intervals. A star: nobody could have chosen so without knowing the results.", ""]
    if run.in_sample_totals is not None:
        yield from [f"{mark} Held out and in sample", ""]
        yield from table(tables.IN_SAMPLE_COLUMNS, tables.in_sample_rows(run.totals, run.in_sample_totals, rank_by))
        yield ""
    yield from [f"{mark} Out of reach", ""]
    if run.unreachable:
        yield from [
            "Known before anything was routed: no model that may be used is expected to reach these floors.",
            "",
        ]
        yield from table(tables.UNREACHABLE_COLUMNS, tables.unreachable_rows(run.unreachable))
    else:
        yield "At every tier some model that may be used is expected to reach each floor, when all trials count."
    yield from ["", f"{mark} Task by task", ""]
    yield from table(*tables.in_words(tables.TASK_COLUMNS, tables.task_rows(run.rows), rank_by))
    yield ""


def _over_floors(evaluation: RouterEvaluation, drawing: Drawing | None) -> Iterator[str]:
    holdout = evaluation.config.holdout
    columns = tables.CURVE_COLUMNS if holdout else tables.CURVE_COLUMNS[:6]
    yield "## Over all floors"
    yield ""
    if drawing is not None:
        yield from [f"![{drawing.description}]({quote(drawing.name)}.svg)", ""]
    rows = tables.curve_rows(evaluation.curve, holdout=holdout)
    yield from table(*tables.in_words(columns, rows, evaluation.config.rank_by))
    if holdout:
        yield from ["", "The last two columns are in sample, the others held out."]


def _one_model(runs: Sequence[EvaluationRun], rank_by: RankBy) -> Iterator[str]:
    yield "## One model on everything"
    yield ""
    # Each floor has its own number of tasks below it, and the floors of a sweep have no column each.
    columns = [name for name in tables.MODEL_COLUMNS if len(runs) == 1 or name != "below floor"]
    kept = [tables.MODEL_COLUMNS.index(name) for name in columns]
    rows = [tuple(row[index] for index in kept) for row in tables.model_rows(runs[0].fixed_models)]
    yield from table(*tables.in_words(columns, rows, rank_by))


def _made_by(evaluation: RouterEvaluation, made_by: str) -> Iterator[str]:
    of = evaluation.provenance
    yield (
        f"swetrials {of.harness_version}; SHA-256 of the trials' figures `{of.trials_sha256[:12]}`, of the rule "
        f"`{of.route_sha256[:12]}`. Equal inputs make an equal page."
    )
    if of.sources:
        yield "The folder of `--data` is made by `swetrials import`; `docs/metrics/README.md` has the command."
    yield from ["", "```", made_by, "```", ""]


def _drawing(name: str, evaluation: RouterEvaluation) -> Drawing | None:
    if not has_a_curve(evaluation):
        return None
    words = WORDS[evaluation.config.rank_by]
    description = (
        f"Total cost and {words.mean} of following the router at each floor, beside one model on everything; and what "
        f"is saved and {words.known.split()[0]} by floor"
    )
    return draw(curve_chart(evaluation), name, "The router at each floor", description)
