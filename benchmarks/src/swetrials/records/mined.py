"""What mining has made of a commit: a task, or the one reason why it is none."""

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import Field

from swetrials.records.checked import CheckedTask
from swetrials.records.dataset import Task
from swetrials.records.record import Record

MiningRefusal = Literal[
    "root",
    "bot",
    "empty",
    "no-source",
    "no-tests",
    "tests-only",
    "tests-removed",
    "too-large",
    "submodule",
    "binary-or-lfs",
    "file-unusual",
    "statement-empty",
    "statement-vague",
    "statement-leaks",
    "names-untold",
    "environment-build",
    "environment-unavailable",
    "environment-timeout",
    "runner-unknown",
    "gold-no-report",
    "gold-fails",
    "gold-hangs",
    "base-passes",
    "base-hangs",
    "flaky",
    "only-masked",
    "parent-fails",
    "no-power",
]
"""Why a commit is no task."""

MINING_REFUSALS: Mapping[MiningRefusal, str] = {
    "root": "it has no parent here: the first commit, or the end of a shallow clone",
    "bot": "a program made it",
    "empty": "it changes no file",
    "no-source": "it changes no source",
    "no-tests": "it changes source and no test",
    "tests-only": "it changes tests and no source",
    "tests-removed": "it takes tests away and adds or changes none",
    "too-large": "it changes more than one task should",
    "submodule": "it changes a submodule",
    "binary-or-lfs": "it changes a binary file, or one that git LFS keeps",
    "file-unusual": "a test file is a link, or has a name that a dataset cannot tell",
    "statement-empty": "nothing is said of it, the request's number apart",
    "statement-vague": "what is said of it does not tell what to do",
    "statement-leaks": "what is said of it tells the solution",
    "names-untold": "its tests use a name that neither the repository nor the statement has",
    "environment-build": "what its tests run in cannot be prepared",
    "environment-unavailable": "this machine has not what its tests run in",
    "environment-timeout": "preparing what its tests run in takes too long",
    "runner-unknown": "nothing tells how its tests are run: say it with --tests",
    "gold-no-report": "the tests' report is missing or cannot be believed",
    "gold-fails": "its own tests fail with it",
    "gold-hangs": "its tests do not end with it",
    "base-passes": "its tests pass without it",
    "base-hangs": "its tests do not end without it",
    "flaky": "its tests end differently on the same files",
    "only-masked": "the tests that turn green passed before, too: only their file did not load",
    "parent-fails": "the parent's own tests cannot be run, so that nothing tells what passed before",
    "no-power": "its tests pass whichever part of it is left out",
}
"""One sentence for each, of which "it" is the commit."""

MINING_REFUSAL_REASONS: tuple[MiningRefusal, ...] = get_args(MiningRefusal)

MiningMark = Literal[
    "drifted",
    "masked-names",
    "base-does-not-load",
    "hunks-without-power",
    "manifest-touched",
    "flaky-tests",
    "interface-added",
]
"""What one should know of a task, and what is no reason to refuse it."""


class MinedVerdict(Record):
    """What became of one candidate: a line of the journal."""

    commit: str = Field(description="the change, which no task names")
    parent: str = Field(description="what the task starts from")
    asked_sha256: str = Field(description="of the options that the verdict depends on")
    subject: str = Field(description="the first line of the commit's message")
    reason: MiningRefusal | None = Field(None, description="why it is no task; null: it is one")
    told: str = Field("", exclude_if=lambda told: not told, description="what was seen of the reason")
    marks: tuple[MiningMark, ...] = Field((), exclude_if=lambda marks: not marks)
    task: Task | None = Field(None, exclude_if=lambda task: task is None)
    check: CheckedTask | None = Field(None, exclude_if=lambda check: check is None)
    seconds: float = Field(0.0, ge=0)
