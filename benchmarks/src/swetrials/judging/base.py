"""What a judge is given, and what it has to offer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from swetrials.environments.work_context import WorkContext
from swetrials.judging.routes import JudgeRoute
from swetrials.records.check import Check
from swetrials.records.dataset import RepositoryAddress, Task
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.evaluation import RubricEvaluation
from swetrials.records.outcome import Outcome
from swetrials.records.verification import TestsEvaluation


@dataclass(frozen=True)
class Submission:
    """One trial, as a judge may see it: what was asked and what came out, never by whom.

    ``repo`` is where the task's repository is fetched from, and ``commit`` what the trial was pinned to (a
    full id, or the task's ref when no record tells).
    ``artifacts`` maps the name of each document that the skill asked for to its text, ``None`` where the trial did not
    leave it. ``patch`` is the change as bytes, ``None`` or empty when there is none. ``hidden_files`` maps a path in
    the repository to the file or folder that the tests judge puts there. ``solution`` is the change that people made,
    as a patch, where the dataset has one. ``flaky`` are tests that say nothing, as the dataset's check has found: they
    are in no list of ``task`` any more. ``environment`` is what the task's commands run in.
    """

    task: Task
    trial_id: str
    outcome: Outcome
    repo: RepositoryAddress
    commit: str
    artifacts: Mapping[str, str | None]
    patch: bytes | None
    hidden_files: Mapping[str, Path] = field(default_factory=dict)
    solution: bytes | None = None
    flaky: frozenset[str] = frozenset()
    environment: EnvironmentSpec = field(default_factory=EnvironmentSpec)


@dataclass(frozen=True)
class JudgeSettings:
    """What a person chooses about a judge that asks a model.

    ``tools`` is where agent CLIs are installed. ``model`` and ``reasoning_effort`` are ``None`` where the
    configuration of the route decides. ``timeout_seconds`` is the wall time of one reply.
    """

    tools: Path
    route: JudgeRoute
    model: str | None = None
    reasoning_effort: str | None = None
    timeout_seconds: float = 1800


class Judge(Protocol):
    """Something that scores a trial."""

    @property
    def name(self) -> str:
        """The name on the command line and in logs."""

    @property
    def kind(self) -> Literal["rubric", "tests"]:
        """What its word is: points by a rubric, or whether tests pass."""

    @property
    def label(self) -> str:
        """The name in ``eval.json``: that of two judges which ask different models differs."""

    def scored_sha256(self, submission: Submission) -> str:
        """Return the hash of all that scores a trial, by content, and nothing of the trial itself.

        A score is kept while this is the same, and given anew where it differs.

        Raises:
            OSError: a file that scores it cannot be read.
        """

    def asks(self, submission: Submission) -> bool:
        """Whether scoring the trial takes what :meth:`prove` proves; without that, the rules alone score it."""

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> RubricEvaluation | TestsEvaluation:
        """Return the judge's word on a trial.

        A judge that fails gives an unscored evaluation with the reason, never a score of 0.

        Args:
            submission: the trial.
            place: where to work.
            log: where the judge's own stream is kept, when it has one.
        """

    async def prove(self, place: WorkContext) -> Check:
        """Show, before a long run, that the judge can do its work here; ``skipped`` when it is not installed."""
