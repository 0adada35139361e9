"""Files that could be taken for a hidden one, or that would be loaded in its place."""

from collections.abc import Collection
from pathlib import PurePosixPath


def taken_for(path: str, hidden: Collection[str], *, is_new: bool) -> str | None:
    """Return how a file stands to the hidden ones; ``None``: it has nothing to do with them.

    Python prefers a package, and a compiled module, to a module of the same name in the same folder.

    Args:
        path: of the file that a change touches.
        hidden: the paths of the hidden files.
        is_new: whether the change adds it.
    """
    if path in hidden:
        return "it has the path of a hidden file"
    if not is_new:
        return None
    given = PurePosixPath(path)
    for one in map(PurePosixPath, hidden):
        if one.name == "__init__.py":
            continue
        if given.name == one.name:
            return f"it has the name of the hidden file {one}"
        module = one.with_suffix("")
        same_stem = given.parent == one.parent and given.name.split(".")[0] == one.stem
        if one.suffix and (module in (given, *given.parents) or same_stem):
            return f"it would be loaded in place of the hidden file {one}"
    return None
