"""``import``: a results tree of figures that somebody else published or measured."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.results.published.source_trial import Defaults, ImportedTrial
    from swetrials.results.published.tree import Found

app = single_command()


@app.command(epilog="Example: swetrials import published-runs.csv --into published-results")
def import_(
    source_path: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A tree, a run-summary.json or judged inputs of another harness, or a CSV with a row a trial "
            "(docs/importing.md).",
        ),
    ],
    into: Annotated[
        Path, typer.Option(help="Folder for the results tree; a new or an empty one.", metavar="DIR")
    ] = Path("imported-results"),
    agent: Annotated[str, typer.Option(help="Agent of trials that name none.")] = "omp",
    skill: Annotated[str, typer.Option(help="Skill of trials that name none.")] = "swe3",
    scope: Annotated[str, typer.Option(help="Scope of trials that name none.")] = "mcp-gateway-registry-v2",
    source: Annotated[str | None, typer.Option(help="Who published the figures, kept in each record.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a results tree of what another harness measured, or somebody published."""
    from swetrials.results.published.source_trial import Defaults

    raise typer.Exit(import_results(source_path, into, Defaults(agent, skill, scope, source), as_json=as_json))


def import_results(source: Path, tree: Path, defaults: Defaults, *, as_json: bool) -> int:
    """Import a tree, a summary, judged inputs or a CSV, and print what came of it.

    Raises:
        DocumentError: the source cannot be used; nothing was written.
        ImportingError: the folder holds something else; nothing was written.
        UsageError: agent, skill or scope cannot be the name of a folder.
    """
    import orjson

    from swetrials.records.record import safe_path_part
    from swetrials.results.published.importing import write_judged_inputs, write_tree
    from swetrials.results.published.tree import is_json, read_published
    from swetrials.results.report.wording import counted
    from swetrials.router.inputs.reading import read_foreign_judged_inputs

    for name in ("agent", "skill", "scope"):
        try:
            safe_path_part(getattr(defaults, name))
        except ValueError as error:
            raise UsageError(f"--{name}: {error}") from None
    if source.is_file() and is_json(source) and (inputs := read_foreign_judged_inputs(source, defaults.source)):
        file = write_judged_inputs(inputs, tree)
        if as_json:
            print(orjson.dumps({"file": str(file), "tasks": len(inputs.tasks)}, option=orjson.OPT_INDENT_2).decode())
            return 0
        print(f"{file}: what {counted(len(inputs.tasks), 'task')} need, imported from {source}")
        print(f"next: swetrials router evaluate --judged-inputs {file} --data TREE")
        return 0
    found = read_published(source, defaults)
    trials = found.trials
    written = write_tree(trials, tree)
    if as_json:
        print(orjson.dumps(_figures(found, tree, written=written), option=orjson.OPT_INDENT_2).decode())
        return 0
    models = {trial.metrics.model_slug for trial in trials}
    what = f"{counted(len(trials), 'trial')} of {counted(len(models), 'model')}"
    print(f"{tree}: {what} {'imported from' if written else 'were there already, as in'} {source}")
    print(f"  {_failed(trials)} failed, as the source says")
    if repeats := sum(trial.metrics.trial.repeat > 1 for trial in trials):
        print(f"  {repeats} are further repeats of a task")
    if found.ours:
        print(f"  {counted(found.ours, 'record')} of this harness passed over: read them where they are")
    for code, number in _findings(trials).items():
        print(f"  finding {code}: {counted(number, 'trial')}")
    print(f"next: swetrials results {tree}")
    return 0


def _failed(trials: list[ImportedTrial]) -> int:
    from swetrials.records.outcome import OutcomeKind

    return sum(trial.metrics.outcome.kind is not OutcomeKind.COMPLETED for trial in trials)


def _findings(trials: list[ImportedTrial]) -> dict[str, int]:
    return dict(sorted(Counter(finding.code for trial in trials for finding in trial.metrics.findings).items()))


def _figures(found: Found, tree: Path, *, written: bool) -> dict[str, object]:
    trials = found.trials
    digests = {trial.metrics.imported.sha256 for trial in trials if trial.metrics.imported}
    return {
        "tree": str(tree),
        "written": written,
        "trials": len(trials),
        "models": sorted({trial.metrics.model_slug for trial in trials}),
        "failed": _failed(trials),
        "repeats": sum(trial.metrics.trial.repeat > 1 for trial in trials),
        "passed_over": found.ours,
        "findings": _findings(trials),
        "sha256": digests.pop() if len(digests) == 1 else None,
    }
