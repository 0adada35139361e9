"""What a run consists of: which trials, where each one's files go, and what an agent is told."""

import difflib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.agents.base import Agent, Skill
from swetrials.agents.skill_file import artifacts_asked_in
from swetrials.errors import KnownError
from swetrials.records.checked import CheckState
from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Dataset, GroundTruth, Task, repository_name
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.limits import Limits
from swetrials.records.metrics import documents_in
from swetrials.records.sealing import NetworkAllowed
from swetrials.records.slug import model_slug
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import sha256_of
from swetrials.store.reading import read_bytes
from swetrials.store.results import Scope, TrialFolder


class PlanError(KnownError):
    """The configuration asks for something that is not there; the message says what, and what there is."""


@dataclass(frozen=True)
class Trial:
    """One task x repeat of a run, before it has run.

    ``checked`` tells how the controls of its task stand; ``None``: nobody looked, or it has no tests.
    """

    task: Task
    repeat: int
    scope: str
    folder: TrialFolder
    checked: CheckState | None = None

    @property
    def label(self) -> str:
        """The trial's folder name, which is how a person tells it from the others."""
        return self.folder.path.name


@dataclass(frozen=True)
class Plan:
    """Everything that is settled before anything runs. The trials are in the order in which they are to run."""

    config: RunnerConfig
    dataset: LoadedDataset
    agent: Agent
    skill: Skill
    limits: Limits
    trials: tuple[Trial, ...]

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Each task of the planned trials, once."""
        return tuple({trial.task.id: trial.task for trial in self.trials}.values())

    @property
    def networks(self) -> tuple[tuple[str, NetworkAllowed], ...]:
        """Each task by its id, with what it may reach."""
        return tuple((task.id, self.dataset.dataset.environment_of(task).network) for task in self.tasks)

    @property
    def environments(self) -> tuple[EnvironmentSpec, ...]:
        """What the planned trials run in, in their order."""
        return tuple(self.dataset.dataset.environment_of(trial.task) for trial in self.trials)

    @property
    def output(self) -> Path:
        """Root of the results tree."""
        return Path(self.config.output_dir)

    @property
    def scopes(self) -> tuple[Path, ...]:
        """The folders of the run; more than one when a dataset without ``output_scope`` spans repositories."""
        return tuple(dict.fromkeys(trial.folder.path.parent for trial in self.trials))


def plan_run(config: RunnerConfig, dataset: LoadedDataset, agent: Agent, skills: Path) -> Plan:
    """Work out a run's trials.

    Raises:
        PlanError: a task id or the skill is unknown.
    """
    skill = read_skill(skills, config.skill or default_skill(dataset.dataset))
    trials = tuple(_trial(config, dataset, agent, skill, task, repeat) for task, repeat in _in_order(config, dataset))
    limits = Limits.of(config, _settings_sha256(config))
    return Plan(config, dataset, agent, skill, limits, trials)


def default_skill(dataset: Dataset) -> str:
    """Return the skill of a run that names none: ``plain`` where tests alone decide, which ask for no documents."""
    by_tests_alone = all(task.verify is not None and task.ground_truth == GroundTruth() for task in dataset.tasks)
    return "plain" if by_tests_alone else "swe3"


def _in_order(config: RunnerConfig, dataset: LoadedDataset) -> list[tuple[Task, int]]:
    """Return tasks and repeats in their order.

    Who comes first fills the prompt cache for who comes next, so a fixed order makes some tasks dear and others
    cheap, and repeats in a row the dearest of all comparisons. A shuffle by seed is the same for every model.
    """
    tasks, repeats = chosen_tasks(config, dataset), range(1, config.repeats + 1)
    if config.order == "sequential":
        return [(task, repeat) for task in tasks for repeat in repeats]
    rounds = ((repeat, random.Random(f"{config.seed}/{repeat}")) for repeat in repeats)
    return [(task, repeat) for repeat, chance in rounds for task in chance.sample(tasks, len(tasks))]


def _settings_sha256(config: RunnerConfig) -> str | None:
    if config.settings_file is None:
        return None
    try:
        return sha256_of(read_bytes(Path(config.settings_file)))
    except OSError:
        return None  # the pre-flight says what is wrong with it


def _trial(config: RunnerConfig, dataset: LoadedDataset, agent: Agent, skill: Skill, task: Task, repeat: int) -> Trial:
    scope = dataset.dataset.scope_of(task)
    place = Scope.of(
        Path(config.output_dir),
        model_slug=model_slug(config.model),
        agent_folder=agent.folder,
        skill=skill.name,
        scope=scope,
    )
    return Trial(task, repeat, scope, place.trial(task.id, repeat))


def chosen_tasks(config: RunnerConfig, dataset: LoadedDataset) -> tuple[Task, ...]:
    """Return the tasks that a configuration asks for, in the dataset's order.

    Raises:
        PlanError: one of the ids is not in the dataset.
    """
    known = {task.id: task for task in dataset.dataset.tasks}
    for wanted in config.tasks:
        if wanted not in known:
            near = difflib.get_close_matches(wanted, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}"
            raise PlanError(f"tasks: {wanted!r} is not in {dataset.path}{hint}")
    tasks = [task for task in dataset.dataset.tasks if not config.tasks or task.id in config.tasks]
    return tuple(tasks[: config.count])


def read_skill(skills: Path, name: str) -> Skill:
    """Read a skill's instructions.

    Raises:
        PlanError: there is no such skill, or it asks for artifacts that there are not.
    """
    path = skills / name / "SKILL.md"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        known = ", ".join(sorted(p.parent.name for p in skills.glob("*/SKILL.md"))) or "none"
        raise PlanError(f"skill: {name!r} has no {path}; there are: {known}") from None
    try:
        return Skill(name, text, artifacts_asked_in(text))
    except ValueError as error:
        raise PlanError(f"skill: {path}: {error}") from None


def placeless_prompt(task: Task, artifacts: Sequence[str]) -> str:
    """Return what an agent is told of a task, with the places left open.

    Args:
        task: the task.
        artifacts: what its skill asks for.
    """
    return prompt_for(task, Path("checkout"), Path("artifacts") if documents_in(artifacts) else None)


def prompt_sha256(task: Task, artifacts: Sequence[str]) -> str:
    """Return the hash of :func:`placeless_prompt`."""
    return sha256_of(placeless_prompt(task, artifacts))


def prompt_for(task: Task, checkout: Path, artifacts: Path | None, only: tuple[str, ...] = ()) -> str:
    """Return what an agent is told of a task: names, places and the problem, never the ground truth.

    The repository is named, not located: its address could lead to the fix, or to the dataset.

    Args:
        task: the task.
        checkout: where the agent works.
        artifacts: where its documents go; ``None``: its skill asks for none.
        only: for a top-up, the files that are still missing.
    """
    lines = [
        f"task_id: {task.id}",
        f"repo: {repository_name(task.repo)}",
        f"ref: {task.ref}",
        f"complexity: {task.complexity}",
        f"checkout: {quoted(checkout)}",
    ]
    if artifacts is not None:
        lines.append(f"artifacts_dir: {quoted(artifacts)}")
    if only:
        lines.append(f"only: {', '.join(only)}")
    if task.problem_issue_url:
        lines.append(f"problem_issue_url: {task.problem_issue_url}")
    sections = ["\n".join(lines), f"problem_statement:\n{task.problem_statement.strip()}"]
    if task.clarifying_answers.strip():
        sections.append(f"clarifying_answers:\n{task.clarifying_answers.strip()}")
    return "\n\n".join(sections)


def quoted(path: Path) -> str:
    """Return a path as one word: whoever reads the prompt must not take a path with a space for its first half."""
    text = str(path)
    if re.fullmatch(r"[\w/.+@=-]+", text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'
