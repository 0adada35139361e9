"""What a preparation is made from: while it is the same, the preparation is."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import normpath

import orjson

from swetrials.records.environment import EnvironmentSpec
from swetrials.store.files import sha256_of

MANIFESTS = (
    # Python
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "*requirements*.txt",
    "*requirements*.in",
    "*constraints*.txt",
    "uv.lock",
    "uv.toml",
    "poetry.lock",
    "pdm.lock",
    "pylock*.toml",
    "Pipfile",
    "Pipfile.lock",
    "environment.yml",
    "tox.ini",
    ".python-version",
    # Node
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    ".npmrc",
    ".nvmrc",
    ".yarnrc.yml",
    # Others
    "go.mod",
    "go.sum",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain*",
    "Gemfile",
    "Gemfile.lock",
    "pom.xml",
    "build.gradle*",
    "settings.gradle*",
    "gradle.lockfile",
    "CMakeLists.txt",
    "Makefile",
    "GNUmakefile",
)
"""Names of files, in any folder of a repository, that say what there is to install."""

_FORMAT = 1
# Of a preparation's folder. A preparation of another format is made anew.


def preparation_sha256(
    spec: EnvironmentSpec, kind: str, repository: str, tools: Mapping[str, str], tracked: Mapping[str, str]
) -> str:
    """Return the hash of all that a preparation is made from.

    Not in it are the values of secrets, the rest of the commit, and what a package registry answers.

    Args:
        spec: what the dataset asks for.
        kind: of the environment.
        repository: its name, since a preparation holds the path of the checkout.
        tools: the version of each tool that is used, by name.
        tracked: the commit's files, from :func:`~swetrials.workspace.tracked_files.tracked_files`.
    """
    content: dict[str, object] = {"format": _FORMAT, "kind": kind, "python": spec.python, "tools": dict(tools)}
    if spec.setup:
        asked = spec.model_dump(mode="json", include={"node", "setup", "env", "setup_secrets"})
        content |= {"asked": asked, "repository": repository, "inputs": inputs_of(spec, tracked)}
    return sha256_of(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


def inputs_of(spec: EnvironmentSpec, tracked: Mapping[str, str]) -> dict[str, str]:
    """Return those files of a commit on which setup depends: manifests, what its commands name, ``setup_inputs``."""
    named = set(_named(spec.setup))
    patterns = [_as_regular_expression(pattern) for pattern in spec.setup_inputs]
    return {
        path: content
        for path, content in tracked.items()
        if path in named or _is_manifest(path) or any(pattern.fullmatch(path) for pattern in patterns)
    }


def _named(setup: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield every word of the commands, those of a shell's script among them, as the path that it may be."""
    for argv in setup:
        for word in argv:
            yield normpath(word)
            try:
                yield from map(normpath, shlex.split(word))
            except ValueError:
                continue


def _is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in MANIFESTS)


def _as_regular_expression(pattern: str) -> re.Pattern[str]:
    """Return what a glob means: ``*`` stays in its folder, ``**`` goes below it; a folder is all that is in it."""
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removesuffix("/"))
    return re.compile("".join(special.get(piece, re.escape(piece)) for piece in pieces) + "(?:/.*)?")
