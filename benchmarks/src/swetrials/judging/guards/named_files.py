"""Files of the repository that a task's commands name, or find on ``PATH``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from swetrials.records.dataset import Verify

_BETWEEN_WORDS = re.compile(r"[\s;|&()<>=:,'\"`${}]+")
_ALWAYS_RUN = frozenset({"bash", "env", "go", "make", "node", "npm", "npx", "pytest", "python", "python3", "sh"})


@dataclass(frozen=True)
class NamedFiles:
    """What the words of commands name.

    Attributes:
        words: each single one, also of a line that a shell reads.
        modules: files of the modules that Python is asked to run.
    """

    words: frozenset[str]
    modules: frozenset[str]

    @classmethod
    def of(cls, verify: Verify) -> "NamedFiles":
        """Return what the commands of a task name, those of setup included."""
        words: list[str] = []
        for argv in (*verify.setup, *verify.commands):
            words.extend(word.removeprefix("./") for part in argv for word in _BETWEEN_WORDS.split(part) if word)
        return cls(frozenset(words), frozenset(_modules(words)))

    @property
    def folders(self) -> frozenset[str]:
        """Folders that the words may be, and those of files that they may be."""
        return frozenset(folder for word in self.words for folder in (word.rstrip("/"), word.rpartition("/")[0]))

    def names(self, path: str, *, runs: bool) -> bool:
        """Whether a command runs or reads a file.

        Args:
            path: of the file.
            runs: whether it may be executed, or is a link.
        """
        folder, _, name = path.rpartition("/")
        if self._has(path) or path in self.modules:
            return True
        on_path = "PATH" in self.words and bool(folder) and self._has(folder)
        return on_path or (runs and name in self.words | _ALWAYS_RUN)

    def _has(self, path: str) -> bool:
        return path in self.words or any(word.endswith(f"/{path}") for word in self.words)


def _modules(words: Sequence[str]) -> list[str]:
    found = []
    for flag, name in pairwise(words):
        if flag == "-m":
            module = name.replace(".", "/")
            found += [f"{module}.py", f"{module}/__main__.py"]
    return found
