"""Downloads of published packages, as commands ask for them; a package of the repository itself holds its answers.

What a registry was asked for shows in commands alone: the meter's proxy passes tunnels, in which it sees no path. A
download that an agent hides in a program of its own is not found.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from configparser import Error, RawConfigParser
from contextlib import suppress
from itertools import pairwise

MANIFESTS = ("pyproject.toml", "setup.cfg", "package.json")
"""Files in which a repository says what it is published as."""

_PIP = re.compile(r"pip[0-9.]*")
_PYTHON = re.compile(r"python[0-9.]*")
_PIP_COMMANDS = frozenset({"download", "index", "install", "wheel"})
_PIP_LIKE: Mapping[str, frozenset[str]] = {
    "pdm": frozenset({"add"}),
    "pipx": frozenset({"install", "run"}),
    "poetry": frozenset({"add"}),
    "uv": frozenset({"add"}),
}
_UV_GROUPS = {"pip": "pip", "tool": "pipx"}
"""Groups of uv's commands, and whose commands they are like."""

_NPM_LIKE = frozenset({"bun", "npm", "pnpm", "yarn"})
_NPM_COMMANDS = frozenset({"add", "dlx", "exec", "i", "in", "info", "install", "pack", "show", "v", "view", "x"})
_RUNNERS = frozenset({"bunx", "npx", "uvx"})
_WITH_VALUE = frozenset(
    {
        *("-c", "-d", "-e", "-f", "-i", "-p", "-r", "-t"),
        *("--cache-dir", "--constraint", "--dest", "--directory", "--editable", "--extra-index-url", "--find-links"),
        *("--index-url", "--only-binary", "--pack-destination", "--prefix", "--python", "--registry", "--requirement"),
        "--target",
    }
)
"""Options whose value is the next word. None of them names a package to download."""

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~;@].*)?", re.DOTALL)
_NPM_NAME = re.compile(r"(?:.*@npm:)?((?:@[\w.-]+/)?[A-Za-z0-9_][\w.-]*)(?:@.*)?")
_ARCHIVE = re.compile(r"https?://.+/([A-Za-z0-9][^/]*?)-v?[0-9][^/]*\.(?:whl|tar\.gz|tgz|zip)(?:[?#].*)?")
_LONGEST_WORD = 500
"""What is longer names no package; patterns take too long on it."""


def published_names(manifests: Mapping[str, str], repository: str) -> frozenset[str]:
    """Return what a repository is published as, in lower case and with dashes alone.

    Args:
        manifests: what stands in its ``MANIFESTS`` at the pinned commit, those that it has.
        repository: the repository's name, which counts where no manifest says any.
    """
    named = {_plain(name) for name in _named(manifests) if isinstance(name, str) and name}
    return frozenset(named or {_plain(repository)})


def downloads(program: str, words: Sequence[str], names: Collection[str]) -> bool:
    """Return whether a command asks a registry for one of these packages.

    Args:
        program: the program's name, without folders.
        words: what follows it.
        names: as ``published_names`` has them.
    """
    words = [word for word in words if len(word) <= _LONGEST_WORD]
    return any(_plain(name) in names for name in (*_asked(program, words), *_names(words, _ARCHIVE)))


def _named(manifests: Mapping[str, str]) -> Iterator[object]:
    """Yield what manifests say of a name; one that cannot be read says nothing."""
    with suppress(tomllib.TOMLDecodeError, RecursionError):
        project = tomllib.loads(manifests.get("pyproject.toml", ""))
        yield _inside(project, "project", "name")
        yield _inside(project, "tool", "poetry", "name")
    parser = RawConfigParser(strict=False)
    with suppress(Error):
        parser.read_string(manifests.get("setup.cfg", ""))
        yield parser.get("metadata", "name", fallback=None)
    with suppress(ValueError, RecursionError):
        yield _inside(json.loads(manifests.get("package.json") or "{}"), "name")


def _inside(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _asked(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the names of the packages that a command asks for, as it spells them."""
    if _PYTHON.fullmatch(program) and "-m" in words:
        module = words[words.index("-m") + 1 :]
        yield from _asked(module[0], module[1:]) if module and _PIP.fullmatch(module[0]) else ()
        return
    if program == "uv":
        yield from _names(_after(words, "--with"), _REQUIREMENT)
        if words and words[0] in _UV_GROUPS:
            program, words = _UV_GROUPS[words[0]], words[1:]
    if program in _RUNNERS:
        yield from _names(_packages(words)[:1], _REQUIREMENT if program == "uvx" else _NPM_NAME)
        return
    command, *packages = _packages(words) or [""]
    if (_PIP.fullmatch(program) and command in _PIP_COMMANDS) or command in _PIP_LIKE.get(program, ()):
        yield from _names(packages, _REQUIREMENT)
    elif program in _NPM_LIKE and command in _NPM_COMMANDS:
        yield from _names(packages, _NPM_NAME)


def _packages(words: Sequence[str]) -> list[str]:
    """Return a command's words without its options."""
    return [word for before, word in pairwise(["", *words]) if not word.startswith("-") and before not in _WITH_VALUE]


def _after(words: Sequence[str], option: str) -> list[str]:
    following = [word for before, word in pairwise(words) if before == option]
    return following + [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]


def _names(words: Sequence[str], spelling: re.Pattern[str]) -> Iterator[str]:
    for word in words:
        if found := spelling.fullmatch(word):
            yield found[1]


def _plain(name: str) -> str:
    """Return a name as registries compare it (PyPA's specification "Names and normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()
