"""Real repositories for the tests of the workspace, and how to look at a work tree."""

import os
import stat
import subprocess
from pathlib import Path

Tree = dict[bytes, tuple[str, bytes]]
"""Path -> kind (``file``, ``program``, ``link``) and content."""


def git(folder: Path, *words: str, stdin: bytes | None = None) -> str:
    """Run git as a developer would, with an identity and without anybody's configuration."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    done = subprocess.run(["git", "-C", str(folder), *words], env=environment, input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def commit_all(folder: Path, message: str) -> str:
    """Commit everything that lies in a work tree, and return the commit's id."""
    git(folder, "add", "--all", "--force", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def new_repository(folder: Path) -> Path:
    """Make an empty repository with a branch called ``main``."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    return folder


def tree(folder: Path) -> Tree:
    """Return what git can hold of a folder: files, their execute bit, and links."""
    found: Tree = {}
    root = os.fsencode(folder)
    for place, folders, names in os.walk(root):
        if b".git" in folders:
            folders.remove(b".git")
        for name in [*names, *folders]:
            path = place + b"/" + name
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[path.removeprefix(root + b"/")] = ("link", os.readlink(path))  # noqa: PTH115 - the target may be no text
            elif stat.S_ISREG(mode):
                kind = "program" if mode & 0o100 else "file"
                with open(path, "rb") as file:  # noqa: PTH123 - the name may be no text
                    found[path.removeprefix(root + b"/")] = (kind, file.read())
    return found
