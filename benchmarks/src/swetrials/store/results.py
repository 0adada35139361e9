"""The results tree: where a trial's files are, which trials there are, and what may be cleared."""

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path

from swetrials.records.evaluation import Evaluation
from swetrials.records.metrics import Metrics
from swetrials.store.files import RecordError, read_record, write_record
from swetrials.store.reading import read_bytes

TRASH = ".trash"
METRICS = "metrics.json"
EVALUATION = "eval.json"
LOCK = "lock.json"
ATTEMPTS = "attempts"
APART = ".apart"
"""A file that says of its folder: these results are of no use to those around it. They are read, judged or priced anew
when the folder, or one in it, is named, and never on the way from a folder above."""

_NO_END = re.compile(rb'"run_ended_at":\s*null')
_CUT = re.compile(rb'"kind":\s*"interrupted"')

_INSTEAD: dict[Path, Path] = {}
# By a trial's folder: the file that this process reads in place of a record that cannot be written.


@dataclass(frozen=True)
class TrialFolder:
    """One trial's folder: ``<output>/<model>/<agent>/<skill>/<scope>/<task>[--rN]``."""

    path: Path

    @cached_property
    def metrics_file(self) -> Path:
        """The record of the trial."""
        return self.path / METRICS

    @property
    def file_to_read(self) -> Path:
        """Where the record is read: its own file, or what :func:`read_instead` was given."""
        return _INSTEAD.get(self.path.resolve(), self.metrics_file) if _INSTEAD else self.metrics_file

    @cached_property
    def evaluation_file(self) -> Path:
        """The scores of the trial."""
        return self.path / EVALUATION

    def attempt_folder(self, number: int) -> Path:
        """Where one attempt leaves its stream and its standard error."""
        return self.path / ATTEMPTS / str(number)

    def metrics(self) -> Metrics:
        """Read the trial's record.

        Raises:
            RecordError: there is none, or it is not a record of this kind.
        """
        return read_record(self.file_to_read, Metrics)

    def evaluation(self, metrics: Metrics) -> Evaluation | None:
        """Read the scores that belong to ``metrics``; those of an earlier trial in this folder do not count."""
        if not self.evaluation_file.exists():
            return None
        evaluation = read_record(self.evaluation_file, Evaluation)
        return evaluation if evaluation.trial_id == metrics.trial.id else None


@dataclass(frozen=True)
class Scope:
    """The folder of one run: one model x agent x skill over one dataset."""

    path: Path

    @classmethod
    def of(cls, output: Path, *, model_slug: str, agent_folder: str, skill: str, scope: str) -> "Scope":
        """Return the run's folder below the root of the results tree."""
        return cls(output / model_slug / agent_folder / skill / scope)

    def trial(self, task_id: str, repeat: int) -> TrialFolder:
        """Return the folder of one repeat of a task; the first has no suffix."""
        return TrialFolder(self.path / (task_id if repeat == 1 else f"{task_id}--r{repeat}"))


def trial_folders(root: Path, unreadable: Callable[[OSError], None] | None = None) -> Iterator[TrialFolder]:
    """Find every trial at or below ``root``, in the order of their names; trash and what is set apart are left out.

    Args:
        root: a results tree, or any folder in one.
        unreadable: takes the reason why a folder cannot be looked into, and the search goes on without it.

    Raises:
        RecordError: a folder cannot be looked into, and ``unreadable`` is not given.
    """
    try:
        trial = TrialFolder(root)
        if trial.metrics_file.is_file():
            yield trial
            return
        children = list(subfolders(root))
    except OSError as error:
        if unreadable is None:
            raise RecordError(f"{root}: {error.strerror or error}") from None
        unreadable(error)
        return
    for child in children:
        yield from trial_folders(child, unreadable)


def has_no_end(folder: TrialFolder) -> bool:
    """Whether a trial's record tells no end and an interruption, as that of a killed harness does.

    An imported trial tells no end either. It looks at the bytes alone, for a tree holds many trials and few such ones;
    what cannot be read tells nothing.
    """
    try:
        record = read_bytes(folder.metrics_file)
        return _NO_END.search(record) is not None and _CUT.search(record) is not None
    except OSError:
        return False


def subfolders(folder: Path) -> Iterator[Path]:
    """Return the folders right in one that are searched with it, by name: not hidden, linked or set apart."""
    return (child for child in _visible(folder) if not _is_apart(child))


def set_apart(folder: Path) -> list[Path]:
    """Return the folders right in one that are not searched with it, because of the file ``.apart`` in them."""
    try:
        return [child for child in _visible(folder) if _is_apart(child)]
    except OSError:
        return []  # nothing can be said of a folder that cannot be looked into


def none_in(folder: Path) -> str:
    """Return that a folder holds no trial, or that it is no folder: somebody mistyped it, and has lost nothing."""
    if not folder.exists():
        return f"{folder}: no such folder"
    if not folder.is_dir():
        return f"{folder}: is a file; a folder with results is needed"
    return f"{folder}: no trial with a metrics.json to read"


def told_apart(folder: Path) -> str:
    """Return what to add where no trial was found: which folders right in this one were not searched, or nothing."""
    return "".join(f"; {child} is set apart ({APART}): name it, if it is meant" for child in set_apart(folder))


def _is_apart(folder: Path) -> bool:
    try:
        return (folder / APART).is_file()
    except OSError:
        return False  # whoever searches it hears of the reason


def _visible(folder: Path) -> list[Path]:
    # A listing tells what is a folder and what is a link; asking for each one anew takes longer than reading records.
    try:
        with os.scandir(folder) as entries:
            folders = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            names = sorted(name for name in folders if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in names]


def read_instead(folder: TrialFolder, record: Metrics) -> None:
    """Have this process read a record in place of a trial's own, which cannot be written."""
    file = Path(_folder_of_this_process().name) / f"{len(_INSTEAD)}.json"
    write_record(file, record)
    _INSTEAD[folder.path.resolve()] = file


@cache
def _folder_of_this_process() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="swetrials-")


def move_to_trash(folder: TrialFolder, output: Path, record: Metrics, keep: Collection[str] = ()) -> Path:
    """Put a new record in a trial's place, move what was there to ``.trash/`` and return where it is now.

    Nothing is ever deleted: the path below the trash says which trial it was and when it was cleared. And no moment is
    without a record: whoever is killed on the way leaves the old one or the new one, and the money in it.

    Args:
        folder: the trial's.
        output: root of the results tree.
        record: what stands in the folder from now on.
        keep: names of what stays in the folder besides.

    Raises:
        OSError: there is no room for the new record; the old one stands.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    place = output / TRASH / stamp / folder.path.relative_to(output)
    place.mkdir(parents=True, exist_ok=True)
    if folder.metrics_file.exists():
        try:
            (place / METRICS).hardlink_to(folder.metrics_file)
        except OSError:  # a file system without links
            folder.metrics_file.rename(place / METRICS)
    write_record(folder.metrics_file, record)
    move_files(folder.path, place, keep)
    return place


def move_files(source: Path, target: Path, keep: Collection[str] = ()) -> None:
    """Move what a trial is made of, but for its record, from one folder to another."""
    for child in sorted(source.iterdir()):
        if child.name not in {METRICS, *keep}:
            child.rename(target / child.name)


def state_of(folder: TrialFolder) -> Metrics | RecordError | None:
    """Return a trial's record, the reason why it cannot be read, or ``None`` when the folder is not there."""
    if not folder.path.exists():
        return None
    try:
        return folder.metrics()
    except RecordError as error:
        return error
