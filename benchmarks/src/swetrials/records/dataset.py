"""The dataset: a header and a list of tasks, as written by a person in YAML."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from swetrials.records.argv import Argv
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.record import PathPart, Record, RelativeFile, fault_at

Complexity = Literal["trivial", "low", "medium", "high"]
"""How hard a task is, from the reader's point of view; the router calls it the tier."""

TIERS: tuple[Complexity, ...] = get_args(Complexity)
"""The easiest first."""

ReportFormat = Literal["exit-code", "junit", "unittest", "node-test", "go-json", "tap"]
"""How the result of each test is told: nothing but how a command ended, or a report of the runner's."""

RankBy = Literal["resolved", "rubric"]
"""What candidates are ranked by: whether their patches resolve the tasks, or a rubric judge's points."""

MOST_OF_A_TEST_ID = 1000
"""Characters in the id of a test."""

_URL_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://")
_SCP_LIKE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._/~+-]+")
_REF = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]+")
_REPEAT_FOLDER = re.compile(r"--r[0-9]+$")
_FILES_BESIDE = frozenset({"run-summary.json", "run-summary.md"})


def in_tier_order(tiers: Iterable[str]) -> list[str]:
    """Return each tier once: the easiest first, those of another dataset's own naming last, by name."""
    found = set(tiers)
    return [*(tier for tier in TIERS if tier in found), *sorted(found.difference(TIERS))]


def repository_address(value: str) -> str:
    """Return ``value`` when it can only be understood as the address of a repository.

    Accepted: ``https``, ``http``, ``ssh``, ``git`` and ``file`` URLs, ``user@host:path``, and a path to a
    repository or a git bundle. Git's remote helpers (``ext::sh -c ...``), anything that git would take for
    an option, and passwords, which would end up in the records, are refused.

    Raises:
        ValueError: the address is none of these.
    """
    if not value or value != value.strip() or value.startswith("-") or not value.isprintable():
        raise ValueError(f"{value!r} is not the address of a repository")
    if value.startswith(_URL_SCHEMES):
        return _url(value)
    if "::" in value or "://" in value:
        raise ValueError(f"{value!r} uses a transport that is not allowed; use https, ssh, file or a path")
    if ":" in value and not _SCP_LIKE.fullmatch(value):
        raise ValueError(f"{value!r} is neither a URL, user@host:path, nor a path")
    return value


def is_local_address(repo: str) -> bool:
    """Whether a valid address is a path, which counts from the dataset's folder."""
    return "://" not in repo and not _SCP_LIKE.fullmatch(repo)


def _url(value: str) -> str:
    scheme, rest = value.split("://", 1)
    authority, _, path = rest.partition("/")
    userinfo, at, host = authority.rpartition("@")
    if ":" in userinfo:
        raise ValueError("the address holds a password; let git's credential helper or ssh know it instead")
    if authority.startswith("-") or host.startswith("-"):
        raise ValueError(f"{value!r} would be read as an option")
    if not path or (not host and (at or scheme != "file")):
        raise ValueError(f"{value!r} names no repository")
    return value


def git_ref(value: str) -> str:
    """Return ``value`` when git can only take it for a tag, a branch or a commit.

    The rules are those of ``git check-ref-format``; a leading dash (an option) and a leading plus (a forced
    refspec) are refused as well.

    Raises:
        ValueError: the text is not the name of a ref.
    """
    parts = value.split("/")
    malformed = not _REF.fullmatch(value) or value.startswith(("-", "+")) or value.endswith(".") or value == "@"
    if (
        malformed
        or ".." in value
        or "@{" in value
        or any(not p or p.startswith(".") or p.endswith(".lock") for p in parts)
    ):
        relative = any(mark in value for mark in ("~", "^", "@{")) and not value.startswith("-")
        commit = f"; write the commit that this tells: git rev-parse '{value}'" if relative else ""
        raise ValueError(f"{value!r} is not a tag, a branch or a commit{commit}")
    return value


def task_id(value: str) -> str:
    """Return ``value`` when it does not look like the folder of another task's repeat.

    Raises:
        ValueError: it ends in ``--r`` and a number, or a summary has that name.
    """
    if _REPEAT_FOLDER.search(value):
        raise ValueError(f"{value!r} ends like the folder of a repeat (--r2); choose another id")
    if value.lower() in _FILES_BESIDE:
        raise ValueError(f"{value!r} is the name of a file beside the trials' folders; choose another id")
    return value


RepositoryAddress = Annotated[str, AfterValidator(repository_address)]
GitRef = Annotated[str, AfterValidator(git_ref)]
TaskId = Annotated[PathPart, AfterValidator(task_id)]


class GroundTruth(Record):
    """What a good solution looks like. For the judge alone: it never reaches an agent."""

    approach: str = ""
    expectations: tuple[str, ...] = ()
    reference_url: str | None = None


def runner_test_id(value: str) -> str:
    """Return ``value`` when it can name a test of a runner, and be no option of a program.

    Raises:
        ValueError: it is empty, too long, starts with a dash, or has blanks around it or a control character in it.
    """
    if not value or value != value.strip() or value.startswith("-") or not value.isprintable():
        raise ValueError(f"{value!r} cannot be the id of a test; write it as the runner prints it")
    if len(value) > MOST_OF_A_TEST_ID:
        raise ValueError(f"the id of a test has at most {MOST_OF_A_TEST_ID} characters, not {len(value)}")
    return value


RunnerTestId = Annotated[str, AfterValidator(runner_test_id)]

AllOrIds = Annotated[
    Annotated[Literal["all"], Tag("word")] | Annotated[tuple[RunnerTestId, ...], Tag("list")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "list"),  # one fault is said once
]


class Verify(Record):
    """Commands that decide whether a change works, run on a fresh checkout with the patch applied."""

    setup: tuple[Argv, ...] = Field((), description="run first; a failure here says nothing about the patch")
    commands: tuple[Argv, ...] = Field(min_length=1, description="each passes with exit code 0")
    # Where the three below say nothing a dump leaves them out: the hashes of older tasks stay.
    report: ReportFormat = Field(
        "exit-code",
        exclude_if=lambda report: report == "exit-code",
        description="how the result of each single test is told; exit-code: not at all",
    )
    fail_to_pass: tuple[RunnerTestId, ...] = Field(
        (), exclude_if=lambda ids: not ids, description="ids of the tests that the change has to turn green"
    )
    pass_to_pass: AllOrIds = Field(
        "all",
        exclude_if=lambda ids: ids == "all",
        description="ids of the tests that have to stay green; all: every other one that runs",
    )
    hidden_files: dict[RelativeFile, str] = Field(
        {}, description="path in the repository -> file or folder beside the dataset, added after the patch"
    )
    solution: str | None = Field(
        None,
        exclude_if=lambda path: path is None,
        description="a file beside the dataset: the change that people made, as a patch; for checks and judges alone",
    )
    timeout_seconds: float = Field(300, gt=0, description="for each command")

    @model_validator(mode="after")
    def _tests_are_told_apart(self) -> Self:
        listed = () if self.pass_to_pass == "all" else self.pass_to_pass
        if self.report == "exit-code":
            if self.fail_to_pass or self.pass_to_pass != "all":
                named = "fail_to_pass" if self.fail_to_pass else "pass_to_pass"
                raise fault_at(f"{named} needs to know each test: say how in report, such as report: junit", named)
            return self
        for name, ids in (("fail_to_pass", self.fail_to_pass), ("pass_to_pass", listed)):
            if twice := [one for one, times in Counter(ids).items() if times > 1]:
                raise fault_at(f"{twice[0]!r} is named twice", name)
        if both := sorted(set(self.fail_to_pass).intersection(listed)):
            raise fault_at(f"{both[0]!r} is named in fail_to_pass and in pass_to_pass", "pass_to_pass")
        if not self.fail_to_pass and self.pass_to_pass == ():
            raise fault_at("no test is named that would decide anything", "pass_to_pass")
        return self


class Task(Record):
    """One change to make in one repository at one pinned ref."""

    when_missing = {"ref": "give the task a tag, a branch or a commit, or the header a default_ref for all tasks"}

    id: TaskId
    repo: RepositoryAddress
    ref: GitRef
    complexity: Complexity
    tags: tuple[str, ...] = ()
    problem_statement: str = ""
    problem_issue_url: str | None = None
    clarifying_answers: str = Field("", description="answers to what a careful engineer would ask first")
    ground_truth: GroundTruth = GroundTruth()
    verify: Verify | None = None
    environment: EnvironmentSpec | None = Field(None, description="in place of the header's")

    @model_validator(mode="after")
    def _has_a_problem(self) -> Self:
        if not self.problem_statement.strip() and not self.problem_issue_url:
            raise fault_at("a task needs a problem_statement or a problem_issue_url", "problem_statement")
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
    rank_by: RankBy | None = Field(
        None,
        exclude_if=lambda rank_by: rank_by is None,
        description="what candidates are ranked by; left out: resolved where every task has verify, rubric where none",
    )
    environment: EnvironmentSpec = EnvironmentSpec()
    complexity_levels: tuple[Complexity, ...] = ("trivial", "low", "medium", "high")
    tasks: tuple[Task, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _spread_default_ref(cls, data: object) -> object:
        if not isinstance(data, dict) or "default_ref" not in data or not isinstance(data.get("tasks"), list):
            return data
        ref = data["default_ref"]
        try:
            git_ref(ref)
        except (TypeError, ValueError, AttributeError):
            ref = "HEAD"  # the header's own fault is reported once, not again for every task
        tasks = [{"ref": ref, **task} if isinstance(task, dict) else task for task in data["tasks"]]
        return {**data, "tasks": tasks}

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        seen: set[str] = set()
        for index, task in enumerate(self.tasks):
            if task.id.lower() in seen:
                message = f"task id {task.id!r} is used twice (upper and lower case count as the same)"
                raise fault_at(message, "tasks", index, "id")
            seen.add(task.id.lower())
        return self

    @model_validator(mode="after")
    def _complexities_are_declared(self) -> Self:
        for index, task in enumerate(self.tasks):
            if task.complexity not in self.complexity_levels:
                message = f"{task.complexity!r} is not among the dataset's complexity_levels"
                raise fault_at(message, "tasks", index, "complexity")
        return self

    @property
    def ranked_by(self) -> RankBy | None:
        """What candidates are ranked by; ``None``: some tasks have ``verify``, others not, and nobody says."""
        if self.rank_by is not None:
            return self.rank_by
        verified = {task.verify is not None for task in self.tasks}
        return None if len(verified) > 1 else "resolved" if True in verified else "rubric"

    def environment_of(self, task: Task) -> EnvironmentSpec:
        """Return what a task's commands run in: its own environment, else the header's."""
        return task.environment or self.environment

    def scope_of(self, task: Task) -> str:
        """Return the results folder of a task: the dataset's ``output_scope``, else the repository's name."""
        return self.output_scope or repository_name(task.repo)


def repository_name(repo: str) -> str:
    """Return the last part of an address without ``.git`` or ``.bundle``, as a safe folder name."""
    name = re.split(r"[/:\\]", repo.removesuffix("/.git").rstrip("/"))[-1]
    name = re.sub(r"\.(git|bundle)$", "", name)
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "repository"
