"""The shape of the project: who may import whom, how long things may be, and what no file may name."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from swetrials.store.project import find_project

ROOT = find_project().root
SOURCE = ROOT / "src" / "swetrials"
REPOSITORY = ROOT.parent

FLOORS = {
    "records": 1,
    "store": 2,
    "pricing": 3,
    "workspace": 3,
    "wire": 3,
    "rehearsal": 4,
    "tasks": 4,
    "agents": 5,
    "hosting": 6,
    "trials": 7,
    "judging": 8,
    "results": 9,
    "router": 10,
    "runs": 11,
    "batch": 12,
    "cli": 13,
}

MODULE_LINES = 400
FUNCTION_LINES = 60

MODULES = sorted(SOURCE.rglob("*.py"))


def module_id(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def wing_of(path: Path) -> str | None:
    """Return the wing a module is in; ``errors`` and ``plugins``, which all may import, and the face are in none."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else None


def imported_wings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and room of every import from this package, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module_id(path)}:{node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "swetrials" and len(parts) > 1 and parts[1] in FLOORS:
                yield node.lineno, parts[1]


def test_every_wing_has_a_floor() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms, "no wings found"
    assert rooms <= FLOORS.keys()


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_a_wing_imports_itself_and_lower_floors_only(path: Path) -> None:
    room = wing_of(path)
    if module_id(path) == "__init__.py":
        return  # it imports nothing before it is asked, which test_public_interface.py holds
    wrong = [
        f"{module_id(path)}:{line}: {room} (floor {FLOORS.get(room or '', 0)}) imports {other} (floor {FLOORS[other]})"
        for line, other in imported_wings(path)
        if other != room and FLOORS[other] >= FLOORS.get(room or "", 0)
    ]
    assert wrong == []


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_modules_and_functions_stay_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    long = [
        f"{module_id(path)}:{node.lineno}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []
    assert len(source.splitlines()) <= MODULE_LINES


def test_the_package_is_no_namespace_by_accident() -> None:
    folders = {path.parent for path in MODULES}
    assert [module_id(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def tracked_files() -> list[Path]:
    """Return every file that is committed, or would be by ``git add``, but the lock file, which names its registry."""
    command = ["git", "-C", str(REPOSITORY), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
    return [REPOSITORY / name for name in listed if name and not name.endswith("uv.lock")]


def test_no_file_names_a_home_folder_or_a_registry() -> None:
    # The patterns are put together here, so that this file does not match itself.
    homes = r"(?<![\w.])/(?:home|Users|root)" + r"/[A-Za-z0-9._-]"
    registries = "|".join(
        re.escape(host) for host in ("pypi" + ".org", "files.python" + "hosted", "registry.npm" + "js")
    )
    pattern = re.compile(f"{homes}|{registries}".encode())
    files = [path for path in tracked_files() if path.is_file()]
    assert SOURCE / "__init__.py" in files, "git lists the wrong files"

    found = [
        f"{path.relative_to(REPOSITORY)}: {match.group()!r}"
        for path in files
        for match in pattern.finditer(path.read_bytes())
    ]

    assert found == []
