"""Files that a command is asked to write: whether it could, before it does the work."""

from pathlib import Path

from swetrials.pipeline.workbench import UsageError


def check_output(flag: str, path: Path | None) -> None:
    """Refuse what cannot become a file.

    Raises:
        UsageError: it is a folder, or what should be a folder on the way to it is a file.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{flag} {path}: is a folder; name a file")
    for parent in path.parents:
        if parent.exists():
            if not parent.is_dir():
                raise UsageError(f"{flag} {path}: {parent} is no folder")
            return
