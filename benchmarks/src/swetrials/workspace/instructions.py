"""The subject repository's own files for agents: out of their sight while they work, and back for the patch."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.workspace.git import run_git, sealed_environment

_FILES = {
    ".cursorrules",
    ".mcp.json",
    ".windsurfrules",
    "agents.md",
    "agents.override.md",
    "claude.local.md",
    "claude.md",
    "copilot-instructions.md",
    "gemini.md",
    "opencode.json",
    "opencode.jsonc",
}
_FOLDERS = {".agents", ".claude", ".codex", ".cursor", ".gemini", ".omp", ".opencode", ".pi"}
# Names in lower case. Hooks and skills lie in these folders. Agents read such files in every folder they work in,
# not only at the top.


@dataclass(frozen=True)
class SetAside:
    """A file that was taken out of a checkout: its path there, and what it takes to put it back."""

    path: Path
    mode: int
    data: bytes

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link, and ``data`` where that leads."""
        return stat.S_ISLNK(self.mode)


def set_aside(checkout: Path) -> tuple[SetAside, ...]:
    """Take the files for agents out of a fresh checkout, so that no agent finds them.

    For the checkout's git nothing has changed: the files are marked as not checked out, so nobody takes them for
    deleted. Their content is kept in memory, where no agent can get at it.

    Raises:
        GitError: they cannot be marked.
        OSError: they cannot be read or removed.
    """
    found = tuple(_read(checkout, path) for path in sorted(_files(checkout, checkout)))
    if found:
        _mark(checkout, "--skip-worktree", found)
    for file in found:
        (checkout / file.path).unlink()
        _remove_empty(checkout, file.path.parent)
    return found


def put_back(checkout: Path, files: Sequence[SetAside]) -> None:
    """Put files back for the comparison with the commit.

    What the agent has put in such a place itself stays: it is its change. Nothing is written through a link. A folder
    that the agent has closed to its owner is opened.

    Raises:
        OSError: a file cannot be written.
    """
    for file in files:
        if not _open_way(checkout, file.path.parent) or os.path.lexists(checkout / file.path):
            continue
        place = checkout / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.is_link:
            place.symlink_to(os.fsdecode(file.data))
        else:
            place.write_bytes(file.data)
            place.chmod(stat.S_IMODE(file.mode))


def _files(checkout: Path, folder: Path, *, whole: bool = False) -> Iterator[Path]:
    """Yield the files for agents below a folder, relative to the checkout; ``whole``: all files are."""
    for entry in os.scandir(folder):
        path, name = Path(entry.path), entry.name.lower()
        if name == ".git":
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(checkout, path, whole=whole or name in _FOLDERS)
        elif whole or name in _FILES or name in _FOLDERS:
            yield path.relative_to(checkout)


def _read(checkout: Path, path: Path) -> SetAside:
    place = checkout / path
    mode = place.lstat().st_mode
    data = os.fsencode(place.readlink()) if stat.S_ISLNK(mode) else place.read_bytes()
    return SetAside(path, mode, data)


def _mark(checkout: Path, how: str, files: Sequence[SetAside]) -> None:
    environment = sealed_environment(checkout / ".git", checkout.absolute())
    tracked = run_git("ls-files", "-z", purpose="list the files for agents", environment=environment, cwd=checkout)
    known = set(tracked.split(b"\0"))
    names = [name for file in files if (name := os.fsencode(file.path)) in known]
    run_git(
        "update-index",
        how,
        "-z",
        "--stdin",
        purpose="set the files for agents aside",
        environment=environment,
        cwd=checkout,
        stdin=b"".join(name + b"\0" for name in names),
    )


def _remove_empty(checkout: Path, folder: Path) -> None:
    while folder != Path() and not any((checkout / folder).iterdir()):
        (checkout / folder).rmdir()
        folder = folder.parent


def _open_way(checkout: Path, folder: Path) -> bool:
    """Return whether a folder of the checkout is there or can be made without following a link or replacing a file."""
    for part in (Path(), *reversed(folder.parents[:-1]), folder):
        place = checkout / part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return False
        if place.is_dir() and not os.access(place, os.R_OK | os.W_OK | os.X_OK):
            place.chmod(0o700)
    return checkout.is_dir()
