"""Looking, without a network, at the repositories of a dataset that lie on this machine."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from swetrials.records.dataset import is_local_address
from swetrials.store.documents import LoadedDataset
from swetrials.store.problems import Problem
from swetrials.workspace.git import GitError
from swetrials.workspace.repositories import Repositories

_CHANGE = re.compile(rb"^(?:diff --git|---) ", re.MULTILINE)


def solution_problems(loaded: LoadedDataset) -> Iterator[Problem]:
    """Yield a problem for each solution that holds no change. Whether a change applies is tried by its check.

    Raises:
        OSError: a solution cannot be read.
    """
    for number, task in enumerate(loaded.dataset.tasks):
        solution = loaded.solution(task)
        if solution is not None and task.verify is not None and not _CHANGE.search(solution.read_bytes()):
            told = f"{task.verify.solution!r} holds no change; write it with: git diff"
            yield Problem(str(loaded.path), None, f"tasks[{number}].verify.solution", told)


def local_problems(loaded: LoadedDataset) -> Iterator[Problem]:
    """Yield a problem for each task whose local repository is not there, or does not hold the ref that it names.

    They are looked up as a run looks them up, into a folder that is thrown away.
    """
    with TemporaryDirectory(prefix="swetrials-validate-") as folder:
        repositories = Repositories(Path(folder))
        for number, task in enumerate(loaded.dataset.tasks):
            if not is_local_address(task.repo):
                continue
            try:
                repositories.resolve(loaded.repo_address(task), task.ref)
            except GitError as error:
                yield Problem(str(loaded.path), None, f"tasks[{number}] ({task.id})", str(error))
