"""Files of the repository that a task's commands run or are set up by, or find on ``PATH``."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from swetrials.records.dataset import Verify

_BETWEEN_WORDS = re.compile(r"[\s;|&()<>=:,'\"`${}]+")
_INTERPRETER = re.compile(
    r"(?:.*/)?(?:python[\d.]*|pypy[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|(?:ba|da|z|k)?sh|env|exec|source|\.)"
)
_SETTINGS = re.compile(r".+\.(?:ini|cfg|conf|toml|ya?ml|json|rc|mk)")
_ALWAYS_RUN = frozenset({"bash", "env", "go", "make", "node", "npm", "npx", "pytest", "python", "python3", "sh"})
_STARTERS = {
    "make": "Makefile",
    "just": "justfile",
    "tox": "tox.ini",
    "nox": "noxfile.py",
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), "package.json"),
}
# What starts programs that are written down in a file of the repository.


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
    def of(cls, verify: Verify, read: Callable[[str], bytes | None]) -> "NamedFiles":
        """Return what the commands of a task name, those of setup included, and the scripts that those start.

        Args:
            verify: the commands.
            read: gives what a file holds before the change.
        """
        words: set[str] = set()
        programs: set[str] = set()
        for argv in (*verify.setup, *verify.commands):
            found = [word for part in argv for word in _BETWEEN_WORDS.split(part) if word]
            programs.update(_programs(["env", *found]))
            words.update(found)
        for starter, file in _STARTERS.items():
            lines = (read(file) or b"").decode(errors="replace").splitlines() if starter in words else []
            programs.update(word for line in lines for word in _programs(_BETWEEN_WORDS.split(line)))
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
        module = re.sub(r"(/__(init|main)__)?\.py$", "", path).replace("/", ".")
        if _is_among(path, self.programs) or module in self.programs:
            return True
        on_path = "PATH" in self.words and bool(folder) and _is_among(folder, self.words)
        return on_path or (runs and name in self.programs | _ALWAYS_RUN)


def _programs(found: Sequence[str]) -> Iterator[str]:
    """Yield the words of a line that are run, and the settings that an option names."""
    plain = [word for word in found if word and not word.startswith("-")]
    yield from (word for before, word in pairwise(plain) if _INTERPRETER.fullmatch(before))
    yield from (word for word in plain if word.startswith("./") or word.endswith(".sh"))
    yield from (word for flag, word in pairwise(found) if flag.startswith("-") and _SETTINGS.fullmatch(word))


def _is_among(path: str, words: frozenset[str]) -> bool:
    return path in words or any(word.endswith(f"/{path}") for word in words)
