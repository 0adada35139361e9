"""What the check of a dataset says of the tasks of a run: which may be run, and how each of them stands."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from swetrials.errors import KnownError
from swetrials.judging.task_checks import check_of
from swetrials.records.check import Check
from swetrials.records.checked import CheckedTask, CheckState
from swetrials.records.words import counted
from swetrials.runs.prepared_run import PreparedRun

NAME = "controls"

_NAMED = 5


@dataclass(frozen=True)
class TaskControls:
    """The checks of a run's tasks that have ``verify``.

    Attributes:
        checks: by task; ``None``: it was never checked as it is now.
        dataset: the dataset's file.
        fault: why the file of the checks cannot be used; empty: it can, or there is none.
    """

    checks: Mapping[str, CheckedTask | None]
    dataset: str
    fault: str = ""

    @property
    def refused(self) -> tuple[str, ...]:
        """The tasks that failed their check: they measure nothing."""
        return tuple(task for task, check in self.checks.items() if check and check.verdict == "refused")

    def state(self, task: str) -> CheckState | None:
        """Return how a task stands that may be run; ``None``: it has no tests."""
        if task not in self.checks:
            return None
        check = self.checks[task]
        return "unchecked" if check is None or check.verdict == "refused" else check.verdict

    def lines(self) -> tuple[Check, ...]:
        """Return what the pre-flight says of them."""
        mend = f"swetrials dataset check {shlex.quote(self.dataset)}"
        if self.fault:
            return (Check(NAME, "failed", self.fault, mend),)
        held = [check for check in self.checks.values() if check and check.verdict == "held"]
        never = [task for task, check in self.checks.items() if check is None]
        unproven = [task for task in self.checks if self.state(task) == "unproven"]
        found = []
        if held:
            days = sorted({check.checked_on for check in held})
            on = " to ".join(dict.fromkeys((days[0], days[-1])))
            found.append(Check(NAME, "ok", f"{counted(len(held), 'task')} checked on {on}"))
        if never:
            told = f"{_were(never)} never checked as {'it is' if len(never) == 1 else 'they are'} now: {_listed(never)}"
            found.append(Check(NAME, "warning", told, mend))
        if unproven:
            told = f"{_were(unproven)} checked without a solution: {_listed(unproven)}"
            found.append(Check(NAME, "warning", told, "give each a solution in verify"))
        for task in self.refused:
            check = self.checks[task]
            assert check is not None
            told = f"{task} is left out, for it failed its check: {check.reason}: {check.told}"
            found.append(Check(NAME, "warning", told, mend))
        if self.refused and len(self.refused) == len(self.checks):
            found.append(Check(NAME, "failed", "every task failed its check", mend))
        return tuple(found)

    def applied(self, prepared: PreparedRun) -> PreparedRun:
        """Return the run without the tasks that failed their check; each trial knows how its task stands."""
        refused, plan = frozenset(self.refused), prepared.plan
        trials = tuple(
            replace(trial, checked=self.state(trial.task.id)) for trial in plan.trials if trial.task.id not in refused
        )
        return replace(prepared, plan=replace(plan, trials=trials))


def task_controls(prepared: PreparedRun, *, look_up: bool = True) -> TaskControls:
    """Return what is known of the controls of a planned run's tasks.

    Args:
        prepared: the run.
        look_up: hold each check against the commit that the task's ref stands for now, which may take a network.
    """
    loaded, commits = prepared.plan.dataset, prepared.commits() if look_up else {}
    checks: dict[str, CheckedTask | None] = {}
    try:
        for task in prepared.plan.tasks:
            if task.verify is not None:
                commit = commits.get((loaded.repo_address(task), task.ref))
                checks[task.id] = check_of(loaded, task, commit)
    except (KnownError, OSError) as error:
        return TaskControls({}, str(loaded.path), str(error))
    return TaskControls(checks, str(loaded.path))


def _were(tasks: list[str]) -> str:
    return f"{counted(len(tasks), 'task')} {'was' if len(tasks) == 1 else 'were'}"


def _listed(tasks: list[str]) -> str:
    return ", ".join(tasks[:_NAMED]) + (" ..." if len(tasks) > _NAMED else "")
