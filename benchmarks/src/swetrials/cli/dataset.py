"""``dataset validate``: is it good, and what is in it?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.lean import command_group

app = command_group("Look at datasets.")


@app.command("validate", epilog="Example: swetrials dataset validate dataset/quickstart.yaml")
def dataset_validate(file: Annotated[Path, typer.Argument(help="The dataset's YAML file.")]) -> None:
    """Check a dataset and print a summary: exit 0, or exit 2 and one line per problem."""
    check_dataset(file)


def check_dataset(file: Path) -> None:
    """Print a dataset's summary. Repositories on this machine are looked at; for others it takes a run's pre-flight.

    Raises:
        DocumentError: it has faults, one line each.
    """
    from swetrials.store.documents import load_dataset
    from swetrials.store.problems import DocumentError
    from swetrials.tasks.local_repositories import local_problems

    loaded = load_dataset(file)
    if problems := list(local_problems(loaded)):
        raise DocumentError(problems)
    dataset = loaded.dataset
    tiers = Counter(task.complexity for task in dataset.tasks)
    print(f"{file}: valid")
    print(f"  name          {dataset.name}" + (f": {dataset.title}" if dataset.title else ""))
    print(f"  sha256        {loaded.sha256}")
    counts = ", ".join(f"{tiers[tier]} {tier}" for tier in dataset.complexity_levels if tiers[tier])
    print(f"  tasks         {len(dataset.tasks)} ({counts})")
    print(f"  with tests    {sum(task.verify is not None for task in dataset.tasks)}")
    for task in dataset.tasks:
        print(f"  - {task.id} [{task.complexity}] {task.repo} @ {task.ref} -> {dataset.scope_of(task)}/{task.id}")
