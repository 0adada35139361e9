"""The tests judge, on real repositories with real commands."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from environments.strongest import strongest
from judging.submissions import TASK, submission
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.dataset import Verify
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.store.project import Project
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root

SECRET = "sk-secret-123"
CALC = "def add(first, second):\n    return first - second\n"
CHECK = "from calc import add\n\nassert add(2, 2) == 4, add(2, 2)\n"
FIX = b"""\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(first, second):
-    return first - second
+    return first + second
"""
LINK_OUT = """\
diff --git a/tests b/tests
new file mode 120000
--- /dev/null
+++ b/tests
@@ -0,0 +1 @@
+{target}
\\ No newline at end of file
"""
RUN_CHECK = ["python3", "check.py"]


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "calc.py").write_text(CALC)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        git(folder, *command)
    return folder


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    file = tmp_path / "dataset" / "check.py"
    file.parent.mkdir()
    file.write_text(CHECK)
    return file


@pytest.fixture
def place(tmp_path: Path) -> WorkContext:
    return WorkContext(
        Repositories(tmp_path / "mirrors"), private_root(tmp_path / "work"), strongest(), Redactor([SECRET])
    )


def trial(source: Path, verify: dict[str, Any], **changes: object) -> Submission:
    task = TASK.model_copy(update={"verify": Verify.model_validate(verify)})
    commit = git(source, "rev-parse", "HEAD")
    return submission(
        **{"task": task, "repo": str(source), "commit": commit, "hidden_files": {}, "patch": None, **changes}
    )


def verdict_on(place: WorkContext, submitted: Submission) -> TestsEvaluation:
    evaluation = anyio.run(TestsJudge().score, submitted, place, place.work_root / "unused.jsonl")
    assert not [path for path in place.work_root.rglob("*") if path.is_file()]
    return evaluation


@pytest.mark.parametrize(("patch", "passed", "applied"), [(FIX, True, True), (b"", False, None), (None, False, None)])
def test_hidden_tests_fail_on_the_untouched_checkout_and_pass_on_the_patch(
    place: WorkContext, source: Path, hidden: Path, patch: bytes | None, passed: bool, applied: bool | None
) -> None:
    submitted = trial(source, {"commands": [RUN_CHECK]}, patch=patch, hidden_files={"check.py": hidden})
    evaluation = verdict_on(place, submitted)
    assert (evaluation.status, evaluation.passed, evaluation.patch_applied) == ("scored", passed, applied)
    assert evaluation.fraction == float(passed)
    (result,) = evaluation.results
    assert (result.argv, result.stage, result.passed) == (tuple(RUN_CHECK), "verify", passed)
    assert result.duration_seconds > 0
    assert ("AssertionError: 0" in result.output_tail) is not passed


def test_every_command_runs_and_the_fraction_counts_them(place: WorkContext, source: Path) -> None:
    commands = [["true"], ["sh", "-c", "echo no >&2; exit 3"], ["false"], ["test", "-f", "calc.py"]]
    evaluation = verdict_on(place, trial(source, {"commands": commands}, patch=FIX))
    assert (evaluation.passed, evaluation.fraction) == (False, 0.5)
    assert [result.passed for result in evaluation.results] == [True, False, False, True]
    assert (evaluation.results[1].exit_code, evaluation.results[1].output_tail) == (3, "no\n")
    assert "`sh -c echo no >&2; exit 3` ended with exit code 3" in evaluation.reason


def test_a_patch_that_does_not_apply_fails(place: WorkContext, source: Path) -> None:
    evaluation = verdict_on(
        place, trial(source, {"commands": [["true"]]}, patch=FIX.replace(b"first - second", b"nothing"))
    )
    assert (evaluation.status, evaluation.passed, evaluation.fraction) == ("scored", False, 0.0)
    assert evaluation.patch_applied is False
    assert evaluation.reason
    assert evaluation.results == ()


def test_a_failing_setup_says_nothing_about_the_patch(place: WorkContext, source: Path) -> None:
    verify = {"setup": [["true"], ["false"], ["true"]], "commands": [["true"]]}
    evaluation = verdict_on(place, trial(source, verify, patch=FIX))
    assert (evaluation.status, evaluation.passed, evaluation.fraction) == ("unscored", None, None)
    why = "it is the same without the change: setup failed: `false` ended with exit code 1"
    assert evaluation.reason.startswith(why)
    assert evaluation.void_reason == evaluation.reason
    assert ("it has no network: what it installs belongs in" in evaluation.reason) == place.environment.seals
    assert [result.stage for result in evaluation.results] == ["setup", "setup"]


def test_a_setup_that_fails_with_the_patch_alone_is_the_patchs_doing(place: WorkContext, source: Path) -> None:
    verify = {"setup": [["grep", "-q", "first - second", "calc.py"]], "commands": [["true"]]}
    evaluation = verdict_on(place, trial(source, verify, patch=FIX))
    assert (evaluation.status, evaluation.resolved, evaluation.void_reason) == ("scored", False, "")
    assert [(one.kind, "setup failed" in one.told) for one in evaluation.findings] == [("report", True)]
    solved = verdict_on(place, trial(source, verify, patch=FIX, solution=FIX))
    assert (solved.status, solved.resolved) == ("unscored", None)
    assert solved.void_reason.startswith("the solution is not resolved here either: setup failed: `grep")


def test_setup_and_commands_share_the_checkout_and_a_private_home(place: WorkContext, source: Path) -> None:
    verify = {
        "setup": [["sh", "-c", 'echo built > built && echo kept > "$HOME/kept" && echo t > "$TMPDIR/t"']],
        "commands": [["sh", "-c", 'test -s built && test -s "$HOME/kept" && test -s "$TMPDIR/t"']],
    }
    evaluation = verdict_on(place, trial(source, verify))
    assert evaluation.passed, evaluation


def test_a_command_is_stopped_at_its_limit_with_its_children(place: WorkContext, source: Path) -> None:
    verify = {"commands": [["sh", "-c", "echo started; sleep 60 & wait"], ["true"]], "timeout_seconds": 1}
    evaluation = verdict_on(place, trial(source, verify))
    stopped, after = evaluation.results
    assert stopped.exit_code is None
    assert stopped.output_tail == "started\n"
    assert 0.9 < stopped.duration_seconds < 20
    assert after.passed
    assert "was stopped at its limit" in evaluation.reason


def test_output_is_cut_to_its_end_and_redacted(place: WorkContext, source: Path) -> None:
    script = f"print('x' * 10000); print('the end', '{SECRET}')"
    evaluation = verdict_on(place, trial(source, {"commands": [["python3", "-c", script]]}))
    tail = evaluation.results[0].output_tail
    assert tail.endswith("the end [redacted]\n")
    assert len(tail) <= 4096


def test_the_environment_is_not_the_harnesss(place: WorkContext, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abc-secret-of-the-harness")
    evaluation = verdict_on(place, trial(source, {"commands": [["env"]]}))
    assert "HOME=" in evaluation.results[0].output_tail
    assert "abc-secret-of-the-harness" not in evaluation.results[0].output_tail
    assert f"HOME={Path.home()}\n" not in evaluation.results[0].output_tail


def test_hidden_files_do_not_follow_a_link_that_the_patch_made(
    place: WorkContext, source: Path, hidden: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    patch = LINK_OUT.format(target=outside).encode()
    submitted = trial(source, {"commands": [["true"]]}, patch=patch, hidden_files={"tests/check.py": hidden})
    evaluation = verdict_on(place, submitted)
    assert (evaluation.status, evaluation.passed, evaluation.fraction) == ("scored", False, 0.0)
    assert "leads out of the checkout" in evaluation.reason
    assert list(outside.iterdir()) == []


def test_a_lost_commit_or_hidden_file_leaves_the_trial_unscored(
    place: WorkContext, source: Path, tmp_path: Path
) -> None:
    verify = {"commands": [["true"]]}
    lost = verdict_on(place, trial(source, verify, commit="1" * 40))
    assert (lost.status, lost.passed) == ("unscored", None)
    absent = verdict_on(place, trial(source, verify, hidden_files={"check.py": tmp_path / "absent.py"}))
    assert absent.status == "unscored"
    assert "absent.py" in absent.reason


def test_an_infrastructure_failure_and_a_task_without_commands_are_unscored(place: WorkContext, source: Path) -> None:
    limited = trial(source, {"commands": [["true"]]}, outcome=Outcome.of(OutcomeKind.RATE_LIMITED))
    assert "rate_limited" in verdict_on(place, limited).reason
    assert verdict_on(place, submission()).reason == "the task has no verify commands"


NEW_MANIFEST = b"""\
diff --git a/requirements.txt b/requirements.txt
new file mode 100644
--- /dev/null
+++ b/requirements.txt
@@ -0,0 +1 @@
+broken
"""


def prepared(place: WorkContext, tmp_path: Path) -> WorkContext:
    return replace(place, project=Project(tmp_path / "project", brought_along=tmp_path / "none"))


def asking(source: Path, commands: list[list[str]], patch: bytes | None = None, **spec: object) -> Submission:
    return trial(source, {"commands": commands}, patch=patch, environment=EnvironmentSpec.model_validate(spec))


def test_a_setup_that_the_patch_breaks_fails_and_what_the_machine_lacks_is_unscored(
    place: WorkContext, source: Path, tmp_path: Path
) -> None:
    bench, passing = prepared(place, tmp_path), [["true"]]
    setup = [["sh", "-c", "! test -e requirements.txt"]]
    broken = verdict_on(bench, asking(source, passing, NEW_MANIFEST, setup=setup))
    assert (broken.status, broken.passed, broken.patch_applied) == ("scored", False, True)
    assert "what the patch makes of the environment cannot be prepared" in broken.reason
    assert verdict_on(bench, asking(source, passing, FIX, setup=setup)).passed
    for lacking in ({"setup_secrets": ["NOBODY_HAS_SET_THIS"]}, {"node": "1"}):
        unscored = verdict_on(bench, asking(source, passing, NEW_MANIFEST, setup=setup, **lacking))
        assert (unscored.status, unscored.passed) == ("unscored", None)
        assert "the environment cannot be prepared" in unscored.reason


def test_a_link_that_one_command_leaves_does_not_lead_the_start_of_the_next_one_out_of_the_checkout(
    place: WorkContext, source: Path, tmp_path: Path
) -> None:
    bench, victim = prepared(place, tmp_path), tmp_path / "victim"
    if not bench.environment.seals:
        pytest.skip("nothing is laid over a checkout without a sandbox")
    victim.mkdir()
    (source / "src").mkdir()
    (source / "src" / "a").touch()
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "second")
    moved = ["sh", "-c", f"mv src away && ln -s /oldroot{victim} src"]
    evaluation = verdict_on(bench, asking(source, [moved, ["true"]], setup=[["mkdir", "src/made"]]))
    assert [result.passed for result in evaluation.results] == [True, False]
    assert "in the place of src/made, which was prepared" in evaluation.results[1].output_tail
    assert list(victim.iterdir()) == []
