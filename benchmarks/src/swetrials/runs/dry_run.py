"""Showing what a run would start, exactly, without starting it."""

import shlex
import socket
from collections.abc import Iterator

from swetrials.agents.install import find
from swetrials.agents.session import AgentSession
from swetrials.environments.door import Door, open_because
from swetrials.records.dataset import repository_name
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.words import counted
from swetrials.runs.controls import task_controls
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.redaction import MASK
from swetrials.trials.plan import Trial, prompt_for
from swetrials.workspace.space import Space


def describe(prepared: PreparedRun) -> str:
    """Return, per trial, the command line, the environment with secrets masked, and the files written for it.

    What is only known at run time (the attempt's id, a port) stands in capitals.
    """
    controls = task_controls(prepared, look_up=False)
    plan = controls.applied(prepared).plan
    how = "" if prepared.config.skill else ", by default"
    head = (
        f"{counted(len(plan.trials), 'trial')}; nothing is run",
        f"skill: {plan.skill.name}{how}; it asks for {', '.join(plan.skill.artifacts)}",
        *(f"{check.name}: {check.detail}" for check in controls.lines()),
    )
    return "\n\n".join(["\n".join(head), *(_trial(prepared, trial) for trial in plan.trials)])


def _trial(prepared: PreparedRun, trial: Trial) -> str:
    environment = prepared.place.environment
    space = Space.at(prepared.place.work_root, f"{trial.label}-1-ID")
    view = environment.view(space, repository_name(prepared.plan.dataset.repo_address(trial.task)))
    documents = view.inside.artifacts if prepared.plan.skill.documents else None
    prompt = prompt_for(trial.task, view.inside.checkout, documents)
    asked = prepared.plan.dataset.dataset.environment_of(trial.task)
    open_why = open_because(environment, asked.network, meter=prepared.config.meter)
    session = AgentSession.of(
        prepared.agent,
        find(prepared.agent.package, prepared.project.tools),
        view,
        prompt=prompt,
        skill=prepared.plan.skill,
        route=prepared.provider.preview(prepared.config),
        config=prepared.config,
        environment=environment,
        writable=space.folders,
        door=None if open_why else _NO_DOOR,
    )
    launch, command = session.launch, session.command
    lines = [
        f"== {trial.label}: {trial.folder.path}",
        f"cwd: {view.inside.checkout}  ({prepared.plan.dataset.repo_address(trial.task)} at {trial.task.ref})",
        *([f"controls: {trial.checked}"] if trial.checked else []),
        f"environment: {environment.kind}, network: {asked.network}, {f'open: {open_why}' if open_why else 'sealed'}",
        *_prepared(asked),
        "argv:",
        *(f"  {shlex.quote(word)}" for word in command.argv),
        f"standard input: {launch.stdin or 'empty'}",
        "environment:",
        *(
            f"  {name}={MASK if prepared.place.redactor.hides(name, value) else value}"
            for name, value in sorted(command.environment.items())
        ),
        "files:",
        *(f"  {path}  ({len(text.encode())} bytes)" for path, text in launch.files.items()),
        "prompt:",
        *(f"  {line}" for line in prompt.splitlines()),
    ]
    return prepared.place.redactor.text("\n".join(lines))


def _prepared(asked: EnvironmentSpec) -> Iterator[str]:
    """Tell what would be prepared beforehand: of secrets the names, of files the patterns."""
    told = asked.model_dump(mode="json", exclude_defaults=True, exclude={"network", "env"})
    for name, value in told.items():
        values = value if isinstance(value, list) else [value]
        yield from (f"  {name}: {shlex.join(one) if isinstance(one, list) else one}" for one in values)
    yield from (f"  env: {name}={value}" for name, value in asked.env.items())


async def _never(listening: socket.socket) -> None:
    """Serve nobody: nothing is started."""


_NO_DOOR = Door(_never, "model", lambda sealing: None)
