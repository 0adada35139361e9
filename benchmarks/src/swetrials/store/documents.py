"""Reading what people write: datasets, the configuration, other YAML documents, with every fault at its line."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import BaseModel

from swetrials.records.dataset import Dataset, Task, is_local_address
from swetrials.store.configuration import load_config
from swetrials.store.problems import DocumentError, Problem
from swetrials.store.validation import Origin, validated
from swetrials.store.yaml_source import Loc, YamlSource, field_name, read_yaml

__all__ = ["DocumentError", "LoadedDataset", "Problem", "load_config", "load_dataset", "load_document"]

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class LoadedDataset:
    """A dataset with the file it came from, against which its relative paths are resolved.

    ``sha256`` is that of the file's bytes, in hexadecimal.
    """

    dataset: Dataset
    path: Path
    sha256: str

    @property
    def folder(self) -> Path:
        """The folder that holds the dataset's file, as an absolute path."""
        return self.path.resolve().parent

    def repo_address(self, task: Task) -> str:
        """Return what git can clone from anywhere: a URL as it is, a path or bundle made absolute."""
        return str((self.folder / task.repo).resolve()) if is_local_address(task.repo) else task.repo

    @property
    def local_repositories(self) -> tuple[Path, ...]:
        """The repositories and bundles of this machine that tasks are from; later commits may hold the fix."""
        local = (self.repo_address(task) for task in self.dataset.tasks if is_local_address(task.repo))
        return tuple(dict.fromkeys(map(Path, local)))

    def hidden_files(self, task: Task) -> dict[str, Path]:
        """Return where each hidden file or folder of a task is, by its path in the repository.

        Raises:
            DocumentError: one of them is not there, or lies outside the dataset's folder.
        """
        loc: Loc = ("tasks", self.dataset.tasks.index(task), "verify", "hidden_files")
        files, problems = {}, []
        for target, source in (task.verify.hidden_files if task.verify else {}).items():
            try:
                files[target] = _inside(self.folder, source)
            except ValueError as error:
                problems.append(Problem(str(self.path), None, field_name((*loc, target)), str(error)))
        if problems:
            raise DocumentError(problems)
        return files

    def solution(self, task: Task) -> Path | None:
        """Return where the change is that people made for a task; ``None``: the dataset has none.

        Raises:
            DocumentError: it is no file, or lies outside the dataset's folder.
        """
        if task.verify is None or task.verify.solution is None:
            return None
        try:
            found = _inside(self.folder, task.verify.solution)
            if not found.is_file():
                raise ValueError(f"{task.verify.solution!r} is no file")
            return found
        except ValueError as error:
            loc: Loc = ("tasks", self.dataset.tasks.index(task), "verify", "solution")
            raise DocumentError([Problem(str(self.path), None, field_name(loc), str(error))]) from None

    def task_sha256(self, task: Task) -> str:
        """Return the SHA-256 of a task's text and settings, ground truth included, whatever their order in the file.

        Its environment is not in it: that has a hash of its own (:attr:`EnvironmentSpec.sha256`).
        """
        return _sha256_of(task.model_dump(mode="json", exclude={"environment"}))


def load_dataset(path: Path) -> LoadedDataset:
    """Read and check a dataset, down to the existence of its hidden files and solutions.

    Raises:
        DocumentError: one problem per fault, with its line.
    """
    source = read_yaml(path)
    loaded = LoadedDataset(_record(source, Dataset), path, source.sha256)
    problems: list[Problem] = []
    for task in loaded.dataset.tasks:
        try:
            loaded.hidden_files(task)
            loaded.solution(task)
        except DocumentError as error:
            problems.extend(error.problems)
    if problems:
        raise DocumentError(_with_lines(problems, source))
    return loaded


def load_document(path: Path, model: type[R]) -> R:
    """Read a YAML file as a record of ``model``.

    Raises:
        DocumentError: one problem per fault, with its line.
    """
    return _record(read_yaml(path), model)


def _sha256_of(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _record(source: YamlSource, model: type[R]) -> R:
    return validated(model, source.data, lambda loc: Origin(source.file, source.places[loc]))


def _with_lines(problems: list[Problem], source: YamlSource) -> list[Problem]:
    lines = {field_name(loc): place.line for loc, place in source.places.items()}
    return [Problem(p.file, lines.get(p.field), p.field, p.message) for p in problems]


def _inside(folder: Path, relative: str) -> Path:
    try:
        found = (folder / relative).resolve()
    except (OSError, RuntimeError):  # a loop of links: RuntimeError up to Python 3.12
        raise ValueError(f"{relative!r} cannot be followed") from None
    if not found.is_relative_to(folder):
        raise ValueError(f"{relative!r} lies outside the dataset's folder")
    if not found.exists():
        raise ValueError(f"{relative!r} does not exist beside the dataset")
    return found
