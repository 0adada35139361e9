"""Where the checks of a dataset are kept: in a file beside it, fit to be committed with it."""

from pathlib import Path

from swetrials.records.checked import CheckedDataset, CheckedTask
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import read_record, write_record


def checked_file(loaded: LoadedDataset) -> Path:
    """Return where the checks of a dataset are, or would be."""
    return loaded.path.with_suffix(".checked.json")


def read_checked(loaded: LoadedDataset) -> CheckedDataset:
    """Return the checks of a dataset, by what they were when they were made; empty where there are none.

    Raises:
        RecordError: the file is torn, or is something else.
    """
    path = checked_file(loaded)
    return read_record(path, CheckedDataset) if path.exists() else CheckedDataset(dataset=loaded.dataset.name)


def write_checked(loaded: LoadedDataset, tasks: dict[str, CheckedTask]) -> None:
    """Write the checks of a dataset, in the order of their tasks' ids and for tasks alone that the dataset has.

    Raises:
        OSError: the file cannot be written.
    """
    known = {task.id for task in loaded.dataset.tasks}
    kept = {name: tasks[name] for name in sorted(tasks) if name in known}
    write_record(checked_file(loaded), CheckedDataset(dataset=loaded.dataset.name, tasks=kept))
