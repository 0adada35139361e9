"""Files that could be taken for a hidden one, or that would be loaded in its place."""

from collections.abc import Collection, Mapping
from functools import lru_cache
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
    by_name, by_module = _found_by(frozenset(hidden))
    given = PurePosixPath(path)
    if one := by_name.get(given.name):
        return f"it has the name of the hidden file {one}"
    stem = given.parent / given.name.split(".")[0]
    for module in (stem, given, *given.parents):
        if one := by_module.get(str(module)):
            return f"it would be loaded in place of the hidden file {one}"
    return None


@lru_cache(maxsize=4)
def _found_by(hidden: frozenset[str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the hidden files by their names, and by their paths without the suffix: a patch may have many files."""
    files = [one for one in map(PurePosixPath, sorted(hidden)) if one.name != "__init__.py"]
    by_module = {str(one.parent / one.name.split(".")[0]): str(one) for one in files if one.suffix}
    return {one.name: str(one) for one in files}, {
        str(one.with_suffix("")): str(one) for one in files if one.suffix
    } | by_module
