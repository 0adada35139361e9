"""``judge``: scoring trials that have run."""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio

from swetrials.cli.running import judged_line
from swetrials.judges.base import Bench, Judge
from swetrials.judges.tests import TestsJudge
from swetrials.pipeline.judge_choice import JudgeChoice, codex_judge
from swetrials.pipeline.judging import Datasets, Judged, JudgingError, judge_trials
from swetrials.pipeline.workbench import UsageError
from swetrials.records.metrics import Metrics
from swetrials.store.documents import LoadedDataset, load_dataset
from swetrials.store.files import RecordError
from swetrials.store.project import find_project
from swetrials.store.redaction import Redactor
from swetrials.store.results import TrialFolder, state_of, trial_folders
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.sandbox import bubblewrap
from swetrials.workspace.space import private_root

_JUDGES = ("all", "codex", "tests")


def judge(
    folder: Path,
    choice: JudgeChoice,
    *,
    which: str,
    recursive: bool,
    overwrite: bool,
    dataset: Path | None,
    repo: str | None,
    clone_root: Path | None,
) -> int:
    """Judge one trial, or all below a folder. Exit code 1 when a judge failed on one of them."""
    if which not in _JUDGES:
        raise UsageError(f"--judge: {which!r} is not one of {', '.join(_JUDGES)}")
    folders = list(trial_folders(folder))
    if not folders:
        raise UsageError(f"{folder}: no trial with a metrics.json here")
    if not recursive and folders != [TrialFolder(folder)]:
        raise UsageError(f"{folder} is not one trial but holds {len(folders)}: add --recursive to judge them all")
    project = find_project()
    datasets = Datasets(load_dataset(dataset) if dataset else None, project.dataset)
    work_root = private_root(clone_root)
    bench = Bench(Repositories(work_root / "mirrors"), work_root, Redactor.from_environment(os.environ), bubblewrap())

    async def go() -> list[Judged]:
        words: list[Judged] = []
        for rehearsal, group in _by_kind(folders):
            files = {found.path for f in group if (found := _dataset_of(datasets, f)) is not None}
            async with codex_judge(choice, project, rehearsal=rehearsal, datasets=sorted(files)) as codex:
                if codex is None and which == "codex":
                    raise UsageError("codex is not installed; install it with: swetrials agents install codex")
                judges: list[Judge] = [TestsJudge()] if which in {"all", "tests"} else []
                judges += [codex] if codex is not None and which != "tests" else []
                words += await judge_trials(
                    group, judges, bench, datasets, overwrite=overwrite, repo=repo,
                    observe=lambda judged: print(judged_line(judged), flush=True),
                )  # fmt: skip
        return words

    words = anyio.run(go)
    failed = sum(word.failed for word in words)
    print(f"{len(folders)} trials judged" + (f", {failed} judgings failed" if failed else ""))
    return 1 if failed else 0


def _by_kind(folders: Sequence[TrialFolder]) -> list[tuple[bool, list[TrialFolder]]]:
    rehearsals = [f for f in folders if isinstance(m := state_of(f), Metrics) and m.trial.rehearsal]
    real = [f for f in folders if f not in rehearsals]
    return [(kind, group) for kind, group in ((True, rehearsals), (False, real)) if group]


def _dataset_of(datasets: Datasets, folder: TrialFolder) -> LoadedDataset | None:
    try:
        return datasets.of(folder.metrics())
    except (JudgingError, RecordError):
        # Judging the trial says what is wrong with its dataset; here it only brings no lines to rehearse.
        return None
