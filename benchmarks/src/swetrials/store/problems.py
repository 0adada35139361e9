"""Faults in a file that a person wrote, each as one line that says where and what."""

from collections.abc import Iterable
from dataclasses import dataclass

from swetrials.errors import KnownError


@dataclass(frozen=True)
class Problem:
    """One fault. As text: ``dataset/x.yaml:37: tasks[3].complexity: 'hihg' is not one of ...``.

    ``file`` is the file's path as it was given, or the name of the environment variable or flag that
    the value came from; ``line`` counts from 1; ``field`` is empty where the whole file is meant.
    """

    file: str
    line: int | None
    field: str
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (where, self.field, self.message) if part)


class DocumentError(KnownError):
    """What a person wrote cannot be used. Its text is one line per problem, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        unique = dict.fromkeys(problems)
        self.problems: tuple[Problem, ...] = tuple(sorted(unique, key=lambda problem: problem.line or 0))
        super().__init__("\n".join(map(str, self.problems)))
