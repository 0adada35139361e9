"""What a checkout's configuration of pytest says that decides which tests are found, and when they stop.

The order of files: https://docs.pytest.org/en/stable/reference/customize.html#finding-the-rootdir.
"""

import configparser
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swetrials.workspace.safe_read import open_left

_FILES = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", ""),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
_MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class PytestSettings:
    """The settings, each as its words.

    Attributes:
        addopts: words that stand in front of every command line.
        testpaths: where tests are looked for when a command names nothing.
        python_files: patterns of the names of files with tests.
        python_functions: patterns of the names of tests; empty: as pytest has them.
    """

    addopts: tuple[str, ...] = ()
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ()
    python_functions: tuple[str, ...] = ()


def pytest_settings(checkout: Path) -> PytestSettings:
    """Return the settings of a checkout, whatever its files hold; nothing where they cannot be read."""
    for name, section in _FILES:
        found = _section(checkout, name, section)
        if found is not None:
            return PytestSettings(
                **{key: _words(found.get(key)) for key in PytestSettings.__dataclass_fields__ if key in found}
            )
    return PytestSettings()


def _section(checkout: Path, name: str, section: str) -> Mapping[str, object] | None:
    file = open_left(checkout, name)
    if file is None:
        return None
    with file:
        text = file.read(_MOST_BYTES).decode(errors="replace")
    try:
        if name.endswith(".toml"):
            tool = tomllib.loads(text).get("tool", {}).get("pytest", {})
            found = tool.get("ini_options", {k: v for k, v in tool.items() if k != "ini_options"} or None)
            return found if isinstance(found, Mapping) else None
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        return dict(parser[section]) if parser.has_section(section) else None
    except (ValueError, configparser.Error, AttributeError, RecursionError):
        return None


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(one) for one in value)
    try:
        return tuple(shlex.split(str(value)))
    except ValueError:
        return tuple(str(value).split())
