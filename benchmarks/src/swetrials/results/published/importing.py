"""Making a results tree of figures that somebody else published."""

import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from swetrials.errors import KnownError
from swetrials.records.judged_inputs import JudgedInputs
from swetrials.results.published.source_trial import ImportedTrial
from swetrials.store.files import to_json, write_record
from swetrials.store.results import EVALUATION, METRICS, trial_folders


class ImportingError(KnownError):
    """The folder for the tree cannot be used; the message says what is in it and what mends it."""


def write_tree(trials: Sequence[ImportedTrial], tree: Path) -> bool:
    """Write the trials as a results tree, all or nothing.

    Returns:
        False when exactly these trials, to the byte, are there already, and nothing was written.

    Raises:
        ImportingError: the folder holds something else.
        OSError: the disk is full, or the folder cannot be written.
    """
    if _is_used(tree):
        _refuse_others(trials, tree)
        return False
    tree.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{tree.name}.", dir=tree.parent))
    try:
        with ThreadPoolExecutor() as pool:  # each file waits for the disk by itself
            list(pool.map(lambda trial: _write(trial, beside / trial.folder), trials))
        beside.chmod(0o755)  # a temporary folder is its owner's alone
        beside.rename(tree)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return True


def write_judged_inputs(inputs: JudgedInputs, folder: Path) -> Path:
    """Write judged inputs into a folder and return the file. The same again changes nothing.

    Raises:
        ImportingError: the folder's place is taken, or it holds other judged inputs.
        OSError: the disk is full, or the folder cannot be written.
    """
    _is_used(folder)
    file = folder / "judged-inputs.json"
    if not file.exists():
        write_record(file, inputs)
    elif not file.is_file() or file.read_bytes() != to_json(inputs):
        raise ImportingError(f"{file} is there already, and holds something else; name a new folder with --into")
    return file


def _write(trial: ImportedTrial, folder: Path) -> None:
    write_record(folder / METRICS, trial.metrics)
    write_record(folder / EVALUATION, trial.evaluation)


def _is_used(tree: Path) -> bool:
    for place in (tree, *tree.parents):
        if place.exists():
            if not place.is_dir():
                raise ImportingError(f"{place} is a file; name a folder with --into")
            break
    return tree.is_dir() and any(tree.iterdir())


def _refuse_others(trials: Sequence[ImportedTrial], tree: Path) -> None:
    fix = "name a new folder with --into"
    expected = {trial.folder: trial for trial in trials}
    found = {str(folder.path.relative_to(tree)): folder for folder in trial_folders(tree)}
    if not found:
        raise ImportingError(f"{tree} is not empty; {fix}")
    if others := sorted(found.keys() - expected.keys()):
        raise ImportingError(f"{tree} holds other trials ({len(others)}), such as {others[0]}; {fix}")
    for name, trial in expected.items():
        folder = found.get(name)
        if folder is None:
            raise ImportingError(f"{tree} holds an import that lacks {name}; {fix}")
        files = {folder.metrics_file: to_json(trial.metrics), folder.evaluation_file: to_json(trial.evaluation)}
        if changed := [path for path, data in files.items() if not path.is_file() or path.read_bytes() != data]:
            raise ImportingError(f"{tree} holds another import, or one that was changed: {changed[0]}; {fix}")
