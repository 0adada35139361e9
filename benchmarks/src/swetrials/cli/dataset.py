"""``dataset validate``: is it good, and what is in it?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import command_group, leave
from swetrials.cli.options import with_check_keys

if TYPE_CHECKING:
    from swetrials.checking.dataset_check import CheckOptions, TaskVerdict
    from swetrials.checking.task_check import ControlTold

app = command_group("Look at datasets, and check their tasks.")


@app.command("validate", epilog="Example: swetrials dataset validate dataset/quickstart.yaml")
def dataset_validate(file: Annotated[Path, typer.Argument(help="The dataset's YAML file.")]) -> None:
    """Check a dataset and print a summary: exit 0, or exit 2 and one line per problem."""
    show_dataset(file)


@app.command("check", epilog="Example: swetrials dataset check dataset/quickstart.yaml")
@with_check_keys
def dataset_check(
    file: Annotated[Path, typer.Argument(help="The dataset's YAML file.")],
    flags: dict[str, object],
    times: Annotated[
        int, typer.Option(min=1, help="Run the tests this often with the solution, and without, to find flaky ones.")
    ] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Runs of tests at one time.")] = 2,
    force: Annotated[bool, typer.Option("--force", help="Check again what was checked and has not changed.")] = False,
) -> None:
    """Show that tests tell a solution from none: they fail without it, pass with it, and fail without each part of it.

    Writes <dataset>.checked.json beside the file. Exit code 4 when a task is refused.
    """
    from swetrials.checking.dataset_check import CheckOptions

    leave(check_dataset(file, flags, CheckOptions(times, jobs, force)))


def check_dataset(file: Path, flags: Mapping[str, object], options: CheckOptions) -> int:
    """Run the controls of a dataset's tasks, and print each as it ends.

    Returns:
        0: no task is refused; 4: one is; 1: of one nothing can be said.

    Raises:
        DocumentError: the dataset has faults.
        KnownError: nothing can be checked; the message says why.
    """
    from swetrials.checking import dataset_check as checking
    from swetrials.cli.errors import REFUSED
    from swetrials.cli.interrupting import run_async
    from swetrials.store.checked_file import checked_file
    from swetrials.store.documents import load_config, load_dataset
    from swetrials.trials.plan import chosen_tasks

    config, loaded = load_config(None, os.environ, flags), load_dataset(file)
    tasks, place = chosen_tasks(config, loaded), checking.place_for(loaded, config)
    viewer = checking.CheckViewer(
        lambda told: print(_control_line(told), flush=True), lambda told: _print_verdict(told)
    )
    verdicts = run_async(lambda: checking.check_dataset(loaded, tasks, place, options, viewer))
    found = [verdict.check.verdict for verdict in verdicts if verdict.check]
    unknown = sum(bool(verdict.why_not) for verdict in verdicts)
    counts = f"{_tasks_hold(found.count('held'))}, {found.count('refused')} refused, {found.count('unproven')} unproven"
    skipped = len(verdicts) - len(found) - unknown
    more = "".join(
        f", {number} {what}" for number, what in ((skipped, "without verify"), (unknown, "not checked")) if number
    )
    kept = checked_file(loaded)
    print(f"checked: {counts}{more}{f' -> {kept}' if kept.exists() else ''}")
    return REFUSED if "refused" in found else 1 if unknown else 0


def _tasks_hold(number: int) -> str:
    return f"{number} task{' holds' if number == 1 else 's hold'}"


def _control_line(told: ControlTold) -> str:
    seconds = "" if told.seconds is None else f", {told.seconds:.1f} s"
    return f"  {told.task}: {told.control}: {told.result}{seconds}"


def _print_verdict(told: TaskVerdict) -> None:
    """Print what became of a task, and below it what its author has to know."""
    from swetrials.records.checked import REFUSALS

    head, check = f"  {told.task}:", told.check
    if check is None:
        print(f"{head} {f'not checked: {told.why_not}' if told.why_not else 'skipped: it has no verify'}", flush=True)
        return
    lines = [f"{head} {check.verdict}"]
    if check.reason is not None:
        lines = [f"{head} REFUSED, {check.reason}: {REFUSALS[check.reason]}", f"    {check.told}"]
    elif check.told:
        lines = [f"{lines[0]}: {check.told}"]
    if told.kept:
        lines[0] += f" (kept from {check.checked_on}; --force checks it again)"
    lines += [f"    warning: {warning}" for warning in check.warnings]
    print("\n".join(lines), flush=True)


def show_dataset(file: Path) -> None:
    """Print a dataset's summary. Repositories on this machine are looked at; for others it takes a run's pre-flight.

    Raises:
        DocumentError: it has faults, one line each.
    """
    from swetrials.store.documents import load_dataset
    from swetrials.store.problems import DocumentError
    from swetrials.tasks.local_repositories import local_problems, solution_problems

    loaded = load_dataset(file)
    if problems := [*solution_problems(loaded), *local_problems(loaded)]:
        raise DocumentError(problems)
    dataset = loaded.dataset
    tiers = Counter(task.complexity for task in dataset.tasks)
    print(f"{file}: valid")
    print(f"  name          {dataset.name}" + (f": {dataset.title}" if dataset.title else ""))
    print(f"  sha256        {loaded.sha256}")
    counts = ", ".join(f"{tiers[tier]} {tier}" for tier in dataset.complexity_levels if tiers[tier])
    print(f"  tasks         {len(dataset.tasks)} ({counts})")
    print(f"  with tests    {sum(task.verify is not None for task in dataset.tasks)}")
    print(
        f"  ranked by     {dataset.ranked_by or 'unknown: not all tasks have verify; say rank_by: resolved or rubric'}"
    )
    for task in dataset.tasks:
        print(f"  - {task.id} [{task.complexity}] {task.repo} @ {task.ref} -> {dataset.scope_of(task)}/{task.id}")
