"""Installs an agent CLI into the project's own tools folder: pinned, whole or not at all, and nowhere else."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from swetrials.errors import KnownError

FREE_BYTES_NEEDED = 1_000_000_000
"""Disk space for one package, its archive in the cache and the unpacked copy being put in place."""

_PREFIX = re.compile(r"^\W*((npm (error|ERR!)|error:|Caused by:)\W*)?")
_TELLING_WORDS = 4


@dataclass(frozen=True)
class Wheel:
    """A PyPI distribution that carries an agent's native binary, for machines without npm."""

    distribution: str
    version: str
    executable: str


@dataclass(frozen=True)
class Package:
    """One agent CLI at one pinned version.

    ``name`` is its folder below the tools folder; ``executable`` is a glob pattern below that folder, since npm
    names the folder of a native binary after the machine it is for. ``also`` names further npm packages, each with
    its version (``bun@1.4.5``), that the agent needs beside it, such as the runtime that it is written for.
    """

    name: str
    npm: str
    version: str
    executable: str
    wheel: Wheel | None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """An agent that is a program on this machine already, such as one that a Python package has brought along.

    ``name`` and ``version`` are what records call it; ``path`` is absolute. A sandbox shows that file, or the whole
    ``folder`` where the program is more than one file; there must be nothing in it that an agent may not see.
    """

    name: str
    version: str
    path: Path
    folder: Path | None = None


@dataclass(frozen=True)
class Installed:
    """An agent CLI that is ready to run. ``folder`` holds everything it consists of; it may be one file."""

    binary: Path
    version: str
    folder: Path


class InstallError(KnownError):
    """A package could not be installed; the text is one line that says why and what mends it."""

    exit_code = 1


def find(package: Package | Program, tools: Path) -> Installed | None:
    """Return the package when the tools folder holds it at the pinned version, else ``None``.

    The version is read from the metadata that npm or the wheel left: nothing is run. A program is there when it is
    an executable file.
    """
    if isinstance(package, Program):
        there = package.path.is_file() and os.access(package.path, os.X_OK)
        return Installed(package.path, package.version, package.folder or package.path) if there else None
    return _find_in(package, tools / package.name)


def install(package: Package | Program, tools: Path, say: Callable[[str], None]) -> Installed:
    """Return the package, installing it first when the pinned version is not there.

    npm is tried first, then the wheel that carries the same binary. The work is done in a folder beside the final one
    and renamed at the end, under a lock: an interrupted or concurrent installation leaves nothing half done. Nothing
    is written outside ``tools``. ``say`` gets a line only when there is something to do.

    Raises:
        InstallError: the disk is too full, there is neither npm nor a wheel, or the download failed; a program that is
            to be there already is not.
    """
    if found := find(package, tools):
        return found
    if isinstance(package, Program):
        raise InstallError(f"{package.name}: no program at {package.path}: install what brings it along")
    tools.mkdir(parents=True, exist_ok=True)
    with FileLock(tools / f"{package.name}.lock"):
        if found := find(package, tools):
            return found
        _require_space(package, tools)
        _install_into_place(package, tools, say)
    if found := find(package, tools):
        return found
    raise InstallError(f"{package.name}: no program for this machine in {package.npm} {package.version}")


def _find_in(package: Package, folder: Path) -> Installed | None:
    if _npm_version(folder / "node_modules" / package.npm) == package.version:
        pattern = package.executable
    elif package.wheel and _has_wheel(package.wheel, folder):
        pattern = package.wheel.executable
    else:
        return None
    for binary in sorted(folder.glob(pattern)):
        if os.access(binary, os.X_OK):
            # A sandbox shows the folder where it really is, not a link that leads there.
            return Installed(binary.resolve(), package.version, folder.resolve())
    return None


def _npm_version(folder: Path) -> str | None:
    try:
        version = json.loads((folder / "package.json").read_bytes())["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(version)


def _has_wheel(wheel: Wheel, folder: Path) -> bool:
    return (folder / f"{wheel.distribution.replace('-', '_')}-{wheel.version}.dist-info" / "METADATA").is_file()


def _require_space(package: Package, tools: Path) -> None:
    free = shutil.disk_usage(tools).free
    if free < FREE_BYTES_NEEDED:
        raise InstallError(
            f"{package.name}: {free / 1e9:.1f} GB free below {tools}, {FREE_BYTES_NEEDED / 1e9:.0f} GB needed: "
            "make room on that disk, then run: make setup"
        )


def _install_into_place(package: Package, tools: Path, say: Callable[[str], None]) -> None:
    partial = tools / f"{package.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        _download(package, partial, tools, say)
        final = tools / package.name
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _download(package: Package, folder: Path, tools: Path, say: Callable[[str], None]) -> None:
    npm = shutil.which("npm")
    problem = "npm is needed and was not found: install Node.js with npm, then run: make setup"
    if npm:
        say(f"installing {package.name} {package.version} (npm, one time)")
        try:
            return _run(_npm_command(npm, package, folder, tools / "cache" / "npm"))
        except InstallError as error:
            problem = f"npm could not install {package.npm} {package.version}: {error}"
    if package.wheel is None:
        raise InstallError(f"{package.name}: {problem}")
    wheel = package.wheel
    say(f"installing {package.name} {package.version} (wheel of {wheel.distribution} {wheel.version}, one time)")
    try:
        _run(_wheel_command(wheel, folder, tools))
    except InstallError as error:
        raise InstallError(
            f"{package.name}: {problem}; {wheel.distribution} {wheel.version} failed too: {error}"
        ) from None


def _npm_command(npm: str, package: Package, folder: Path, cache: Path) -> list[str]:
    # A person's own npm settings may say "global", "offline copies only" or "no optional packages": what decides
    # where and what is installed is therefore stated, and the rest (registry, proxy, certificates) stays theirs.
    return [
        npm,
        "install",
        f"--prefix={folder}",
        f"--cache={cache}",
        "--global=false",
        "--include=optional",
        "--ignore-scripts",
        "--save-exact",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        f"{package.npm}@{package.version}",
        *package.also,
    ]


def _wheel_command(wheel: Wheel, folder: Path, tools: Path) -> list[str]:
    uv = shutil.which("uv", path=f"{tools / 'uv' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    if uv is None:
        raise InstallError("uv is needed and was not found: run: make setup")
    requirement = f"{wheel.distribution}=={wheel.version}"
    cache = tools / "cache" / "uv"
    return [uv, "pip", "install", "--quiet", "--no-deps", f"--cache-dir={cache}", f"--target={folder}", requirement]


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise InstallError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise InstallError(_reason(done.stderr.decode(errors="replace"), done.returncode))


def _reason(stderr: str, exit_code: int) -> str:
    """Return the two lines of an installer's complaint that say most: npm's begins with codes, uv's has causes."""
    lines = [_PREFIX.sub("", line).strip() for line in stderr.splitlines()]
    telling = [line for line in lines if len(line.split()) >= _TELLING_WORDS]
    return "; ".join(telling[:2]) or f"exit code {exit_code}"
