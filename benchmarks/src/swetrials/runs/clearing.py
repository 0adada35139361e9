"""What a person may want back of their disk: caches, kept checkouts, trash; never results, never work under way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from swetrials.environments.preparation_store import PreparationStore
from swetrials.records.config import RunnerConfig
from swetrials.store.project import Project
from swetrials.store.results import TRASH
from swetrials.workspace.clearing import Leftover, clear, is_held, leftovers, size_of
from swetrials.workspace.space import private_root, remove_tree

Sort = Literal["caches", "checkouts", "preparations", "trash"]
SORTS: tuple[Sort, ...] = ("caches", "checkouts", "preparations", "trash")

_RUN_LOCKS = "*/*/*/*/.lock"


@dataclass(frozen=True)
class Clearable:
    """Something that takes room. ``clear`` takes it away and says whether it could; ``in_use``: it would not."""

    sort: Sort
    path: Path
    size_bytes: int
    in_use: bool
    clear: Callable[[], bool]


def clearables(config: RunnerConfig, project: Project, sorts: Sequence[Sort]) -> list[Clearable]:
    """Return what there is of some sorts: in the working folder, below the results, among the project's tools.

    Caches are mirrors of repositories and what installers have downloaded; both come back by themselves, and so does
    what environments have prepared.

    Raises:
        SpaceError: the working folder cannot be used.
    """
    results = Path(config.output_dir)
    found: list[Clearable] = []
    if "caches" in sorts or "checkouts" in sorts:
        busy = any(is_held(lock) for lock in results.glob(_RUN_LOCKS))
        root = private_root(Path(config.clone_dir) if config.clone_dir else None)
        found += [_of_work(leftover, busy=busy) for leftover in leftovers(root)]
    found += [_plain("caches", folder) for folder in _folders(project.tools / "cache")]
    if "preparations" in sorts:
        found += _preparations(PreparationStore.of(project))
    found += [_plain("trash", folder) for folder in _folders(results / TRASH)]
    return [clearable for clearable in found if clearable.sort in sorts]


def _of_work(leftover: Leftover, *, busy: bool) -> Clearable:
    mirror = leftover.kind == "mirror"
    # Between two attempts of a run none is under way, and the next one needs the mirror all the same.
    in_use = leftover.in_use or (mirror and busy)
    sort: Sort = "caches" if mirror else "checkouts"
    return Clearable(sort, leftover.path, leftover.size_bytes, in_use, partial(clear, leftover))


def _preparations(store: PreparationStore) -> list[Clearable]:
    logs = [_plain("preparations", store.logs)] if store.logs.is_dir() else []
    return logs + [
        Clearable(
            "preparations",
            stored.folder,
            stored.record.size_bytes,
            store.in_use(stored.folder.name),
            partial(store.remove, stored.folder.name),
        )
        for stored in store.stored()
    ]


def _plain(sort: Sort, folder: Path) -> Clearable:
    return Clearable(sort, folder, size_of(folder), False, partial(_remove, folder))


def _remove(folder: Path) -> bool:
    remove_tree(folder)
    return True


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
