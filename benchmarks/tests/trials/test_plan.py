"""What a run consists of, and what an agent is told."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Task
from swetrials.records.metrics import EXPECTED_ARTIFACTS
from swetrials.store.documents import LoadedDataset, load_dataset
from swetrials.store.project import find_project
from swetrials.trials.plan import Plan, PlanError, plan_run, prompt_for, read_skill
from trials.stand_in import StandIn


def dataset_at(folder: Path, **header: object) -> LoadedDataset:
    tasks = [
        {"id": f"task-{n}", "repo": f"https://git.example/{repo}.git", "ref": "v1", "complexity": "low",
         "problem_statement": "Do it."}
        for n, repo in enumerate(("alpha", "alpha", "beta"), 1)
    ]  # fmt: skip
    file = folder / "dataset.yaml"
    file.write_bytes(orjson.dumps({"schema_version": "1.0", "name": "three", "tasks": tasks, **header}))
    return load_dataset(file)


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    for name in ("swe2", "swe3"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"I am {name}.\n")
    return tmp_path / "skills"


def plan(skills: Path, header: dict[str, object] | None = None, **config: Any) -> Plan:  # noqa: ANN401
    base = {"output_dir": "out", "model": "us.anthropic.some-model", "order": "sequential"}
    settings = RunnerConfig.model_validate({**base, **config})
    return plan_run(settings, dataset_at(skills.parent, **(header or {})), StandIn({}), skills)


def labels(planned: Plan) -> list[str]:
    return [trial.label for trial in planned.trials]


def test_every_task_once_in_the_datasets_order(skills: Path) -> None:
    planned = plan(skills)
    assert labels(planned) == ["task-1", "task-2", "task-3"]
    assert planned.skill.text == "I am swe3.\n"
    run = Path("out/some-model/stand-in/swe3")
    assert planned.scopes == (run / "alpha", run / "beta")


def test_a_datasets_own_scope_holds_all_its_tasks(skills: Path) -> None:
    planned = plan(skills, {"output_scope": "mine"}, skill="swe2")
    assert planned.scopes == (Path("out/some-model/stand-in/swe2/mine"),)
    assert {trial.scope for trial in planned.trials} == {"mine"}


def test_repeats_lie_beside_each_other_and_come_task_by_task(skills: Path) -> None:
    planned = plan(skills, {"output_scope": "mine"}, repeats=2, tasks=["task-3", "task-1"])
    assert labels(planned) == ["task-1", "task-1--r2", "task-3", "task-3--r2"]
    assert [trial.repeat for trial in planned.trials] == [1, 2, 1, 2]
    assert len({trial.folder.path.parent for trial in planned.trials}) == 1


def test_interleaved_every_round_has_every_task_in_an_order_of_its_own(skills: Path) -> None:
    planned = plan(skills, repeats=20, order="interleaved", seed=7)
    rounds = [planned.trials[start : start + 3] for start in range(0, 60, 3)]
    assert [{trial.repeat for trial in trials} for trials in rounds] == [{repeat} for repeat in range(1, 21)]
    orders = {tuple(trial.task.id for trial in trials) for trials in rounds}
    assert {frozenset(order) for order in orders} == {frozenset({"task-1", "task-2", "task-3"})}
    assert len(orders) > 3
    again = plan(skills, repeats=20, order="interleaved", seed=7, model="another-model")
    assert labels(again) == labels(planned)
    assert labels(plan(skills, repeats=20, order="interleaved", seed=8)) != labels(planned)


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"count": 2}, ["task-1", "task-2"]),
        ({"count": 9}, ["task-1", "task-2", "task-3"]),
        ({"tasks": ["task-3", "task-2"], "count": 1}, ["task-2"]),
        ({"tasks": ["task-2", "task-2"]}, ["task-2"]),
    ],
)
def test_choosing(skills: Path, config: dict[str, Any], wanted: list[str]) -> None:
    assert labels(plan(skills, **config)) == wanted


def test_an_unknown_task_is_named_with_the_nearest(skills: Path) -> None:
    with pytest.raises(PlanError, match=r"'taks-2' is not in .*dataset.yaml; did you mean 'task-2'\?"):
        plan(skills, tasks=["task-1", "taks-2"])
    with pytest.raises(PlanError, match="there are: task-1, task-2, task-3"):
        plan(skills, tasks=["zzz"])


def test_an_unknown_skill_is_named_with_those_there_are(skills: Path) -> None:
    with pytest.raises(PlanError, match=r"'swe9' .* there are: swe2, swe3"):
        plan(skills, skill="swe9")


VERIFIED = {"verify": {"commands": ["make test"]}}


@pytest.mark.parametrize(
    ("tasks", "skill"),
    [
        ([VERIFIED, VERIFIED], "plain"),
        ([VERIFIED, {}], "swe3"),
        ([VERIFIED, {**VERIFIED, "ground_truth": {"approach": "So."}}], "swe3"),
        ([{}], "swe3"),
    ],
    ids=["by tests alone", "one without tests", "one with a ground truth", "none with tests"],
)
def test_no_documents_are_asked_for_by_default_where_tests_alone_decide(
    tmp_path: Path, tasks: list[dict[str, object]], skill: str
) -> None:
    skills = find_project().skills
    common = {"repo": "alpha", "ref": "v1", "complexity": "low", "problem_statement": "Do it."}
    header = {"tasks": [{"id": f"task-{n}", **common, **task} for n, task in enumerate(tasks)]}
    planned = plan_run(RunnerConfig(), dataset_at(tmp_path, **header), StandIn({}), skills)
    assert planned.skill.name == skill
    assert {path.parent.name for path in planned.scopes} == {skill}
    assert planned.skill.artifacts == (("patch.diff",) if skill == "plain" else EXPECTED_ARTIFACTS)
    named = plan_run(RunnerConfig(skill="swe2"), dataset_at(tmp_path, **header), StandIn({}), skills)
    assert named.skill.name == "swe2"


@pytest.mark.parametrize(
    ("front", "artifacts"),
    [
        ("metadata:\n  artifacts: patch.diff\n", ("patch.diff",)),
        (
            "metadata:\n  artifacts: implementation.md, 'lld.md' patch.diff\n",
            ("lld.md", "patch.diff", "implementation.md"),
        ),
        ("metadata:\n  artifacts: [patch.diff]\n", ("patch.diff",)),
        ("description: artifacts: patch.diff\n", EXPECTED_ARTIFACTS),
    ],
)
def test_a_skill_says_which_artifacts_it_asks_for(skills: Path, front: str, artifacts: tuple[str, ...]) -> None:
    (skills / "swe3" / "SKILL.md").write_text(f"---\nname: swe3\n{front}---\n\n  artifacts: none.md\n")
    assert read_skill(skills, "swe3").artifacts == artifacts


@pytest.mark.parametrize(
    ("line", "said"), [("design.md, patch.diff", "artifacts: 'design.md' is none"), ("", "artifacts: names none")]
)
def test_a_skill_that_asks_for_what_no_trial_leaves_is_refused(skills: Path, line: str, said: str) -> None:
    (skills / "swe3" / "SKILL.md").write_text(f"---\nmetadata:\n  artifacts: {line}\n---\nDo it.\n")
    with pytest.raises(PlanError, match=rf"swe3/SKILL\.md: {said}.*; there are: github-issue\.md, lld\.md"):
        plan(skills)


_words = st.text(st.characters(categories=["L", "N"]), min_size=12, max_size=30)


@given(approach=_words, expectation=_words, hidden=_words, command=_words)
def test_the_prompt_holds_nothing_that_gives_the_answer_away(
    approach: str, expectation: str, hidden: str, command: str
) -> None:
    task = Task.model_validate(
        {
            "id": "task-1", "repo": "https://git.example/owner-of-it/thing.git", "ref": "v1", "complexity": "low",
            "problem_statement": "Make it so.", "clarifying_answers": "Yes.",
            "ground_truth": {"approach": approach, "expectations": [expectation], "reference_url": "https://x.example/pr/9"},
            "verify": {"commands": [["run", command]], "hidden_files": {f"tests/{hidden}": f"answers/{hidden}.py"}},
        }
    )  # fmt: skip
    for only in ((), ("patch.diff",)):
        prompt = prompt_for(task, Path("/w/checkout"), Path("/w/artifacts"), only)
        for secret in (approach, expectation, hidden, command, "x.example", "git.example", "owner-of-it", "answers/"):
            assert secret not in prompt
        for told in ("task_id: task-1", "repo: thing", "Make it so.", "Yes.", "/w/checkout", "/w/artifacts"):
            assert told in prompt
        assert ("only: patch.diff" in prompt) == bool(only)


def test_a_local_repository_is_named_and_not_located(skills: Path) -> None:
    task = dataset_at(skills.parent).dataset.tasks[0].model_copy(update={"repo": "../private/bundles/thing.bundle"})
    prompt = prompt_for(task, Path("/w/c"), Path("/w/a"))
    assert "repo: thing\n" in prompt
    assert "private" not in prompt
    assert str(skills.parent) not in prompt


def test_where_no_documents_are_asked_for_the_prompt_tells_of_no_place_for_them(skills: Path) -> None:
    task = dataset_at(skills.parent).dataset.tasks[0]
    with_documents = prompt_for(task, Path("/w/c"), Path("/w/a"))
    assert prompt_for(task, Path("/w/c"), None) == with_documents.replace("artifacts_dir: /w/a\n", "")
