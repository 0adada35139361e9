"""Modules that Python would find in place of the runner's or of the standard library's.

Python looks in the folders of ``sys.path`` in their order: that of the script or, with ``-m``, the current one comes
first, before the standard library. pytest puts the first folder above a test file in front that is no package
(https://docs.pytest.org/en/stable/explanation/pythonpath.html), unittest the folder in which it looks for tests.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from swetrials.judging.guards.test_files import is_test_folder

RUNNERS = frozenset({"_pytest", "iniconfig", "nose", "nose2", "pluggy", "py", "pytest", "unittest", "xdist"})
"""Modules that run tests, or that those import before anything else."""

_BESIDE = frozenset(
    {"anyio", "attr", "coverage", "exceptiongroup", "execnet", "hypothesis", "packaging", "pygments", "tomli"}
)
# What runners and their plugins import before any test.

_IMPORTED = sys.stdlib_module_names | RUNNERS | _BESIDE
_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
_OFTEN_SEARCHED = frozenset({"src", "lib"})
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


def imported_by(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of the topmost modules that texts of Python import."""
    return frozenset(name for text in texts for name in _IMPORT.findall(text))


@dataclass(frozen=True)
class Shadowing:
    """Tells which new files would be found in place of others.

    Attributes:
        holds: whether a file is in the repository before the change.
        added: files that a change adds.
        searched: folders that are on ``sys.path`` whatever they hold.
        installed: further modules, which the hidden tests have from elsewhere than the repository.
    """

    holds: Callable[[str], bool]
    added: Collection[str]
    searched: Collection[str]
    installed: Collection[str] = ()

    def shadowed(self, path: str, *, is_link: bool) -> str | None:
        """Return the module in whose place a file would be found; ``None``: none.

        A module of that name that the repository has had before is its own, and what is in a package has the
        package's name in front. A folder that is no package is found last, and shadows nothing.
        """
        parts = path.split("/")
        for count, part in enumerate(parts):
            folder, is_file = "/".join(parts[:count]), count == len(parts) - 1
            name = part.split(".")[0] if is_file and part.endswith(_SUFFIXES) else part
            imported_by_name = name in _IMPORTED or name.startswith("pytest_") or name in self.installed
            if not imported_by_name or not self._is_searched(folder):
                continue
            module = f"{folder}/{name}".lstrip("/")
            imported = (name != part or is_link) if is_file else f"{module}/__init__.py" in self.added
            if imported and not self.holds(f"{module}.py") and not self.holds(f"{module}/__init__.py"):
                return name
        return None

    def _is_searched(self, folder: str) -> bool:
        return (
            not folder
            or folder in self.searched
            or (folder in _OFTEN_SEARCHED and not self.holds(f"{folder}/__init__.py"))
            or (is_test_folder(folder) and not self._is_package(folder))
        )

    def _is_package(self, folder: str) -> bool:
        file = f"{folder}/__init__.py"
        return file in self.added or self.holds(file)
