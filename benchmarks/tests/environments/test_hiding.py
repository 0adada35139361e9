"""Which sandbox root has on a machine whose search path leads through folders of its own."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from swetrials.environments import environment_for
from swetrials.environments.bubblewrap import Bubblewrap, confined, probe
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.preparation_store import PREPARATIONS
from swetrials.store.project import Project, find_project

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not isinstance(found := probe(), Bubblewrap) or found.setpriv is None,
    reason="only root has folders to itself and root to give up, and only where bubblewrap and setpriv work",
)


@pytest.fixture
def own() -> Iterator[Path]:
    """A folder that root alone may go through, with two for programs, one of which is root's alone as well."""
    with tempfile.TemporaryDirectory(dir="/srv") as name:
        folder = Path(name)
        for path, mode in ((folder / "bin", 0o755), (folder / "sbin", 0o700)):
            path.mkdir(mode=mode)
            (path / f"tool-of-{path.name}").write_text("#!/bin/sh\necho works\n")
            (path / f"tool-of-{path.name}").chmod(0o755)
        (folder / "secret").write_text("the secret\n")
        (folder / "secret").chmod(0o644)
        yield folder


def test_root_is_given_up_and_the_tools_that_are_for_all_are_reached(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not own.stat().st_mode & 0o077
    monkeypatch.setenv("PATH", f"{own}/bin:{own}/sbin:/usr/bin:/bin")
    sandbox = environment_for("bubblewrap", find_project())
    assert isinstance(sandbox, BubblewrapEnvironment) and not sandbox.as_root
    script = f"id -u; {own}/bin/tool-of-bin; {own}/sbin/tool-of-sbin; cat {own}/secret; ls {own}"
    argv = confined(
        ["sh", "-c", script], bwrap=sandbox.bwrap, writable=[], hidden=sandbox.hidden, readable=sandbox.readable
    )
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["65534", "works", "bin"]


def test_the_host_says_that_the_agent_is_root() -> None:
    assert environment_for("host", find_project()).as_root


def test_what_was_prepared_is_the_harness_s_alone_and_keeps_no_rights_of_root(tmp_path: Path) -> None:
    tools = tmp_path / "project" / ".tools"
    (tools / "some-agent").mkdir(parents=True)
    (tools / PREPARATIONS).mkdir(mode=0o700)
    environment = environment_for("bubblewrap", Project(tmp_path / "project"))
    assert not environment.as_root
