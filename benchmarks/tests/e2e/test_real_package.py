"""Code that nobody here wrote: two releases of a package, the newer one's tests as the hidden ones.

The older release is the repository, the scripted model makes the change that its maintainers made, and the tests
judge has to tell the two apart.
"""

import json
import pathlib
from dataclasses import replace

import anyio
import pytest

from e2e.harness import Workplace, needs_agent
from e2e.releases import source_of
from environments.strongest import strongest
from swetrials.environments.work_context import WorkContext
from swetrials.judging.late import submission_for
from swetrials.judging.tests import TestsJudge
from swetrials.records.outcome import OutcomeKind
from swetrials.store.documents import load_dataset
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from workspace.sources import commit_all, git, new_repository

pytestmark = [pytest.mark.slow, needs_agent("claude")]

PACKAGE, OLDER, NEWER = "xmltodict", "0.13.0", "0.14.2"
MODULE = "xmltodict.py"


def lay_out(place: Workplace, older: pathlib.Path, newer: pathlib.Path) -> pathlib.Path:
    """Make the repository, the dataset with its hidden tests, and the scenario; return the dataset's file."""
    repository = new_repository(place.root / "upstream")
    (repository / MODULE).write_bytes((older / MODULE).read_bytes())
    (repository / "README.md").write_bytes((older / "README.md").read_bytes())
    commit_all(repository, f"{PACKAGE} {OLDER}")
    git(repository, "tag", OLDER)

    folder = place.root / "dataset"
    (folder / "tests").mkdir(parents=True)
    for test in (newer / "tests").glob("*.py"):
        (folder / "tests" / test.name).write_bytes(test.read_bytes())
    # JSON is YAML, and quotes a whole module without a thought to indentation.
    task = {
        "id": "next-release", "repo": str(repository), "ref": OLDER, "complexity": "medium",
        "problem_statement": "What a postprocessor drops is dropped with its attributes; comments can be kept.",
        "verify": {
            "commands": [["python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."]],
            "hidden_files": {"tests": "tests"},
        },
    }  # fmt: skip
    dataset = {"schema_version": "1.0", "name": "real-package", "output_scope": "quickstart", "tasks": [task]}
    (folder / "data.yaml").write_text(json.dumps(dataset))
    # Claude Code's Write refuses a file that it has not read, so the new text comes beside it first.
    steps: list[dict[str, object]] = [
        {"write": {"path": "new_module.py", "content": (newer / MODULE).read_text()}},
        {"shell": f"mv new_module.py {MODULE}"},
        {"say": "The module does what the next release does."},
    ]
    scenario = {"schema_version": "1.0", "name": "real-package", "scripts": [{"when": "next-release", "steps": steps}]}
    (folder / "scenario.yaml").write_text(json.dumps(scenario))
    return folder / "data.yaml"


def test_the_maintainers_own_tests_fail_before_and_pass_after(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path, skill="plain")
    older, newer = (source_of(PACKAGE, version, tmp_path / version) for version in (OLDER, NEWER))
    file = lay_out(place, older, newer)

    done = place.run(
        "e2e", "--dataset", file, "--scenario", file.with_name("scenario.yaml"), "--judge", "tests", "--yes"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    metrics = place.records()["next-release"]
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome.detail
    assert metrics.evaluation is not None
    after = metrics.evaluation.tests
    assert after is not None and after.passed, after
    assert "OK" in after.results[0].output_tail

    untouched = submission_for(place.trial("next-release"), metrics, load_dataset(file), None)
    bench = WorkContext(Repositories(place.work / "mirrors"), place.work, strongest(), Redactor())
    before = anyio.run(TestsJudge().score, replace(untouched, patch=None), bench, tmp_path / "unused.jsonl")
    assert (before.status, before.passed, before.fraction) == ("scored", False, 0.0)
    assert "FAILED" in before.results[0].output_tail

    work_tree = tmp_path / "fresh"
    assert metrics.provenance.commit is not None
    bench.repositories.resolve(str(place.root / "upstream"), OLDER)
    bench.repositories.check_out(str(place.root / "upstream"), metrics.provenance.commit, work_tree)
    git(work_tree, "apply", str(place.trial("next-release").path / "patch.diff"))
    assert (work_tree / MODULE).read_bytes() == (newer / MODULE).read_bytes()
