"""A small dataset over a small repository, to be checked with real commands."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import orjson

from environments.strongest import strongest
from swetrials.checking.dataset_check import CheckOptions, CheckViewer, TaskVerdict, check_dataset
from swetrials.checking.task_check import ControlTold
from swetrials.environments.base import Environment
from swetrials.environments.work_context import WorkContext
from swetrials.records.checked import CheckedTask
from swetrials.store.documents import LoadedDataset, load_dataset
from swetrials.store.project import Project
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root

CALC = '"""Sums."""\n\n\ndef add(first, second):\n    return first - second\n\n\ndef name():\n    return "calc"\n'
SOLVED = CALC.replace("first - second", "first + second")
OWN_TEST = """\
import unittest

import calc


class Own(unittest.TestCase):
    def test_name(self):
        self.assertEqual(calc.name(), "calc")
"""
HIDDEN_TEST = """\
import unittest

import calc


class Hidden(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(calc.add(2, 2), 4)

    def test_name(self):
        self.assertEqual(calc.name(), "calc")
"""
ADDS = "test_hidden.Hidden.test_adds"
RUN = ["python3", "-m", "unittest", "-q", "test_own", "test_hidden"]


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@dataclass
class Subject:
    """A folder with a repository, a dataset of tasks on it, and what is printed of its check."""

    root: Path
    files: Mapping[str, str] = field(default_factory=lambda: {"calc.py": CALC, "test_own.py": OWN_TEST})
    solved: Mapping[str, str | None] = field(default_factory=lambda: {"calc.py": SOLVED})
    hidden: str = HIDDEN_TEST
    verify: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    tasks: int = 1
    runs_in: Environment = field(default_factory=strongest)
    controls: list[ControlTold] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the repository, and the dataset beside it."""
        source = self.root / "source"
        source.mkdir(parents=True)
        git(source, "init", "-q", "--initial-branch=main")
        self._write(source, self.files)
        git(source, "add", "-A")
        git(source, "commit", "-q", "-m", "first")
        self._write(source, self.solved)
        git(source, "add", "-A")
        (self.root / "solution.patch").write_text(git(source, "diff", "--cached", "--full-index"))
        git(source, "reset", "-q", "--hard")
        (self.root / "test_hidden.py").write_text(self.hidden)
        self.write()

    def _write(self, folder: Path, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True) if text is None else path.write_text(text)

    @property
    def file(self) -> Path:
        return self.root / "small.yaml"

    def write(self, **changes: object) -> None:
        """Write the dataset; ``changes`` are of ``verify``, ``None`` takes a key away."""
        verify: dict[str, Any] = {
            "commands": [RUN], "report": "unittest", "fail_to_pass": [ADDS], "solution": "solution.patch",
            "hidden_files": {"test_hidden.py": "test_hidden.py"}, "timeout_seconds": 60, **self.verify, **changes,
        }  # fmt: skip
        task = {
            "repo": "./source", "ref": "main", "complexity": "low", "problem_statement": "Make it add.",
            "verify": {key: value for key, value in verify.items() if value is not None},
        }  # fmt: skip
        header = {"schema_version": "1.0", "name": "small", "environment": dict(self.environment)}
        tasks = [{"id": f"task-{number}", **task} for number in range(1, self.tasks + 1)]
        self.file.write_bytes(orjson.dumps({**header, "tasks": tasks}))

    def loaded(self) -> LoadedDataset:
        return load_dataset(self.file)

    @property
    def place(self) -> WorkContext:
        work = private_root(self.root / "work")
        return WorkContext(
            Repositories(self.root / "mirrors"), work, self.runs_in, Redactor([]), Project(self.root / "project")
        )

    def check(self, times: int = 1, *, force: bool = False) -> list[TaskVerdict]:
        loaded, viewer = self.loaded(), CheckViewer(self.controls.append, lambda verdict: None)
        options = CheckOptions(times, jobs=2, force=force)
        return anyio.run(check_dataset, loaded, loaded.dataset.tasks, self.place, options, viewer)

    def checked(self, times: int = 1) -> CheckedTask:
        """Return what the check of the first task has shown."""
        found = self.check(times)[0]
        assert found.check is not None, found.why_not
        return found.check
