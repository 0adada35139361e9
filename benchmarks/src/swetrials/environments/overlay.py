"""Layers over prepared folders: by the kernel's overlay where that works, else by a copy."""

import functools
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from swetrials.environments.base import Layer, PreparationError
from swetrials.environments.bubblewrap_start import OVERLAY

_START = str(Path(__file__).with_name("bubblewrap_start.py"))
_PROOF_SECONDS = 20.0
_COPY_SECONDS = 1800.0

_PROOF = 'test "$(cat merged/file)" = lower && echo own > merged/file && rm merged/gone && mkdir merged/made'


class LayerError(PreparationError):
    """A prepared folder cannot be copied; the message says why."""


def new_layer(lower: Path, own: Path, inside: Path, *, copied: bool) -> Layer:
    """Return a layer over a prepared folder, with the folders that it needs.

    Args:
        lower: the prepared folder.
        own: a folder to make, for what is written.
        inside: where the command finds it.
        copied: copy it, where no overlay can be laid over it (:func:`why_no_overlay`).

    Raises:
        LayerError: it has to be copied, and cannot be.
        OSError: the folders cannot be made.
    """
    for name in ("upper", "work", "merged"):
        (own / name).mkdir(parents=True)
    if copied:
        copy_tree(lower, own / "merged")
    return Layer(lower, own, inside, copied)


def copy_tree(lower: Path, into: Path) -> None:
    """Copy all that is in a folder into another, with owners, modes and times; by reference where the disk can.

    Raises:
        LayerError: it could not be copied.
    """
    words = ("cp", "-a", "--reflink=auto", "--", f"{lower}/.", str(into))
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COPY_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise LayerError(f"{lower} cannot be copied: {error}") from None
    if done.returncode != 0:
        raise LayerError(f"{lower} cannot be copied: {done.stderr.decode(errors='replace').strip().splitlines()[-1]}")


@functools.cache
def why_no_overlay(lowers: Path, owns: Path) -> str:
    """Return why no overlay can be laid over folders of one place with what is written kept in another.

    Empty where it can: one was laid, read, and written to. It takes a kernel that lets this user do it, and for what
    is written a disk that the overlay can use: an overlay itself, as the root of many containers is, cannot be.

    Args:
        lowers: a folder, in which a folder is made and removed.
        owns: another.
    """
    try:
        with tempfile.TemporaryDirectory(dir=lowers) as lower, tempfile.TemporaryDirectory(dir=owns) as own:
            for name in ("upper", "work", "merged"):
                Path(own, name).mkdir()
            Path(lower, "file").write_text("lower\n", encoding="ascii")
            Path(lower, "gone").touch()
            words = (sys.executable, "-I", "-S", _START, "-", OVERLAY, lower, own, "--", "/bin/sh", "-c", _PROOF)
            done = subprocess.run(
                words, cwd=own, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROOF_SECONDS, check=False
            )
            kept = Path(lower, "file").read_text(encoding="ascii") == "lower\n"
            with suppress(FileNotFoundError):
                Path(own, "work", "work").chmod(0o700)  # of mode 000, whoever made it
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0 and kept:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("bwrap: ") if lines else "it does not keep what is written apart"
