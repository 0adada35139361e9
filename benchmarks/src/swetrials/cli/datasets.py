"""``dataset validate``: is it good, and what is in it?"""

from collections import Counter
from pathlib import Path

from swetrials.store.documents import load_dataset
from swetrials.store.problems import DocumentError
from swetrials.tasks.local_repositories import local_problems


def validate(file: Path) -> None:
    """Print a dataset's summary. Repositories on this machine are looked at; for others it takes a run's pre-flight.

    Raises:
        DocumentError: it has faults, one line each.
    """
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
