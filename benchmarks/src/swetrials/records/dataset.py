"""The dataset: a header and a list of tasks, as written by a person in YAML."""

import re
import shlex
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from swetrials.records.base import PathPart, Record, RelativeFile

Complexity = Literal["trivial", "low", "medium", "high"]
"""How hard a task is, from the reader's point of view; the router calls it the tier."""

_URL_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://")
_SCP_LIKE = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[A-Za-z0-9._/~-]+")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")


def repository_address(value: str) -> str:
    """Return ``value`` when it can only be understood as the address of a repository.

    Accepted: ``https``, ``http``, ``ssh``, ``git`` and ``file`` URLs, ``user@host:path``, and a path to a
    repository or a git bundle. Git's remote helpers (``ext::sh -c ...``) and anything that git would
    take for an option are refused.

    Raises:
        ValueError: the address is none of these.
    """
    if not value or value != value.strip() or value.startswith("-") or any(ord(c) < 32 for c in value):
        raise ValueError(f"{value!r} is not the address of a repository")
    if value.startswith(_URL_SCHEMES):
        host = value.split("://", 1)[1]
        if host.startswith("-") or "@-" in host:
            raise ValueError(f"{value!r} would be read as an option")
        return value
    if "::" in value or "://" in value:
        raise ValueError(f"{value!r} uses a transport that runs commands; use https, ssh, file or a path")
    if ":" in value and not _SCP_LIKE.fullmatch(value):
        raise ValueError(f"{value!r} is neither a URL, user@host:path, nor a path")
    return value


def git_ref(value: str) -> str:
    """Return ``value`` when git can only take it for a tag, a branch or a commit.

    Raises:
        ValueError: the text starts with a dash or holds what git does not allow in a ref name.
    """
    if not _REF.fullmatch(value) or ".." in value or "//" in value or value.endswith((".lock", "/", ".")):
        raise ValueError(f"{value!r} is not a tag, a branch or a commit")
    return value


def _argv(value: object) -> object:
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise ValueError(f"{value!r} cannot be split into words: {error}") from None
    return value


RepositoryAddress = Annotated[str, AfterValidator(repository_address)]
GitRef = Annotated[str, AfterValidator(git_ref)]
Argv = Annotated[tuple[str, ...], BeforeValidator(_argv), Field(min_length=1)]
"""A command as words. A string is split as a shell would split it; no shell ever runs it."""


class GroundTruth(Record):
    """What a good solution looks like. For the judge alone: it never reaches an agent."""

    approach: str = ""
    expectations: tuple[str, ...] = ()
    reference_url: str | None = None


class Verify(Record):
    """Commands that decide whether a change works, run on a fresh checkout with the patch applied."""

    setup: tuple[Argv, ...] = Field((), description="run first; a failure here says nothing about the patch")
    commands: tuple[Argv, ...] = Field(min_length=1, description="each passes with exit code 0")
    hidden_files: dict[RelativeFile, str] = Field(
        {}, description="path in the repository -> file or folder beside the dataset, added after the patch"
    )
    timeout_seconds: float = Field(300, gt=0, description="for each command")


class Task(Record):
    """One change to make in one repository at one pinned ref."""

    id: PathPart
    repo: RepositoryAddress
    ref: GitRef
    complexity: Complexity
    tags: tuple[str, ...] = ()
    problem_statement: str = ""
    problem_issue_url: str | None = None
    clarifying_answers: str = Field("", description="answers to what a careful engineer would ask first")
    ground_truth: GroundTruth = GroundTruth()
    verify: Verify | None = None

    @model_validator(mode="after")
    def _has_a_problem(self) -> Self:
        if not self.problem_statement.strip() and not self.problem_issue_url:
            raise ValueError("a task needs a problem_statement or a problem_issue_url")
        return self


class Dataset(Record):
    """A header and its tasks. ``ref`` of a task may be left out when the header has ``default_ref``."""

    schema_version: Literal["1.0"]
    name: PathPart
    title: str = ""
    description: str = ""
    created: str = ""
    default_ref: GitRef | None = None
    output_scope: PathPart | None = Field(None, description="results folder; else the repository's name")
    metrics: tuple[str, ...] = ()
    complexity_levels: tuple[Complexity, ...] = ("trivial", "low", "medium", "high")
    tasks: tuple[Task, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _spread_default_ref(cls, data: object) -> object:
        if not isinstance(data, dict) or "default_ref" not in data or not isinstance(data.get("tasks"), list):
            return data
        ref = data["default_ref"]
        tasks = [{"ref": ref, **task} if isinstance(task, dict) else task for task in data["tasks"]]
        return {**data, "tasks": tasks}

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        seen: set[str] = set()
        for task in self.tasks:
            if task.id.lower() in seen:
                raise ValueError(f"task id {task.id!r} is used twice (upper and lower case count as the same)")
            seen.add(task.id.lower())
        return self

    def scope_of(self, task: Task) -> str:
        """Return the results folder of a task: the dataset's ``output_scope``, else the repository's name."""
        return self.output_scope or repository_name(task.repo)


def repository_name(repo: str) -> str:
    """Return the last part of an address without ``.git`` or ``.bundle``, as a safe folder name."""
    name = re.split(r"[/:\\]", repo.rstrip("/"))[-1]
    name = re.sub(r"\.(git|bundle)$", "", name)
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "repository"
