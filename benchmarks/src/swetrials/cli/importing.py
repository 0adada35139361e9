"""``import``: a results tree of figures that somebody else published."""

from collections import Counter
from pathlib import Path

import orjson

from swetrials.analysis.published_runs import Defaults, ImportedTrial, read_published_runs
from swetrials.pipeline.importing import write_tree
from swetrials.pipeline.workbench import UsageError
from swetrials.records.base import safe_path_part
from swetrials.records.outcome import OutcomeKind
from swetrials.reports.figures import counted


def run(file: Path, tree: Path, defaults: Defaults, *, as_json: bool) -> int:
    """Import a CSV and print what came of it.

    Raises:
        DocumentError: the CSV cannot be used; nothing was written.
        ImportingError: the folder holds something else; nothing was written.
        UsageError: agent, skill or scope cannot be the name of a folder.
    """
    for name in ("agent", "skill", "scope"):
        try:
            safe_path_part(getattr(defaults, name))
        except ValueError as error:
            raise UsageError(f"--{name}: {error}") from None
    trials = read_published_runs(file, defaults)
    written = write_tree(trials, tree)
    if as_json:
        print(orjson.dumps(_figures(trials, tree, written=written), option=orjson.OPT_INDENT_2).decode())
        return 0
    models = {trial.metrics.model_slug for trial in trials}
    what = f"{counted(len(trials), 'trial')} of {counted(len(models), 'model')}"
    print(f"{tree}: {what} {'imported from' if written else 'were there already, as in'} {file}")
    print(f"  {_failed(trials)} failed, as the source says")
    for code, number in _findings(trials).items():
        print(f"  finding {code}: {counted(number, 'trial')}")
    print(f"next: swetrials results {tree}")
    return 0


def _failed(trials: list[ImportedTrial]) -> int:
    return sum(trial.metrics.outcome.kind is not OutcomeKind.COMPLETED for trial in trials)


def _findings(trials: list[ImportedTrial]) -> dict[str, int]:
    return dict(sorted(Counter(finding.code for trial in trials for finding in trial.metrics.findings).items()))


def _figures(trials: list[ImportedTrial], tree: Path, *, written: bool) -> dict[str, object]:
    imported = trials[0].metrics.imported
    return {
        "tree": str(tree),
        "written": written,
        "trials": len(trials),
        "models": sorted({trial.metrics.model_slug for trial in trials}),
        "failed": _failed(trials),
        "findings": _findings(trials),
        "sha256": imported.sha256 if imported else None,
    }
