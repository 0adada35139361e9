"""The datasets that are shipped: bundles match sources, tasks can be solved, and the scenarios do what they promise."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swetrials.records.dataset import Task
from swetrials.records.metrics import DESIGN_DOCUMENTS
from swetrials.rehearsal.scenario import Action, Scenario
from swetrials.store.documents import load_dataset, load_document

FOLDER = Path(__file__).parents[2] / "dataset"
QUICKSTART = load_dataset(FOLDER / "quickstart.yaml")
TASKS = {task.id: task for task in QUICKSTART.dataset.tasks}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return done.stdout


def passes(checkout: Path, argv: tuple[str, ...] | str) -> bool:
    words = shlex.split(argv) if isinstance(argv, str) else list(argv)
    return (
        subprocess.run(words, cwd=checkout, capture_output=True, stdin=subprocess.DEVNULL, timeout=60).returncode == 0
    )


def clone(task: Task, folder: Path, ref: str) -> Path:
    checkout = folder / "checkout"
    git(folder, "clone", "--quiet", QUICKSTART.repo_address(task), str(checkout))
    git(checkout, "checkout", "--quiet", "--detach", ref)
    return checkout


def verify(task: Task, checkout: Path) -> list[bool]:
    """Add the hidden tests and return whether each command passes."""
    assert task.verify is not None
    for target, source in QUICKSTART.hidden_files(task).items():
        shutil.copy(source, checkout / target)
    return [passes(checkout, command) for command in task.verify.commands]


def test_the_bundles_are_what_their_sources_give(tmp_path: Path) -> None:
    builder = FOLDER / "quickstart" / "build_bundles.py"
    subprocess.run([sys.executable, str(builder), str(tmp_path)], check=True, capture_output=True)
    shipped = sorted((FOLDER / "quickstart").glob("*.bundle"))
    assert [bundle.name for bundle in shipped] == sorted(bundle.name for bundle in tmp_path.glob("*.bundle"))
    for bundle in shipped:
        rebuilt = tmp_path / bundle.name
        assert git(tmp_path, "bundle", "list-heads", str(bundle)) == git(tmp_path, "bundle", "list-heads", str(rebuilt))


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_hidden_tests_fail_at_the_release_and_pass_with_the_later_fix(task: Task, tmp_path: Path) -> None:
    for name, ref in (("before", task.ref), ("after", "origin/main")):
        (tmp_path / name).mkdir()
        results = verify(task, clone(task, tmp_path / name, ref))
        assert results == [True, name == "after"]


# A scenario, played without an agent


def play(scenario: Scenario, when: str, checkout: Path, artifacts: Path) -> list[str]:
    """Carry out a script in a checkout and return what its shell commands printed."""
    script = next(script for script in scenario.scripts if script.when == when)
    actions = (action for step in script.steps for action in step.actions)
    return [said for action in actions if (said := _carry_out(action, checkout, artifacts))]


def _carry_out(action: Action, checkout: Path, artifacts: Path) -> str:
    def place(path: str) -> Path:
        return checkout / path.replace("${artifacts_dir}", str(artifacts))

    if action.write is not None:
        place(action.write.path).write_text(action.write.content, encoding="utf-8")
    if action.edit is not None:
        text = place(action.edit.path).read_text(encoding="utf-8")
        assert text.count(action.edit.old) == 1, f"{action.edit.path} holds {action.edit.old!r} not once"
        place(action.edit.path).write_text(text.replace(action.edit.old, action.edit.new), encoding="utf-8")
    if action.shell is None:
        return ""
    done = subprocess.run(
        ["bash", "-c", action.shell], cwd=checkout, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )
    return f"exit {done.returncode}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("task_id", "results", "missing", "tests"),
    [
        ("word-tally", [True, True], set(), 12),
        ("slugify-unicode", [True, False], set(), 7),
        ("temperature-table", [True, True], {"review.md", "testing.md"}, 5),
    ],
)
def test_the_scripted_model_solves_what_it_should(
    task_id: str, results: list[bool], missing: set[str], tests: int, tmp_path: Path
) -> None:
    scenario = load_document(FOLDER / "quickstart" / "scenario.yaml", Scenario)
    checkout = clone(TASKS[task_id], tmp_path, TASKS[task_id].ref)
    printed = play(scenario, f"task_id: {task_id}", checkout, tmp_path)
    written = {path.name for path in tmp_path.glob("*.md")}
    assert written == {*DESIGN_DOCUMENTS, "implementation.md"} - missing
    assert f"Ran {tests} tests" in printed[-1]
    assert f"{tests} tests, all passed" in (tmp_path / "implementation.md").read_text(encoding="utf-8")
    assert printed[-1].startswith("exit 0\n")
    assert verify(TASKS[task_id], checkout) == results


@pytest.mark.parametrize("task_id", TASKS)
def test_the_scripted_judge_reads_files_that_are_there(task_id: str, tmp_path: Path) -> None:
    scenario = load_document(FOLDER / "quickstart" / "scenario.yaml", Scenario)
    printed = play(
        scenario, f"task_under_review: {task_id}", clone(TASKS[task_id], tmp_path, TASKS[task_id].ref), tmp_path
    )
    assert len(printed) == 2
    assert all(said.startswith("exit 0\n") for said in printed)


def hello_world(folder: Path) -> Path:
    """Return a folder as the commit of the task has it."""
    checkout = folder / "checkout"
    checkout.mkdir()
    git(checkout, "init", "--quiet")
    (checkout / "README").write_text("Hello World!\n", encoding="utf-8")
    return checkout


HELLO_WORLD = load_dataset(FOLDER / "hello-world.yaml")


def test_hello_world_is_solved(tmp_path: Path) -> None:
    (task,), checkout = HELLO_WORLD.dataset.tasks, hello_world(tmp_path)
    assert task.verify is not None
    (script,), (command,) = HELLO_WORLD.hidden_files(task).values(), task.verify.commands
    shutil.copy(script, checkout)
    assert not passes(checkout, command)
    scenario = load_document(FOLDER / "hello-world" / "scenario.yaml", Scenario)
    play(scenario, f"task_id: {task.id}", checkout, tmp_path)
    assert {path.name for path in tmp_path.glob("*.md")} == {*DESIGN_DOCUMENTS, "implementation.md"}
    assert passes(checkout, command)


def test_hello_worlds_solution_is_one(tmp_path: Path) -> None:
    (task,), checkout = HELLO_WORLD.dataset.tasks, hello_world(tmp_path)
    solution = HELLO_WORLD.solution(task)
    assert solution is not None and task.verify is not None
    git(checkout, "apply", str(solution))
    (script,) = HELLO_WORLD.hidden_files(task).values()
    shutil.copy(script, checkout)
    assert passes(checkout, task.verify.commands[0])


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_solution_passes_the_hidden_tests_and_its_own(task: Task, tmp_path: Path) -> None:
    checkout, solution = clone(task, tmp_path, task.ref), QUICKSTART.solution(task)
    assert solution is not None
    git(checkout, "apply", "--whitespace=error", str(solution))
    assert passes(checkout, "python3 -m unittest")
    assert verify(task, checkout) == [True, True]
