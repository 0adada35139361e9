"""``clean``: giving disk space back."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from swetrials.errors import KnownError
from swetrials.runs.clearing import SORTS, Clearable, Sort, clearables
from swetrials.store.documents import load_config
from swetrials.store.project import find_project


def clean(path: Path | None, flags: Mapping[str, object], sorts: Sequence[Sort], *, dry_run: bool) -> int:
    """Take away what was asked for, or show what there is.

    Returns:
        Exit code: 1 when something could not be removed; each is named.
    """
    found = clearables(load_config(path, os.environ, flags), find_project(), sorts or SORTS)
    for sort in sorts or SORTS:
        some = [clearable for clearable in found if clearable.sort == sort]
        print(f"{sort}: {_megabytes(sum(c.size_bytes for c in some))} in {len(some)} folders")
        for clearable in some:
            used = "  (in use, stays)" if clearable.in_use else ""
            print(f"  {_megabytes(clearable.size_bytes):>12}  {clearable.path}{used}")
    if not sorts:
        print("nothing was removed: say what to remove, --caches, --checkouts, --trash or --all")
        return 0
    if dry_run:
        print("nothing was removed (--dry-run)")
        return 0
    return _remove([clearable for clearable in found if not clearable.in_use])


def _remove(found: Sequence[Clearable]) -> int:
    freed, failed = 0, 0
    for clearable in found:
        try:
            if clearable.clear():
                freed += clearable.size_bytes
            else:
                print(f"stays, somebody has begun to use it: {clearable.path}")
        except (KnownError, OSError) as error:
            failed += 1
            print(f"failed: {error}")
    print(f"freed: {_megabytes(freed)}")
    return 1 if failed else 0


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
