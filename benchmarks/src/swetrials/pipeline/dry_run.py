"""Showing what a run would start, exactly, without starting it."""

import shlex
from pathlib import Path

from swetrials.agents.base import Job, Launch
from swetrials.agents.install import find
from swetrials.pipeline.workbench import Workbench
from swetrials.store.redaction import MASK
from swetrials.trials.plan import Trial, prompt_for
from swetrials.workspace.environment import allowed_environment
from swetrials.workspace.sandbox import confined
from swetrials.workspace.space import Space


def describe(bench: Workbench) -> str:
    """Return, per trial, the command line, the environment with secrets masked, and the files written for it.

    What is only known at run time (the attempt's id, a port) stands in capitals.
    """
    trials = len(bench.plan.trials)
    head = f"{trials} trial{'s' if trials != 1 else ''}; nothing is run"
    return "\n\n".join([head, *(_trial(bench, trial) for trial in bench.plan.trials)])


def _trial(bench: Workbench, trial: Trial) -> str:
    space = Space.at(bench.work_root, f"{trial.label}-1-ID")
    launch = bench.agent.launch(_binary(bench), _job(bench, trial, space))
    environment = allowed_environment(space.home, space.temporary, launch.environment)
    lines = [
        f"== {trial.label}: {trial.folder.path}",
        f"cwd: {space.checkout}  ({bench.plan.dataset.repo_address(trial.task)} at {trial.task.ref})",
        f"sandbox: {bench.sandbox.name}",
        "argv:",
        *(f"  {shlex.quote(word)}" for word in _argv(bench, launch, space)),
        "environment:",
        *(
            f"  {name}={MASK if bench.redactor.hides(name, value) else value}"
            for name, value in sorted(environment.items())
        ),
        "files:",
        *(f"  {path}  ({len(text.encode())} bytes)" for path, text in launch.files.items()),
    ]
    return bench.redactor.text("\n".join(lines))


def _binary(bench: Workbench) -> Path:
    installed = find(bench.agent.package, bench.project.tools)
    return installed.binary if installed else Path(f"{bench.agent.name}-NOT-INSTALLED")


def _job(bench: Workbench, trial: Trial, space: Space) -> Job:
    return Job(
        prompt=prompt_for(trial.task, space.checkout, space.artifacts),
        skill=bench.plan.skill,
        route=bench.provider.preview(bench.config),
        checkout=space.checkout,
        home=space.home,
        temporary=space.temporary,
        artifacts=space.artifacts,
        config=bench.config,
    )


def _argv(bench: Workbench, launch: Launch, space: Space) -> tuple[str, ...]:
    if bench.sandbox.bwrap is None:
        return launch.argv
    installed = find(bench.agent.package, bench.project.tools)
    readable = [*bench.sandbox.readable, *([installed.folder] if installed else [])]
    return confined(
        launch.argv, bwrap=bench.sandbox.bwrap, writable=[space.root], hidden=bench.sandbox.hidden, readable=readable
    )
