"""The shape of the project: who may import whom, how long things may be, and what no file may name."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

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
    "environments": 4,
    "tasks": 4,
    "agents": 5,
    "hosting": 6,
    "trials": 7,
    "judging": 8,
    "results": 9,
    "checking": 10,
    "router": 10,
    "runs": 11,
    "batch": 12,
    "mining": 12,
    "cli": 13,
}

MODULE_LINES = 400
FUNCTION_LINES = 60

ROOMS_OF_A_NAME = 2
"""Rooms that may have a file of one name: as a rule the record's, and that of the room which makes it."""

IN_EVERY_ROOM = {"__init__", "base"}
"""Files whose name says the same everywhere: ``base`` holds the protocol of a family."""

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
    assert rooms == FLOORS.keys(), "a new wing gets its floor here and in AGENTS.md; one that went, goes"


def test_a_wing_imports_itself_and_lower_floors_only() -> None:
    # What the package itself offers it imports when it is asked, which test_public_interface.py holds.
    rooms = {path: wing_of(path) or "" for path in MODULES if module_id(path) != "__init__.py"}
    wrong = [
        f"{module_id(path)}:{line}: {room} (floor {FLOORS.get(room, 0)}) imports {other} (floor {FLOORS[other]})"
        for path, room in rooms.items()
        for line, other in imported_wings(path)
        if other != room and FLOORS[other] >= FLOORS.get(room, 0)
    ]
    assert wrong == []


def test_modules_and_functions_stay_short() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in MODULES}
    long = [
        f"{module_id(path)}:{node.lineno}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []
    assert [module_id(path) for path, source in sources.items() if len(source.splitlines()) > MODULE_LINES] == []


def public_classes(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each public class of a module, and where it is."""
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, f"{module_id(path)}:{node.lineno}"


def test_no_two_public_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for name, place in public_classes(path):
            places[name].append(place)
    twice = [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]
    assert twice == [], "say in the name what each one is, make it private (_Name), or let one module have it alone"


def rooms_by_name(modules: list[Path]) -> Mapping[str, set[str]]:
    """Return the rooms that have a file, by the file's name.

    A command's file has the command's name, whatever the rooms below call what it shows, so ``cli`` is left out.
    """
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in modules:
        room = wing_of(path)
        if room not in {None, "cli"} and path.stem not in IN_EVERY_ROOM:
            rooms[path.stem].add(str(room))
    return rooms


def test_no_file_name_is_in_three_rooms() -> None:
    common = [
        f"{name}.py: {', '.join(sorted(rooms))}"
        for name, rooms in sorted(rooms_by_name(MODULES).items())
        if len(rooms) > ROOMS_OF_A_NAME
    ]
    assert common == [], "name the file after what it holds in its own room, so that its name alone finds it"


def module_name(path: Path) -> str:
    """Return a module's name as an import has it."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of this package that one imports: inside functions and for types alone count, too."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else str(node.module)


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return modules of which each imports the next and the last the first; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(reversed(found.args[1]))
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    # The public interface names everything and loads nothing before it is asked for: it is part of no circle.
    known = {module_name(path): path for path in MODULES if path.parent != SOURCE or path.stem != "__init__"}
    graph = {
        name: {other for other in imported_modules(path, known) if other in known} - {name}
        for name, path in known.items()
    }
    assert sum(map(len, graph.values())) > len(graph), "the imports are not found"
    assert circle(graph) == [], "move what both need into a module of its own, below both"


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) in (
        ["a", "b", "c", "a"],
        ["b", "c", "a", "b"],
        ["c", "a", "b", "c"],
    )
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


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
