"""The tools of this machine that a dataset's environment is made with: uv, an interpreter, Node."""

import functools
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from swetrials.environments.base import PreparationError
from swetrials.records.environment import EnvironmentSpec
from swetrials.store.project import Project
from swetrials.workspace.variables import is_open_folder, search_path, toolchain_roots

_LIMIT_SECONDS = 120.0
"""uv may have to be installed first."""

_TOOLS_OF = {
    "uv": ("uv",),
    "uvx": ("uv",),
    "python": ("python3",),
    "python3": ("python3",),
    "pip": ("python3",),
    "pip3": ("python3",),
    "node": ("node",),
    "npm": ("node", "npm"),
    "npx": ("node", "npm"),
    "yarn": ("node", "yarn"),
    "pnpm": ("node", "pnpm"),
    "cargo": ("cargo",),
}
"""Programs that a setup may begin with, and what their outcome depends on."""


class ToolMissingError(PreparationError):
    """A dataset asks for a tool that this machine has not; the message says what installs it."""


@dataclass(frozen=True)
class Toolchain:
    """What was found.

    Attributes:
        versions: of each tool that is used, by name.
        uv: the program; ``None`` where it is not needed.
        python: the interpreter that was asked for.
        shown: folders and files of the machine without which the tools do not run.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    uv: Path | None = None
    python: Path | None = None
    shown: tuple[Path, ...] = ()


def find_tools(spec: EnvironmentSpec, project: Project) -> Toolchain:
    """Return the tools that an environment is made with, as this process has first found them.

    No interpreter is downloaded.

    Raises:
        ToolMissingError: one is not there.
    """
    used = frozenset(tool for argv in spec.setup for tool in _TOOLS_OF.get(argv[0], ()))
    return _found(spec.python, spec.node, used, project, _path())


@functools.cache
def _found(python: str | None, node: str | None, used: frozenset[str], project: Project, path: str) -> Toolchain:
    uv = _find_uv(project) if python or "uv" in used else None
    versions = {"uv": _first_line(uv)} if uv else {}
    wanted = used - {"uv"} - ({"python3"} if python else set()) | ({"node"} if node else set())
    for tool in sorted(wanted):
        if found := shutil.which(tool, path=path):
            versions[tool] = _first_line(Path(found))
    if node:
        _require_node(node, versions.get("node", ""))
    if not (python and uv):
        return Toolchain(versions, uv)
    interpreter, version, prefix = _find_python(python, uv, project)
    return Toolchain(versions | {"python": f"{version} {interpreter}"}, uv, interpreter, (prefix,))


def _path(*first: str) -> str:
    return os.pathsep.join((*first, search_path(os.environ.get("PATH", os.defpath))))


def _find_uv(project: Project) -> Path:
    """Return the uv on PATH, else the project's own, which is installed when there is a way to."""
    if found := _uv_there(project):
        return found
    fix = "install it: python3 -m pip install uv"
    _said([project.uv, "--version"], "uv was not found, which makes Python environments", fix)
    if found := _uv_there(project):
        return found
    raise ToolMissingError(f"uv was not found, which makes Python environments; {fix}")


def _uv_there(project: Project) -> Path | None:
    for found in (shutil.which("uv", path=_path()), project.tools / "uv" / "bin" / "uv"):
        if found and Path(found).is_file():
            return Path(found).resolve()
    return None


def _find_python(version: str, uv: Path, project: Project) -> tuple[Path, str, Path]:
    """Return an interpreter, its full version, and the folder that all of it lies in."""
    # A launcher of pyenv is on PATH for each version that is installed, and starts none but that which is switched on.
    root = toolchain_roots(os.environ).get("PYENV_ROOT")
    versions = Path(root, "versions") if root else None
    own = sorted(map(str, versions.glob("*/bin"))) if versions and is_open_folder(versions) else []
    words = [str(uv), "python", "find", "--no-project", "--system", "--no-config", version]
    environment = {
        **os.environ,
        "PATH": _path(*own),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_CACHE_DIR": str(project.tools / "cache" / "uv"),
    }
    missing = f"this machine has no Python {version}"
    found = _said(words, missing, f"install it: uv python install {version}", environment)
    asked = "import sys; print('.'.join(map(str, sys.version_info[:3]))); print(sys.base_prefix)"
    told = _said([found, "-I", "-c", asked], f"{found} does not run").splitlines()
    return Path(found).resolve(), told[0], Path(told[1]).resolve()


def _require_node(wanted: str, found: str) -> None:
    if not f"{found.removeprefix('v')}.".startswith(f"{wanted}."):
        there = f"this machine has {found}" if found else "this machine has none"
        raise ToolMissingError(f"node: {wanted!r} is asked for, and {there}; put Node {wanted} first on PATH")


def _first_line(program: Path) -> str:
    said = _said([str(program), "--version"], f"{program.name} does not run")
    return said.splitlines()[0] if said else "unknown"


def _said(words: list[str], fault: str, fix: str = "", environment: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_SECONDS,
            cwd="/",
            env=environment,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissingError(f"{fault}: {error}" + (f"; {fix}" if fix else "")) from None
    if done.returncode == 0:
        return done.stdout.strip()
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    raise ToolMissingError(f"{fault}" + (f"; {fix}" if fix else f": {lines[-1] if lines else 'no word'}"))
