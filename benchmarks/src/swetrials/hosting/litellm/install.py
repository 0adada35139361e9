"""Installs the LiteLLM proxy into an environment of its own: pinned, whole or not at all, and nowhere else.

It brings well over a hundred packages with versions of their own, so it shares none with this program.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from swetrials.hosting.process import ServiceError
from swetrials.store.project import Project

VERSION = "1.108.7"
"""The release that the configuration and the tests go by."""

FREE_BYTES_NEEDED = 2_000_000_000
"""Disk space for the environment (756 MB) and the archives in the cache."""

_PROGRESS = ("Resolved", "Prepared", "Installed")
_REASON_CHARACTERS = 500


def find(tools: Path) -> Path | None:
    """Return the proxy's program when the tools folder holds the pinned version, else ``None``. Nothing is run."""
    return _find_in(tools / "litellm")


def install(project: Project, say: Callable[[str], None]) -> Path:
    """Return the proxy's program, installing it first when the pinned version is not there.

    The work is done in a folder beside the final one and renamed at the end, under a lock: an interrupted or
    concurrent installation leaves nothing half done. Nothing is written outside ``.tools``.

    Args:
        project: has the tools folder, and knows uv.
        say: gets lines on what goes on, and none when there is nothing to do.

    Raises:
        ServiceError: the disk is too full or the download failed; one line that says what mends it.
    """
    tools = project.tools
    if found := find(tools):
        return found
    tools.mkdir(parents=True, exist_ok=True)
    with FileLock(tools / "litellm.lock"):
        if found := find(tools):
            return found
        if (free := shutil.disk_usage(tools).free) < FREE_BYTES_NEEDED:
            raise ServiceError(
                f"litellm: {free / 1e9:.1f} GB free below {tools}, {FREE_BYTES_NEEDED / 1e9:.0f} GB needed: "
                "make room on that disk, then run: swetrials proxy start"
            )
        say(f"installing litellm {VERSION} (one time, 756 MB, about a minute)")
        _install_into_place(project, say)
    if found := find(tools):
        return found
    raise ServiceError(f"litellm {VERSION}: its package holds no program named litellm")


def _find_in(folder: Path) -> Path | None:
    program = folder / "bin" / "litellm"
    whole = os.access(folder / "bin" / "python", os.X_OK) and os.access(program, os.X_OK)
    pinned = any(folder.glob(f"lib/python*/site-packages/litellm-{VERSION}.dist-info/METADATA"))
    return program if whole and pinned else None


def _install_into_place(project: Project, say: Callable[[str], None]) -> None:
    partial, final = project.tools / "litellm.partial", project.tools / "litellm"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        # Relocatable: its programs name their interpreter by the way from themselves, so the folder can be renamed.
        _uv(project, say, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(partial))
        python = str(partial / "bin" / "python")
        _uv(project, say, "pip", "install", "--no-progress", "--python", python, f"litellm[proxy]=={VERSION}")
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _uv(project: Project, say: Callable[[str], None], *words: str) -> None:
    """Run uv and pass on its progress; the list of single packages is left out."""
    command = [project.uv, *words]
    said: list[str] = []
    try:
        with subprocess.Popen(
            command,
            cwd=project.tools,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            assert process.stderr is not None
            for line in filter(None, map(str.strip, process.stderr)):
                if line.startswith(_PROGRESS):
                    say(f"  {line}")
                else:
                    said.append(line)
    except OSError as error:
        raise ServiceError(f"litellm: cannot run {command[0]}: {error.strerror}") from None
    if process.returncode != 0:
        why = "; ".join(said)[:_REASON_CHARACTERS] or f"exit code {process.returncode}"
        raise ServiceError(f"uv could not install litellm {VERSION}: {why}")
