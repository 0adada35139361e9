"""Builds the quickstart's repositories, as git bundles, from their readable sources.

    python3 dataset/quickstart/build_bundles.py [FOLDER]

Each folder of ``sources/<repository>/`` is one commit: the files that it changes, laid over those of the commits
before. The second commit is tagged ``v1.0.0``, which is what the tasks are pinned to. The third holds the fix, so
whoever solves a task from the full history has cheated. Author and dates are fixed, so that the same
sources always give the same commit ids.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

MESSAGES = {
    "word-tally": (
        "Count the words of text files",
        "Add a command line",
        "Add --top to print only the most frequent words",
    ),
    "title-slug": (
        "Turn titles into slugs",
        "Limit the length of a slug at whole words",
        "Keep letters that carry accents",
    ),
    "temperature-table": (
        "Summarize temperature readings",
        "Print a table of stations",
        "Say so when there are no readings",
    ),
}
RELEASE = "v1.0.0"
RELEASED_COMMIT = 1  # index of the commit that carries the tag

_EPOCH = 1_735_725_600  # 2025-01-01 10:00 UTC; each commit is a day later than the one before
_DAY_SECONDS = 86_400


def build(repository: str, bundle: Path) -> None:
    """Write one repository's history to a bundle.

    Raises:
        subprocess.CalledProcessError: git refused a step; its message is on standard error.
    """
    layers = sorted(path for path in (HERE / "sources" / repository).iterdir() if path.is_dir())
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        _git(tree, 0, "init", "--quiet", "--initial-branch=main", "--object-format=sha1")
        for number, (layer, message) in enumerate(zip(layers, MESSAGES[repository], strict=True)):
            shutil.copytree(layer, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            _git(tree, number, "add", "--all")
            _git(tree, number, "commit", "--quiet", f"--message={message}")
            if number == RELEASED_COMMIT:
                _git(tree, number, "tag", "--annotate", f"--message=Release {RELEASE}", RELEASE)
        _git(tree, 0, "bundle", "create", "--quiet", str(bundle.resolve()), "HEAD", "main", RELEASE)


def _git(tree: Path, day: int, *arguments: str) -> None:
    date = f"{_EPOCH + day * _DAY_SECONDS} +0000"
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Quickstart",
        "GIT_AUTHOR_EMAIL": "quickstart@example.com",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": "Quickstart",
        "GIT_COMMITTER_EMAIL": "quickstart@example.com",
        "GIT_COMMITTER_DATE": date,
    }
    subprocess.run(["git", *arguments], cwd=tree, env=environment, check=True)


def main(folder: Path) -> None:
    """Write every bundle into a folder, over those that are there."""
    for repository in MESSAGES:
        build(repository, folder / f"{repository}.bundle")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
