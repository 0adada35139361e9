"""Putting the dataset's own files into a checkout whose content nobody vouches for.

The patch comes from the model under test. It may have made a folder on the way a symbolic link to
somewhere else, and the files would then be written there; so links are followed only inside the checkout.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from swetrials.store.files import sha256_of


class PlacementError(Exception):
    """A file cannot be put where it belongs without leaving the checkout; the message says where."""


def contents(hidden_files: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of every file that would be put in place, by its path in the repository.

    A file that may be executed is another one than the same bytes that may not.

    Raises:
        OSError: a source is missing or cannot be read.
    """
    return {
        str(target): ("x:" if os.access(file, os.X_OK) else "") + sha256_of(file.read_bytes())
        for target, file in _files(hidden_files)
    }


def place_hidden_files(checkout: Path, hidden_files: Mapping[str, Path]) -> None:
    """Copy files and folders into ``checkout``, over whatever is there.

    Args:
        checkout: the work tree.
        hidden_files: path in the repository -> the file or folder to put there; a folder is merged.

    Raises:
        PlacementError: a link on the way leads out of the checkout or into ``.git``.
        OSError: a source is missing or cannot be read.
    """
    for target, file in _files(hidden_files):
        _place(checkout, target, file)


def hidden_paths(hidden_files: Mapping[str, Path]) -> frozenset[str]:
    """Return the path in the repository of every single file that is put in place."""
    return frozenset(target.as_posix() for target, _ in _files(hidden_files))


def place_file(checkout: Path, target: Path, data: bytes) -> None:
    """Write a file of the harness's own into ``checkout``, over whatever is there.

    Raises:
        PlacementError: a link on the way leads out of the checkout or into ``.git``.
        OSError: it cannot be written.
    """
    path = _cleared(checkout, target)
    path.write_bytes(data)
    path.chmod(0o644)


def texts(hidden_files: Mapping[str, Path]) -> Iterator[str]:
    """Yield what stands in each hidden file of Python.

    Raises:
        OSError: a source is missing or cannot be read.
    """
    return (file.read_text(errors="replace") for target, file in _files(hidden_files) if target.suffix == ".py")


def stamps(checkout: Path, hidden_files: Mapping[str, Path]) -> dict[str, tuple[int, ...] | None]:
    """Return what is another one once something has been written to a hidden file in ``checkout``, by its path.

    That is the time of its last change, which no program can set: content that was put back does not hide it.
    """
    found: dict[str, tuple[int, ...] | None] = {}
    for target, _ in _files(hidden_files):
        try:
            status = (checkout / target).stat()
        except OSError:
            found[str(target)] = None
        else:
            found[str(target)] = (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)
    return found


def _files(hidden_files: Mapping[str, Path]) -> Iterator[tuple[Path, Path]]:
    """Return each single file with its path in the repository, in the order in which they are put there."""
    for target, source in sorted(hidden_files.items()):
        if source.is_dir():
            for file in sorted(path for path in source.rglob("*") if path.is_file()):
                yield Path(target) / file.relative_to(source), file
        else:
            yield Path(target), source


def _place(checkout: Path, target: Path, source: Path) -> None:
    shutil.copy(source, _cleared(checkout, target))


def _cleared(checkout: Path, target: Path) -> Path:
    """Return where a file belongs, with nothing there any more."""
    path = _folder(checkout.resolve(), target) / target.name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def _folder(root: Path, target: Path) -> Path:
    """Return the existing folder of ``target``, made where it was missing or was a file."""
    folder = root
    for part in target.parent.parts:
        inside = Path(os.path.realpath(folder / part))
        if not inside.is_relative_to(root) or ".git" in inside.relative_to(root).parts:
            raise PlacementError(f"{target} cannot be put in place: {part} is a link that leads out of the checkout")
        if not inside.is_dir():
            inside.unlink(missing_ok=True)
            inside.mkdir()
        folder = inside
    return folder
