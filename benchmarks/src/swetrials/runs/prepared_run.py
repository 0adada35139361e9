"""Everything a run needs that can be settled before anything is started or spent."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from swetrials.agents import AGENTS
from swetrials.agents.base import Agent
from swetrials.agents.install import find
from swetrials.environments.local_context import local_context
from swetrials.environments.work_context import WorkContext
from swetrials.errors import UsageError
from swetrials.hosting import PROVIDERS
from swetrials.hosting.base import Hosting, Provider
from swetrials.pricing.book import PriceBook
from swetrials.pricing.repricing import default_book
from swetrials.records.config import RunnerConfig
from swetrials.runs.defaults import check_dataset_named, check_model_named, with_quickstart
from swetrials.store.documents import load_dataset
from swetrials.store.project import Project, find_project
from swetrials.trials.budget import Budget
from swetrials.trials.executors import EXECUTORS
from swetrials.trials.executors.base import Executor
from swetrials.trials.plan import Plan, plan_run
from swetrials.trials.resume_state import Commits, Standing, standings
from swetrials.trials.run_context import RunContext
from swetrials.workspace.git import GitError
from swetrials.workspace.space import sweep


@dataclass(frozen=True)
class PreparedRun:
    """A planned run with its tools laid out."""

    project: Project
    plan: Plan
    provider: Provider
    executor: Executor
    prices: PriceBook
    place: WorkContext

    @property
    def config(self) -> RunnerConfig:
        """The run's configuration."""
        return self.plan.config

    @property
    def agent(self) -> Agent:
        """The agent that the run drives."""
        return self.plan.agent

    @property
    def agent_version(self) -> str | None:
        """Version of the installed agent; ``None`` where there is none."""
        installed = find(self.agent.package, self.project.tools)
        return installed.version if installed else None

    def commits(self) -> Commits:
        """Return what the run's refs stand for, each looked up once; what cannot be found the pre-flight tells of."""
        found: dict[tuple[str, str], str] = {}
        for trial in self.plan.trials:
            asked = self.plan.dataset.repo_address(trial.task), trial.task.ref
            if asked not in found:
                with suppress(GitError):
                    found[asked] = self.place.repositories.resolve(*asked)
        return found

    def standings(self) -> list[Standing]:
        """Return what is on disk of each planned trial, held against what would be given now."""
        return standings(self.plan, self.agent_version, self.commits())

    def context(self, hosting: Hosting, *, keep_checkouts: bool = False, budget: Budget | None = None) -> RunContext:
        """Return what the run's attempts share.

        Args:
            hosting: the provider at work.
            keep_checkouts: leave the attempts' folders for a person to look at.
            budget: what they may spend; by default, whatever they do.

        Raises:
            UsageError: the agent is not installed.
        """
        installed = find(self.agent.package, self.project.tools)
        if installed is None:
            raise UsageError(
                f"{self.agent.name} is not installed; install it with: swetrials agents install {self.agent.name}"
            )
        return RunContext(
            config=self.config,
            agent=self.agent,
            installed=installed,
            skill=self.plan.skill,
            limits=self.plan.limits,
            provider=self.provider,
            hosting=hosting,
            prices=self.prices,
            place=self.place,
            keep_checkouts=keep_checkouts,
            budget=budget or Budget(),
        )


def lay_out(config: RunnerConfig) -> PreparedRun:
    """Plan a run and clear up what a killed run may have left in the working folder.

    Raises:
        UsageError: agent or provider are not to be had.
        AbsentError: the environment that is asked for is not to be had.
        UncoveredError: something private cannot be hidden.
        DocumentError: the dataset has faults.
        PlanError: a task or the skill is unknown.
        UnnamedError: model or dataset have no default for this provider, and are not named.
    """
    project = find_project()
    agent, provider, executor = members_of(config)
    check_model_named(config)
    check_dataset_named(config)
    config = with_quickstart(config, project)
    plan = plan_run(config, load_dataset(Path(config.dataset)), agent, project.skills)
    keys = [key.get_secret_value() for key in (config.api_key, config.judge_api_key) if key]
    return PreparedRun(
        project=project,
        plan=plan,
        provider=provider,
        executor=executor,
        prices=default_book(project.config),
        place=local_context(
            config.environment,
            project,
            Path(config.clone_dir) if config.clone_dir else None,
            (plan.dataset.folder, plan.output, *plan.dataset.local_repositories),
            preparations_max_gb=config.preparations_max_gb,
            keys=keys,
        ),
    )


def clear_up(work_root: Path, say: Callable[[str], None]) -> None:
    """Stop and remove the attempts that a killed run has left behind."""
    for attempt_id in sweep(work_root):
        say(f"cleared up after an attempt that a stopped run had left: {attempt_id}")


def members_of(config: RunnerConfig) -> tuple[Agent, Provider, Executor]:
    """Return whom a configuration names.

    Raises:
        PluginError: one of them is not to be had.
    """
    return AGENTS.named(config.agent), PROVIDERS.named(config.provider), EXECUTORS.named(config.executor)
