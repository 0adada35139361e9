"""The work context of a command on this machine: what it clones into, runs in, hides and masks."""

import os
from collections.abc import Sequence
from pathlib import Path

from swetrials.environments import environment_for
from swetrials.environments.work_context import WorkContext
from swetrials.store.project import Project
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root


def local_context(
    wanted: str,
    project: Project,
    clone_dir: Path | None,
    private: Sequence[Path],
    *,
    preparations_max_gb: float,
    keys: Sequence[str] = (),
) -> WorkContext:
    """Return where attempts, judgings and controls are made on this machine.

    Args:
        wanted: the environment's name; see :func:`environment_for`.
        project: whose tools prepare it, and which is hidden.
        clone_dir: for working folders, which is hidden; ``None``: see :func:`private_root`.
        private: what else is hidden from commands.
        preparations_max_gb: disk space for all preparations that are kept.
        keys: masked in whatever is written, beside the secrets among the user's variables.

    Raises:
        AbsentError: the environment that is asked for is not to be had.
        UncoveredError: something private cannot be hidden.
        SpaceError: the working folder cannot be used.
    """
    work_root = private_root(clone_dir)
    return WorkContext(
        repositories=Repositories.below(work_root),
        work_root=work_root,
        environment=environment_for(wanted, project, *private, work_root),
        redactor=Redactor.from_environment(os.environ, keys),
        project=project,
        preparations_max_gb=preparations_max_gb,
    )
