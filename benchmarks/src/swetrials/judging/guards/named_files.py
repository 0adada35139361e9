"""Files of the repository that a task's commands run or are set up by, or find on ``PATH``."""

import re
from dataclasses import dataclass
from itertools import pairwise

from swetrials.records.dataset import Verify

_BETWEEN_WORDS = re.compile(r"[\s;|&()<>=:,'\"`${}]+")
_INTERPRETER = re.compile(
    r"(?:.*/)?(?:python[\d.]*|pypy[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|(?:ba|da|z|k)?sh|env|exec|source|\.)"
)
_SETTINGS = re.compile(r".+\.(?:ini|cfg|conf|toml|ya?ml|json|rc|mk)")
_ALWAYS_RUN = frozenset({"bash", "env", "go", "make", "node", "npm", "npx", "pytest", "python", "python3", "sh"})


@dataclass(frozen=True)
class NamedFiles:
    """What the words of commands name.

    Attributes:
        words: each single one, also of a line that a shell reads.
        programs: those that stand where a program does, or a script after its interpreter; scripts of a shell, and
            settings that an option names.
    """

    words: frozenset[str]
    programs: frozenset[str]

    @classmethod
    def of(cls, verify: Verify) -> "NamedFiles":
        """Return what the commands of a task name, those of setup included."""
        words: set[str] = set()
        programs: set[str] = set()
        for argv in (*verify.setup, *verify.commands):
            found = [word for part in argv for word in _BETWEEN_WORDS.split(part) if word]
            plain = [word for word in found if not word.startswith("-")]
            programs.update(word for before, word in pairwise(("env", *plain)) if _INTERPRETER.fullmatch(before))
            programs.update(word for word in plain if word.startswith("./") or word.endswith(".sh"))
            given = pairwise(found)
            programs.update(word for flag, word in given if flag.startswith("-") and _SETTINGS.fullmatch(word))
            words.update(found)
        return cls(*(frozenset(word.removeprefix("./") for word in some) for some in (words, programs)))

    @property
    def folders(self) -> frozenset[str]:
        """Folders that the words may be, and those of files that they may be."""
        return frozenset(folder for word in self.words for folder in (word.rstrip("/"), word.rpartition("/")[0]))

    def names(self, path: str, *, runs: bool) -> bool:
        """Whether a command runs a file, or is set up by it; a file that it is only given is what is tested.

        Args:
            path: of the file.
            runs: whether it may be executed, or is a link.
        """
        folder, _, name = path.rpartition("/")
        if _is_among(path, self.programs):
            return True
        on_path = "PATH" in self.words and bool(folder) and _is_among(folder, self.words)
        return on_path or (runs and name in self.programs | _ALWAYS_RUN)


def _is_among(path: str, words: frozenset[str]) -> bool:
    return path in words or any(word.endswith(f"/{path}") for word in words)
