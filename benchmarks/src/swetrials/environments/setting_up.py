"""Running a dataset's setup in a checkout."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio.to_thread import run_sync

from swetrials.environments.base import Environment, PreparationError, SetupError, View
from swetrials.environments.checkout_changes import contents, exclude, made_since, put_back
from swetrials.environments.secret_search import secret_in, told_apart
from swetrials.environments.toolchain import Toolchain
from swetrials.records.environment import EnvironmentSpec
from swetrials.store.redaction import Redactor
from swetrials.workspace.printed import MOST_OF_A_LINE, last_lines, plain_lines
from swetrials.workspace.processes import LaunchError, ProcessLimits, run_captured
from swetrials.workspace.space import free_bytes
from swetrials.workspace.variables import search_path

SETUP_LIMIT_SECONDS = 3600.0
"""Longest time for one command of a setup: what builds a large project from its sources takes long, but not a day."""

VENV = "environment"
"""The virtual environment's folder in an attempt's."""

_LOG_BYTES = 2_000_000
_FULL_DISK_BYTES = 5_000_000

_TELLING = re.compile(r"error|failed|cannot|not found|no such|denied|no space|missing", re.IGNORECASE)
# Of uv, pip, npm and the C library.
_UNREACHED = re.compile(
    r"connection refused|ECONNREFUSED|name or service not known|name resolution|ENOTFOUND|EAI_AGAIN"
    r"|network is unreachable|ENETUNREACH|no route to host|timed out|ETIMEDOUT",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"hint:|note:|\[|npm error A complete log of this run|Terminated$")
# Asides of uv and npm; and what a shell says of the signal by which a command was stopped at its limit.


@dataclass(frozen=True)
class Setup:
    """What is to be done, and with what.

    Attributes:
        spec: what the dataset asks for.
        tools: what was found of it on this machine.
        environment: what commands run in.
        redactor: masks secrets in the log.
        secrets: values of ``setup_secrets``, by name.
        limit_seconds: longest time for one command.
    """

    spec: EnvironmentSpec
    tools: Toolchain
    environment: Environment
    redactor: Redactor
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    limit_seconds: float = SETUP_LIMIT_SECONDS

    async def run(self, view: View, log: Path) -> None:
        """Make the virtual environment and run the commands of setup, all of it with the network open.

        Args:
            view: the folders; where there is to be a virtual environment, with a place for it.
            log: file for what the commands print, secrets masked.

        Raises:
            SetupError: a command of setup failed, or did not end in time.
            PreparationError: the virtual environment cannot be made, or the disk is full.
            OSError: the log cannot be written.
        """
        venv = view.inside.root / VENV
        if self.spec.python:
            words = (str(self.tools.uv), "venv", "--no-project", "--no-config", "--allow-existing")
            made = await self._run((*words, "--python", str(self.tools.python), str(venv)), view, log, {})
            if made:
                raise PreparationError(str(made))
            # What brings pip along needs no network; an interpreter without it has none to give.
            await self._run((str(venv / "bin" / "python"), "-m", "ensurepip", "--default-pip"), view, log, {})
        for argv in self.spec.setup:
            if failure := await self._run(argv, view, log, self.secrets):
                if free_bytes(view.outside.root) < _FULL_DISK_BYTES:
                    raise PreparationError(f"the disk is full: {failure}")
                raise failure

    def refuse_secrets_in(self, folder: Path) -> None:
        """Make sure that no value of a secret is left in a folder.

        Raises:
            PreparationError: one is; the message names the file.
        """
        known = told_apart(self.secrets)
        found = secret_in(folder, Redactor(known)) if known else None
        if found is not None:
            raise PreparationError(
                f"setup wrote the value of one of setup_secrets into {self.redactor.text(str(found))}, where an agent "
                "could read it; let it use the value without keeping it"
            )

    async def _run(self, argv: Sequence[str], view: View, log: Path, secrets: Mapping[str, str]) -> SetupError | None:
        """Run a command, and return how it failed, if it did."""
        space = view.outside
        command = self.environment.command(
            argv,
            view,
            variables={**self._variables(view), **secrets},
            writable=(space.checkout, space.home, space.temporary),
            shown=(*self.tools.shown, *((self.tools.uv,) if self.tools.uv else ())),
            network="open",
        )
        limits = ProcessLimits(wall_seconds=self.limit_seconds)
        shown = shlex.join(argv)
        try:
            ended, output = await run_captured(command, limits, mark=space.root.name, tail_bytes=_LOG_BYTES)
        except LaunchError as error:
            return SetupError(f"setup: {error}")
        if len(output) >= _LOG_BYTES:
            # A line of which the beginning is cut off may be half a secret, which the redactor does not know.
            output = output.partition(b"\n")[2]
        said = self.redactor.bytes(output)
        with suppress(OSError), log.open("ab") as file:  # on a full disk, what the command met says more
            file.write(self.redactor.text(f"$ {shown}\n").encode(errors="replace") + said)
        if ended.cause == "exited" and ended.exit_code == 0:
            return None
        how = "was stopped after" if ended.cause == "wall_limit" else f"ended with exit code {ended.exit_code} after"
        printed = said.decode(errors="replace")
        last = _telling_line(printed)
        told = self.redactor.text(f"setup: `{shown}` {how} {ended.wall_seconds:.0f} s")
        return SetupError(f"{told}: {last}" if last else told, last_lines(printed))

    def _variables(self, view: View) -> dict[str, str]:
        given = variables(view, self.spec)
        if self.tools.uv:
            path = given.get("PATH") or search_path(os.environ.get("PATH", os.defpath))
            given["PATH"] = f"{path}{os.pathsep}{self.tools.uv.parent}"
        return given | {"UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy", "UV_COMPILE_BYTECODE": "1"}


async def set_up_here(setup: Setup, view: View) -> View:
    """Run a setup in an attempt's own folders, and return the view with what it made there.

    Files of the commit that it changed are put back.

    Raises:
        SetupError: a command of setup failed.
        PreparationError: something else did, or a secret is left in a file.
        OSError: a file cannot be read or written.
    """
    space = view.outside
    before = await run_sync(contents, space.checkout)
    await setup.run(view, space.root / "setup.log")
    made = await run_sync(made_since, before, space.checkout)
    await run_sync(setup.refuse_secrets_in, space.root)
    if made.changed:
        await run_sync(put_back, space.checkout, made.changed)
    exclude(space.checkout, made.names)
    return replace(view, prepared=(*view.prepared, *made.names))


def variables(view: View, spec: EnvironmentSpec) -> dict[str, str]:
    """Return what a dataset's environment sets for every command: its own variables, and the way to its Python."""
    given = dict(spec.env)
    if spec.python:
        venv = view.inside.root / VENV
        path = search_path(os.environ.get("PATH", os.defpath))
        given |= {"VIRTUAL_ENV": str(venv), "PATH": f"{venv / 'bin'}{os.pathsep}{path}"}
    return given


def _telling_line(output: str) -> str:
    """Return the line that tells of a host that was not reached, else of an error, else the last that says anything."""
    lines = [line.removeprefix("cause: ") for line in plain_lines(output)]
    telling = [line for line in lines if line and not _ASIDE.match(line)]
    unreached = [line for line in telling if _UNREACHED.search(line)]
    if unreached:
        addresses = [line for line in telling if "://" in line]
        told = next((line for line in unreached if "://" in line), ": ".join((*addresses[-1:], unreached[-1])))
        return f"{told[:MOST_OF_A_LINE]}; mend the registry's address, or the way to it"
    spoken = [line for line in telling if _TELLING.search(line)]
    return (spoken or telling or [""])[-1][:MOST_OF_A_LINE]
