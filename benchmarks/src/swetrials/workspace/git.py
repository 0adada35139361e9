"""One way to run git: words instead of a shell, never a prompt, never a program that a repository names."""

import os
import resource
import subprocess
import tempfile
import urllib.parse
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from swetrials.errors import KnownError
from swetrials.workspace.process_tree import kill_group

LOCAL_LIMIT_SECONDS = 600.0
"""Longest time for a command that stays on this machine."""

FETCH_LIMIT_SECONDS = 3600.0
"""Longest time for a command that talks to another one."""

_PIECE_BYTES = 1 << 16

_fetches: set[int] = set()
# Process groups of the commands that are talking to another machine at the moment.

_SAFE_CONFIG = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "credential.interactive=false",
    "submodule.recurse=false",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
)

# `git rev-parse --local-env-vars`, without the two that carry a person's own `-c` settings. Inside a git hook
# these are set, and would send our commands to another repository.
_REPOSITORY_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)

_SAFE_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS_REQUIRE": "never",
}

_ATTRIBUTES = "* -text -ident !filter !working-tree-encoding !diff\n"

_BOILERPLATE = (
    "Please make sure you have the correct access rights",
    "and the repository exists.",
    "fatal: Could not read from remote repository.",
    "fatal: updating files failed",
    "hint:",
    "warning:",
)


class GitError(KnownError):
    """git did not do what it was asked; the message is one line: what for, git's own words, what mends it."""


@dataclass(frozen=True)
class GitBounds:
    """What a git may take that reads what a stranger has written; one that wants more fails.

    They hold on Linux. Elsewhere the limit of time alone does.

    Attributes:
        memory_bytes: address space.
        printed_bytes: size of the file that it prints to.
    """

    memory_bytes: int
    printed_bytes: int


def users_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for talking to a person's remotes.

    Their own git configuration holds (credentials, ``url.<base>.insteadOf``, proxies). Prompts are off, and so
    are transports that run commands.
    """
    source = os.environ if base is None else base
    kept = {name: value for name, value in source.items() if name not in _REPOSITORY_VARIABLES}
    return kept | _SAFE_VARIABLES


def sealed_environment(git_dir: Path, work_tree: Path | None = None) -> dict[str, str]:
    """Return the environment for one repository and nothing else: no configuration of person or machine.

    With ``git_dir`` given outright git looks for no repository by itself, so a ``.git`` in the work tree is
    never read, and it does not matter who owns the folders.
    """
    environment = {
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DIR": str(git_dir),
        "HOME": os.devnull,
        "PATH": os.environ.get("PATH", os.defpath),
        "XDG_CONFIG_HOME": os.devnull,
    }
    if work_tree is not None:
        environment["GIT_WORK_TREE"] = str(work_tree)
    return environment | _SAFE_VARIABLES


def run_git(
    *arguments: str | Path,
    purpose: str,
    environment: Mapping[str, str],
    fix: str = "",
    cwd: Path | None = None,
    stdin: bytes = b"",
    stdout: IO[bytes] | None = None,
    limit_seconds: float = LOCAL_LIMIT_SECONDS,
    bounds: GitBounds | None = None,
    good_exit_codes: Container[int] = (0,),
) -> bytes:
    """Run git and return what it printed, unless that goes to ``stdout``.

    git runs in a session of its own, so that no terminal is there to be asked, and so that its helpers end
    with it.

    Args:
        arguments: the words after ``git``. Text from outside stands behind ``--`` or ``--end-of-options``.
        purpose: what the command is for, as it completes "cannot ...".
        environment: from :func:`users_environment` or :func:`sealed_environment`.
        fix: what a person can do about a failure.
        cwd: the folder to run in.
        stdin: bytes to feed it.
        stdout: a file to write to instead of returning the output.
        limit_seconds: longest time it may take.
        bounds: what else it may take.
        good_exit_codes: those that do not mean a failure.

    Raises:
        GitError: git is missing, took too long, or failed.
    """
    try:
        process = subprocess.Popen(
            _argv(arguments),
            cwd=cwd or Path("/"),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise GitError(f"cannot {purpose}: {error.filename}: {error.strerror}; is git installed?") from None
    with process, _known_as_fetch(process, limit_seconds):
        _hold_to(process.pid, bounds)
        try:
            printed, complaints = process.communicate(stdin, timeout=limit_seconds)
        except BaseException as error:
            kill_group(process.pid)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(f"cannot {purpose}: git took longer than {limit_seconds:g} s") from None
            raise
    if process.returncode not in good_exit_codes:
        words = last_words(complaints) or f"git ended with exit code {process.returncode}"
        raise GitError(f"cannot {purpose}: {words}" + (f"; {fix}" if fix else ""))
    return printed or b""


def _hold_to(pid: int, bounds: GitBounds | None) -> None:
    if bounds is None or not hasattr(resource, "prlimit"):
        return
    limits = ((resource.RLIMIT_AS, bounds.memory_bytes), (resource.RLIMIT_FSIZE, bounds.printed_bytes))
    for which, most in limits:
        with suppress(OSError):  # it has ended by now
            resource.prlimit(pid, which, (most, most))


def stream_git(
    *arguments: str | Path,
    purpose: str,
    environment: Mapping[str, str],
    cwd: Path | None = None,
) -> Iterator[bytes]:
    """Run git and yield what it prints, piece by piece, so that none of it has to be held.

    git ends when nobody asks for more.

    Args:
        arguments: as of :func:`run_git`.
        purpose: likewise.
        environment: likewise.
        cwd: likewise.

    Raises:
        GitError: git is missing, or failed.
    """
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                _argv(arguments),
                cwd=cwd or Path("/"),
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                start_new_session=True,
            )
        except OSError as error:
            raise GitError(f"cannot {purpose}: {error.filename}: {error.strerror}; is git installed?") from None
        with process:
            assert process.stdout is not None
            try:
                while piece := process.stdout.read(_PIECE_BYTES):
                    yield piece
            except BaseException:
                kill_group(process.pid)
                raise
        if process.returncode:
            complaints.seek(0)
            words = last_words(complaints.read()) or f"git ended with exit code {process.returncode}"
            raise GitError(f"cannot {purpose}: {words}")


def stop_fetches() -> None:
    """Kill every command that talks to another machine; whoever waits for it gets a :class:`GitError`.

    They run in threads, which no cancellation reaches, and may take an hour.
    """
    for group in list(_fetches):
        kill_group(group)


@contextmanager
def _known_as_fetch(process: subprocess.Popen[bytes], limit_seconds: float) -> Iterator[None]:
    if limit_seconds > LOCAL_LIMIT_SECONDS:
        _fetches.add(process.pid)
    try:
        yield
    finally:
        _fetches.discard(process.pid)


def git_version() -> str:
    """Return git's version, such as ``2.39.5``.

    Raises:
        GitError: git is missing or does not run.
    """
    environment = sealed_environment(Path(os.devnull))
    return run_git("version", purpose="run git", environment=environment).decode().split()[2]


def last_words(complaints: bytes) -> str:
    """Return the last line of git's standard error that tells something."""
    lines = [line.strip() for line in complaints.decode(errors="replace").splitlines()]
    telling = [line for line in lines if line and not line.startswith(_BOILERPLATE)]
    return (telling or lines or [""])[-1].removeprefix("fatal: ").removeprefix("error: ")


def shown(repo: str) -> str:
    """Return a repository's address as it may be shown: without the password or token in a URL."""
    if "://" not in repo or "@" not in repo:
        return repo
    parts = urllib.parse.urlsplit(repo)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def lay_out_repository(git_dir: Path, *, bare: bool, alternate: Path | None = None, settings: str = "") -> None:
    """Write an empty repository by hand: no template, no hook, no sample, no process.

    Its attributes outrank those of every ``.gitattributes``, and say that a file in the work tree is the bytes
    that the repository stores: no line endings are converted, no filter runs, ``$Id$`` is not expanded. So
    what an agent writes into ``.gitattributes`` changes neither a checkout nor a patch.

    Args:
        git_dir: the folder to write; may exist, and then is completed.
        bare: whether it is a mirror, without a work tree.
        alternate: the object directory of another repository to read from.
        settings: further lines of configuration.
    """
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (git_dir / folder).mkdir(parents=True, exist_ok=True)
    core = f"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {str(bare).lower()}\n"
    (git_dir / "config").write_text(core + settings, encoding="utf-8")
    (git_dir / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    if alternate is not None:
        (git_dir / "objects" / "info" / "alternates").write_bytes(os.fsencode(alternate) + b"\n")
    # Last, since git takes a folder without HEAD for no repository at all.
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")


def _argv(arguments: Sequence[str | Path]) -> list[str]:
    settings = [word for setting in _SAFE_CONFIG for word in ("-c", setting)]
    return ["git", *settings, *(str(argument) for argument in arguments)]
