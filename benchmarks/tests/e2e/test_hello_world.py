"""The smallest public repository, end to end, with its address answered by a bundle instead of the network."""

import pathlib

import pytest

from e2e.harness import BENCHMARKS, Workplace, needs_agent
from swetrials.records.outcome import OutcomeKind

pytestmark = [pytest.mark.slow, needs_agent("claude")]

ADDRESS = "https://github.com/octocat/Hello-World.git"
COMMIT = "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d"
BUNDLE = BENCHMARKS / "tests" / "fixtures" / "hello-world.bundle"


def test_hello_world(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    place.home.mkdir()
    (place.home / ".gitconfig").write_text(f'[url "{BUNDLE}"]\n\tinsteadOf = {ADDRESS}\n')

    done = place.run("e2e", "--dataset", BENCHMARKS / "dataset" / "hello-world.yaml", "--yes")

    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = place.records().values()
    assert record.outcome.kind is OutcomeKind.COMPLETED, record.outcome.detail
    assert (record.repo, record.ref, record.provenance.commit) == (ADDRESS, COMMIT, COMMIT)
    assert record.evaluation is not None and record.evaluation.tests is not None
    assert record.evaluation.tests.passed, record.evaluation.tests.results
    folder = place.results / "rehearsal" / "claude-code" / "swe3" / "hello-world" / "readme-heading"
    assert "+# Hello World!" in (folder / "patch.diff").read_text()
