"""Mining a repository end to end: every commit is classified, candidates are tried, and what holds is a dataset."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import anyio
import orjson
from anyio.to_thread import run_sync

from swetrials.environments.work_context import WorkContext
from swetrials.judging.checkout import CheckoutFailed
from swetrials.mining.candidates import Filters, split_of, touches_manifests, why_no_candidate
from swetrials.mining.dataset_writing import write_dataset, write_files
from swetrials.mining.drafts import Draft, MiningCandidate, Refused, draft_of
from swetrials.mining.examination import Examiner
from swetrials.mining.history import Change, History, open_history
from swetrials.mining.journal import MINED, Journal, claim_folder, open_journal
from swetrials.mining.mirror_reader import MirrorReader
from swetrials.mining.runners import Runner
from swetrials.records.dataset import repository_name
from swetrials.records.mined import MinedVerdict, MiningRefusal
from swetrials.store.files import sha256_of
from swetrials.workspace.git import GitError

_FORMAT = 1
# Of verdicts: raised where a later version would judge a candidate otherwise.


@dataclass(frozen=True)
class MiningRequest:
    """What a person wants mined.

    Attributes:
        repo: the repository's address.
        out: the folder to write.
        filters: which changes.
        most: tasks to keep at most; ``None``: all.
        runner: how tests are run; ``None``: it is found.
        texts: of issues and requests, by number.
        jobs: candidates at one time.
        budget_seconds: no candidate begins later than that; ``None``: all do.
        times: how often tests are run on the same files.
        limit_seconds: longest time for a command of the tests that nobody has timed yet.
        preparing_seconds: longest time for one command of a setup.
    """

    repo: str
    out: Path
    filters: Filters = field(default_factory=Filters)
    most: int | None = None
    runner: Runner | None = None
    texts: Mapping[int, str] = field(default_factory=dict)
    jobs: int = 2
    budget_seconds: float | None = None
    times: int = 3
    limit_seconds: float = 300.0
    preparing_seconds: float = 900.0

    @property
    def dataset_name(self) -> str:
        """The name of the dataset: the repository's, marked."""
        return repository_name(self.repo) + MINED.removesuffix(".yaml")

    @property
    def asked_sha256(self) -> str:
        """The hash of what a verdict depends on, beside the commit."""
        asked = {
            "format": _FORMAT,
            "repo": self.repo,
            "runner": [*self.runner.commands, self.runner.report] if self.runner else None,
            "texts": {str(number): text for number, text in self.texts.items()},
            "times": self.times,
            "limits": [self.limit_seconds, self.preparing_seconds],
        }
        return sha256_of(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS))


@dataclass(frozen=True)
class MiningProgress:
    """How far mining is.

    Attributes:
        candidates: changes to be tried.
        done: how many of them have a verdict.
        kept: how many are tasks.
        refused: how many are not, by reason, those refused by their files or statement among them.
        left_seconds: until all are tried; ``None``: nobody knows yet.
        latest: the verdict that has come last.
    """

    candidates: int
    done: int
    kept: int
    refused: Mapping[MiningRefusal, int]
    left_seconds: float | None
    latest: MinedVerdict | None = None


@dataclass(frozen=True)
class Mined:
    """What mining came to.

    Attributes:
        commits: that were looked at.
        candidates: that had source and tests, and a statement.
        kept: the tasks, in the order of the history, the newest first.
        spare: further ones that hold, beyond what was asked for.
        refused: commits that are none, by reason.
        untried: candidates that nobody has tried: the budget was spent, or there were enough.
        shallow: whether the history has an end that is not its beginning.
        dataset: the file; ``None``: there is no task.
    """

    commits: int
    candidates: int
    kept: tuple[MinedVerdict, ...]
    spare: int
    refused: Mapping[MiningRefusal, int]
    untried: int
    shallow: bool
    dataset: Path | None


@dataclass
class Classified:
    """The commits of a history by what their files say: candidates, the newest first, and how many are none."""

    commits: int = 0
    candidates: list[MiningCandidate] = field(default_factory=list)
    refused: Counter[MiningRefusal] = field(default_factory=Counter)


def classify(changes: Iterable[Change], filters: Filters) -> Classified:
    """Tell candidates from all other commits, holding none but the candidates.

    Args:
        changes: the newest first.
        filters: which of them count.

    Raises:
        GitError: the history cannot be read to its end.
    """
    found = Classified()
    waiting: list[tuple[int, Change]] = []
    oldest: datetime | None = None
    for change in changes:
        oldest = change.committed
        if touches_manifests(change.files):
            _date(found, waiting, change.committed)
        split = split_of(change)
        if not filters.want(change, split):
            continue
        found.commits += 1
        if reason := why_no_candidate(change, split):
            found.refused[reason] += 1
            continue
        found.candidates.append(MiningCandidate(change, split, change.committed))
        if not split.manifests:
            waiting.append((len(found.candidates) - 1, change))
    if oldest is not None:
        _date(found, waiting, oldest)
    return found


def _date(found: Classified, waiting: list[tuple[int, Change]], day: datetime) -> None:
    """Give candidates the day on which what they start from said last what there is to install.

    With that of the commit itself, each would be prepared for itself, though all ask for the same.
    """
    for index, change in waiting:
        found.candidates[index] = MiningCandidate(change, found.candidates[index].split, day)
    waiting.clear()


async def mine(request: MiningRequest, place: WorkContext, observe: Callable[[MiningProgress], None]) -> Mined:
    """Make a dataset of a repository's history, going on where an earlier run with the same options has stopped.

    Args:
        request: what is wanted.
        place: where to work.
        observe: takes in how far it is.

    Raises:
        GitError: the repository cannot be read, or has no commit.
        UsageError: something else lies in the folder, or the journal in it is none.
        SealError: commands are not sealed as they have to be.
        SpaceError: no working folder can be had.
        OSError: the folder cannot be written, or the disk is full.
    """
    history = await run_sync(open_history, place.repositories, request.repo)
    await run_sync(claim_folder, request.out, request.dataset_name)
    journal = open_journal(request.out, request.asked_sha256)
    classified = await run_sync(lambda: classify(history.changes(), request.filters))
    run = _Run(request, history, place, journal, classified, observe)
    await run.go()
    return await run_sync(run.written)


class _Run:
    """Mining under way."""

    def __init__(
        self,
        request: MiningRequest,
        history: History,
        place: WorkContext,
        journal: Journal,
        classified: Classified,
        observe: Callable[[MiningProgress], None],
    ) -> None:
        self._request, self._history, self._journal = request, history, journal
        self._classified, self._observe = classified, observe
        self._mirror = MirrorReader(history.mirror)
        self._examiner = Examiner(
            repo=request.repo,
            mirror=self._mirror,
            place=place,
            limiter=anyio.CapacityLimiter(request.jobs),
            runner=request.runner,
            times=request.times,
            limit_seconds=request.limit_seconds,
            preparing_seconds=request.preparing_seconds,
            asked_sha256=request.asked_sha256,
        )
        self._verdicts: dict[str, MinedVerdict] = {}
        self._began = time.monotonic()
        self._tried = 0

    async def go(self) -> None:
        """Try every candidate that has no verdict, some at a time, the newest first."""
        self._tell(None)
        slots = anyio.CapacityLimiter(self._request.jobs)
        async with anyio.create_task_group() as group:
            for candidate in self._classified.candidates:
                await slots.acquire_on_behalf_of(candidate.change.commit)
                if self._is_over(candidate):
                    slots.release_on_behalf_of(candidate.change.commit)
                    break
                group.start_soon(self._one, candidate, slots)

    def written(self) -> Mined:
        """Write the dataset, and return what it came to."""
        ordered = [self._verdicts.get(candidate.change.commit) for candidate in self._classified.candidates]
        hold = [verdict for verdict in ordered if verdict is not None and verdict.task is not None]
        kept = hold[: self._request.most]
        title = f"Changes of {repository_name(self._request.repo)}"
        dataset = write_dataset(self._request.out, self._request.dataset_name, title, kept)
        return Mined(
            commits=self._classified.commits,
            candidates=len(ordered),
            kept=tuple(kept),
            spare=len(hold) - len(kept),
            refused=self._refused(),
            untried=sum(verdict is None for verdict in ordered),
            shallow=self._history.shallow,
            dataset=dataset,
        )

    def _is_over(self, candidate: MiningCandidate) -> bool:
        request = self._request
        if candidate.change.commit in self._journal.verdicts:
            return self._enough()
        late = request.budget_seconds is not None and time.monotonic() - self._began > request.budget_seconds
        return late or self._enough()

    def _enough(self) -> bool:
        """Whether as many tasks as are wanted are kept among the newest candidates, of which none is still open."""
        if self._request.most is None:
            return False
        kept = 0
        for candidate in self._classified.candidates:
            verdict = self._verdicts.get(candidate.change.commit)
            if verdict is None:
                return False
            kept += verdict.task is not None
            if kept >= self._request.most:
                return True
        return False

    async def _one(self, candidate: MiningCandidate, slots: anyio.CapacityLimiter) -> None:
        try:
            commit = candidate.change.commit
            verdict = self._journal.verdicts.get(commit)
            draft = await run_sync(draft_of, candidate, self._mirror, self._request.texts)
            if isinstance(draft, Refused):
                verdict = verdict or self._examiner.refused(candidate, draft)
            else:
                if verdict is None:
                    verdict = await self._examined(draft)
                    self._tried += 1
                if verdict.task is not None:
                    await run_sync(write_files, self._request.out, draft)
            if commit not in self._journal.verdicts:
                await run_sync(self._journal.add, verdict)
            self._verdicts[commit] = verdict
            self._tell(verdict)
        finally:
            slots.release_on_behalf_of(candidate.change.commit)

    async def _examined(self, draft: Draft) -> MinedVerdict:
        try:
            return await self._examiner.verdict(draft)
        except CheckoutFailed as error:
            raise GitError(str(error)) from None

    def _refused(self) -> Mapping[MiningRefusal, int]:
        reasons = Counter(verdict.reason for verdict in self._verdicts.values() if verdict.reason is not None)
        return self._classified.refused + reasons

    def _tell(self, latest: MinedVerdict | None) -> None:
        total, done = len(self._classified.candidates), len(self._verdicts)
        each = (time.monotonic() - self._began) / self._tried if self._tried else None
        kept = sum(verdict.task is not None for verdict in self._verdicts.values())
        left = None if each is None else each * (total - done)
        self._observe(MiningProgress(total, done, kept, self._refused(), left, latest))
