"""The files of canary tests: tests whose right outcome is known, under names that nobody can know before the run."""

import json
import re
import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from swetrials.judging.guards.runner_commands import RunnerName
from swetrials.judging.guards.test_places import TestPlace

Expected = Literal["passed", "failed"]

_IMPORT = re.compile(r"^(?:import|from)[ \t]+([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", re.MULTILINE)
_RELATIVE = re.compile(r"""(?:\bfrom|\bimport|\brequire|\bimport\s*\(|\brequire\s*\()\s*["'](\.{1,2}/[\w./@-]+)["']""")
_COMMONJS = re.compile(r"\brequire\s*\(")
_MODULES = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)
_MOST_IMPORTS = 20
_WORD_LETTERS = 12
_PACKAGE_FOLDERS = (".", "src", "lib")


@dataclass(frozen=True)
class CanaryFile:
    """A file with canary tests.

    Attributes:
        path: where it belongs, seen from the checkout.
        text: what it says.
        token: a part of its name, and so of the id of each of its tests.
        passing: names of the tests that have to pass.
        failing: names of those that have to fail.
    """

    path: PurePosixPath
    text: str
    token: str
    passing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


def word(first: str = string.ascii_lowercase) -> str:
    """Return a random word of letters, which begins with one of some."""
    return secrets.choice(first) + "".join(secrets.choice(string.ascii_lowercase) for _ in range(_WORD_LETTERS - 1))


def canary_file(
    runner: RunnerName,
    place: TestPlace,
    checkout: Path,
    patterns: Sequence[str],
    token: str,
    *,
    expected: Sequence[Expected] = ("passed", "failed"),
    functions: bool = True,
) -> CanaryFile:
    """Make a file that stands last in a folder of tests and imports what the tests there import.

    Args:
        runner: what has to run it.
        place: the folder.
        checkout: in which the folder is.
        patterns: of the names of Python's test files.
        token: a random word for its name, which all files of a command have in common.
        expected: which tests it has; those that have to pass come first.
        functions: whether pytest finds functions under their usual names.
    """
    part = token + word()[:4]
    # A project's fixtures may be for functions alone: methods of a TestCase are where the tests there have such.
    methods = 0 if runner == "pytest" and functions and "TestCase" not in place.text else 2
    number = methods + 1 if runner == "pytest" and functions else 2
    # unittest runs tests in the order of their names.
    passing = [f"test_{word('abcdef')}" for _ in range(number)] if "passed" in expected else []
    failing = [f"test_{word('uvwxyz')}" for _ in range(number)] if "failed" in expected else []
    if runner in {"pytest", "unittest"}:
        name = _python_name(place.last, part, patterns)
        lines = _python(_imported(place.text, checkout), passing, failing, methods)
    else:
        name = _script_name(runner, place, part)
        lines = _script(runner, place, name, passing, failing)
    return CanaryFile(place.folder / name, "\n".join(lines) + "\n", token, tuple(passing), tuple(failing))


def _python_name(last: str | None, token: str, patterns: Sequence[str]) -> str:
    """Return a name that the patterns match, and that comes after the last one where that can be."""
    for pattern in patterns:
        before, star, after = pattern.partition("*")
        if not star or re.search(r"[?*\[]", after):
            continue
        fits = last is not None and last.startswith(before) and last.endswith(after)
        middle = f"{last[len(before) : len(last) - len(after)]}_{token}" if last and fits else token
        if last is None or fits:
            return f"{before}{middle}{after}"
    return f"{PurePosixPath(last or 'test').stem}_{token}.py"


def _imported(text: str, checkout: Path) -> list[str]:
    """Return the modules of the checkout that a test imports."""
    found: list[str] = []
    for module in dict.fromkeys(_IMPORT.findall(text)):
        top = module.partition(".")[0]
        if any(
            (checkout / folder / top).is_dir() or (checkout / folder / f"{top}.py").is_file()
            for folder in _PACKAGE_FOLDERS
        ):
            found.append(module)
    return found[:_MOST_IMPORTS]


def _python(modules: Sequence[str], passing: Sequence[str], failing: Sequence[str], methods: int) -> list[str]:
    """Return the lines of a file: of each kind so many methods, and a function for each further name."""
    lines = ["import unittest", ""]
    for module in modules:
        # What it cannot import says nothing here; what ends the process does.
        lines += ["try:", f"    import {module}", "except Exception:", "    pass"]
    same, other = word(), word()
    kinds = ((passing, same), (failing, other))
    for names, value in kinds[:1]:
        lines += _function(names[methods:], same, value)
    lines += ["", f"class {word().title()}(unittest.TestCase):"] if methods else []
    for names, value in kinds if methods else ():
        checks = (f"assertEqual({same!r}, {value!r})", f"assertTrue({same!r} == {value!r})")
        for name, check in zip(names, checks, strict=False):
            lines += [f"    def {name}(self):", f"        self.{check}"]
    for names, value in kinds[1:]:
        lines += _function(names[methods:], same, value)
    return lines


def _function(names: Sequence[str], one: str, other: str) -> list[str]:
    return [line for name in names for line in ("", f"def {name}():", f"    assert {one!r} == {other!r}")]


def _script_name(runner: RunnerName, place: TestPlace, token: str) -> str:
    stem, dot, suffixes = (place.last or "").partition(".")
    if runner == "node":
        plain = _COMMONJS.search(place.text) and not _MODULES.search(place.text)
        return f"{stem}{'_' if stem else ''}{token}.test.{'cjs' if plain else 'mjs'}"
    return f"{stem}_{token}.{suffixes}" if dot else f"{token}.test.js"


def _script(
    runner: RunnerName, place: TestPlace, name: str, passing: Sequence[str], failing: Sequence[str]
) -> list[str]:
    modules = list(dict.fromkeys(_RELATIVE.findall(place.text)))[:_MOST_IMPORTS]
    same, other = json.dumps(word()), json.dumps(word())
    if runner == "node":
        return _node(name.endswith(".cjs"), modules, same, other, passing, failing)
    typed = re.search(r"\.[cm]?tsx?$", name) is not None
    if runner == "vitest":
        lines = ["import { expect, test } from 'vitest';"]
    elif "@jest/globals" not in place.text:
        lines = ["export {};"] if typed else []  # without it TypeScript takes the file for no module
    elif _MODULES.search(place.text):
        lines = ["import { expect, test } from '@jest/globals';"]
    else:
        lines = ["const { expect, test } = require('@jest/globals');"]
    for names, value in ((passing, same), (failing, other)):
        for test, check in zip(names, ("toBe", "toEqual"), strict=True):
            lines.append(f"test('{test}', async () => {{")
            if not typed:
                load = "await import" if runner == "vitest" else "require"
                lines += [f"  try {{ {load}({json.dumps(module)}); }} catch {{}}" for module in modules]
            lines += [f"  expect({same}).{check}({value});", "});"]
    return lines


def _node(
    plain: bool, modules: Sequence[str], same: str, other: str, passing: Sequence[str], failing: Sequence[str]
) -> list[str]:
    if plain:
        lines = ["const assert = require('node:assert');", "const { test } = require('node:test');"]
    else:
        lines = ["import assert from 'node:assert';", "import { test } from 'node:test';"]
    load = "require" if plain else "await import"
    lines += [f"try {{ {load}({json.dumps(module)}); }} catch {{}}" for module in modules]
    for names, value in ((passing, same), (failing, other)):
        for name, check in zip(names, ("strictEqual", "deepStrictEqual"), strict=True):
            lines.append(f"test('{name}', () => assert.{check}({same}, {value}));")
    return lines
