"""What a machine of a cluster says of itself before anything is spent, and what of it is in the way."""

import hashlib
import platform
import socket
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import swetrials
from swetrials.agents.install import Package, Program, find
from swetrials.environments import environment_for
from swetrials.errors import KnownError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.store.project import find_project
from swetrials.trials.executors.worker import OUTBOXES
from swetrials.wire.model_list import is_loopback
from swetrials.wire.route import Route
from swetrials.workspace.git import git_version
from swetrials.workspace.space import BYTES_NEEDED, LOCK, free_bytes, private_root, remove_tree, sweep

NAME = "machine"
"""What the pre-flight calls these lines."""

_REACH_SECONDS = 5.0
_OLD_SECONDS = 86_400.0
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Question:
    """What a machine is asked.

    Attributes:
        package: the agent.
        environment: as configured.
        clone_dir: as configured.
        shared_file: a file in the folder that all machines should share, just written.
        base_url: where the model is.
    """

    package: Package | Program
    environment: str
    clone_dir: str | None
    shared_file: Path | None
    base_url: str

    @classmethod
    def of(cls, config: RunnerConfig, package: Package | Program, route: Route, shared_file: Path | None) -> Self:
        """Return the question that a run has for each of its machines."""
        return cls(package, config.environment, config.clone_dir, shared_file, route.base_url)


@dataclass(frozen=True)
class Facts:
    """A machine's answer.

    Attributes:
        agent_version: ``None``: it is not installed.
        environment: the kind that it comes to there.
        free_bytes: on the disk of the working folder.
        place: the same for two answers from one machine, where loopback means the same.
        unreached: why the model cannot be reached; empty when it can, or that cannot be said.
        shares: whether it sees the file in the shared folder.
    """

    agent_version: str | None
    environment: str
    free_bytes: int
    place: str
    unreached: str
    shares: bool


def harness_here() -> str:
    """Return the harness's version with a digest of its source: clones of one version may still differ."""
    root = Path(swetrials.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return f"{swetrials.__version__}+{digest.hexdigest()[:12]}"


def facts_here(question: Question) -> Facts | str:
    """Return this machine's facts, or what keeps it from telling them; what killed runs have left is cleared up.

    Known errors are text: the exceptions of another version may be of no known kind.
    """
    try:
        return _facts(question)
    except (KnownError, OSError) as error:
        return str(error)


def _facts(question: Question) -> Facts:
    project = find_project()
    installed = find(question.package, project.tools)
    work_root = private_root(Path(question.clone_dir) if question.clone_dir else None)
    git_version()
    _clear_up(work_root)
    return Facts(
        agent_version=installed.version if installed else None,
        environment=environment_for(question.environment, project, work_root).kind,
        free_bytes=free_bytes(work_root),
        place=_place(),
        unreached=_unreached(question.base_url),
        shares=question.shared_file is None or question.shared_file.exists(),
    )


def _clear_up(work_root: Path) -> None:
    sweep(work_root)
    for outbox in (work_root / OUTBOXES).glob("*"):
        # One that has just been made has no attempt yet, and one whose attempt is over may be about to be fetched.
        old = time.time() - outbox.stat().st_mtime > _OLD_SECONDS
        if old and not (work_root / f"{outbox.name}{LOCK}").exists():
            remove_tree(outbox)


def _place() -> str:
    with suppress(OSError):  # on Linux: this boot of this machine, and whose loopback
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/net').stat().st_ino}"
    return platform.node()


def _unreached(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.hostname is None or (not is_loopback(base_url) and parts.scheme in urllib.request.getproxies()):
        return ""
    try:
        socket.create_connection((parts.hostname, parts.port or _PORTS[parts.scheme]), _REACH_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def harness_check(machine: str, there: str | None, here: str) -> Check | None:
    """Return what is wrong with a machine's harness; ``None`` when it is the one that runs here.

    Args:
        machine: its name and address.
        there: from :func:`harness_here` on that machine; ``None``: it cannot run any.
        here: the same from this machine.
    """
    if there == here:
        return None
    found = "this harness cannot be loaded there" if there is None else f"harness {there}, here {here}"
    fix = f"on {machine}: bring the clone to this one's commit, make setup, and start Ray with its .venv/bin/ray"
    return Check(NAME, "failed", f"{machine}: {found}", fix)


def facts_checks(machine: str, there: Facts | str, here: Facts, question: Question) -> Sequence[Check]:
    """Compare a machine with the one that the harness runs on."""
    if isinstance(there, str):
        return [Check(NAME, "failed", f"{machine}: {there}", f"mend it on {machine}")]
    agent = question.package.name
    faults: list[tuple[str, str]] = []
    if there.agent_version != here.agent_version:
        found = f"{agent} {there.agent_version}" if there.agent_version else f"no {agent}"
        faults.append((f"{found} there, {here.agent_version} here", f"on {machine}: make setup"))
    if there.environment != here.environment:
        fix = f"mend what 'swetrials doctor' says of it on {machine}, or --environment host"
        faults.append((f"environment {there.environment} there, {here.environment} here", fix))
    if there.free_bytes < BYTES_NEEDED:
        detail = f"{there.free_bytes / 1e9:.1f} GB free, {BYTES_NEEDED / 1e9:.0f} GB needed"
        faults.append((detail, f"free space on {machine}, or set --clone-dir"))
    if is_loopback(question.base_url) and there.place != here.place:
        fix = "--endpoint with an address that all machines reach; a rehearsal runs on one machine"
        faults.append((f"the model is at {question.base_url}, which means another machine there", fix))
    elif there.unreached:
        fix = f"let {machine} reach it, or mend --endpoint"
        faults.append((f"{question.base_url} cannot be reached from there: {there.unreached}", fix))
    if not there.shares and question.shared_file is not None:
        shared = question.shared_file.parent
        faults.append((f"{shared} is not shared with it", f"mount it on {machine}, or leave --shared-dir out"))
    if faults:
        return [Check(NAME, "failed", f"{machine}: {detail}", fix) for detail, fix in faults]
    detail = f"{agent} {there.agent_version}, environment {there.environment}, {there.free_bytes / 1e9:.1f} GB free"
    return [Check(NAME, "ok", f"{machine}: {detail}")]
