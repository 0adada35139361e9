"""Interpreters are found where a person has them, and never downloaded."""

import os
import sys
from pathlib import Path

import pytest

from swetrials.environments.toolchain import ToolMissingError, find_tools
from swetrials.records.environment import EnvironmentSpec
from swetrials.store.project import find_project

OURS = ".".join(map(str, sys.version_info[:2]))


def test_pyenvs_interpreters_are_found_behind_its_launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = tmp_path / "pyenv" / "versions" / OURS
    shims = tmp_path / "pyenv" / "shims"
    for folder in (version / "bin", shims):
        folder.mkdir(parents=True)
    (version / "bin" / "python3").symlink_to(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    (version / "bin" / f"python{OURS}").symlink_to("python3")
    for name in ("python3", f"python{OURS}"):
        (shims / name).write_text("#!/bin/sh\necho 'command not found; it exists in these versions' >&2; exit 127\n")
        (shims / name).chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("PATH", f"{shims}:/usr/bin:/bin")
    found = find_tools(EnvironmentSpec(python=OURS), find_project())
    assert found.python is not None and os.access(found.python, os.X_OK)
    assert found.versions["python"].startswith(f"{OURS}.")
    assert found.shown == (Path(sys.base_prefix).resolve(),)


def test_a_version_that_is_not_there_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    with pytest.raises(
        ToolMissingError, match=r"^this machine has no Python 3\.77; install it: uv python install 3\.77$"
    ):
        find_tools(EnvironmentSpec(python="3.77"), find_project())


@pytest.mark.parametrize("wanted", ["3", "3.1.4"])
def test_another_node_than_the_one_that_is_asked_for(wanted: str) -> None:
    with pytest.raises(ToolMissingError, match=f"put Node {wanted} first on PATH"):
        find_tools(EnvironmentSpec(node=wanted), find_project())


def test_tools_that_setup_does_not_use_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert find_tools(EnvironmentSpec(setup=(("make", "deps"),)), find_project()).versions == {}
