"""Canary tests: beside the tests of a task some that have to pass and some that have to fail.

A tree that has its runner call everything passed calls the ones passed that have to fail, and one that has nothing run
leaves out the ones that have to pass. They are run among the tests of the task's own command where its results are
told test by test and nothing stops it early; else the same runner is started once more with them alone. With
``exit-code`` how that run ends has to show that a test has failed.
"""

import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Literal

from anyio import to_thread

from swetrials.environments.base import View
from swetrials.judging.guards.canary_files import CanaryFile, Expected, canary_file, word
from swetrials.judging.guards.pytest_settings import PytestSettings, pytest_settings
from swetrials.judging.guards.runner_commands import RunnerCommand, RunnerName, runner_command
from swetrials.judging.guards.test_places import TestPlace, python_patterns, test_places
from swetrials.judging.hidden import PlacementError, place_file
from swetrials.judging.runner_reports.reporting import Reporting
from swetrials.judging.runner_reports.states import States
from swetrials.records.argv import Argv
from swetrials.records.dataset import ReportFormat, Verify
from swetrials.records.verification import CanaryTest, CommandResult, TestState

Run = Callable[[Argv, Literal["setup", "verify"], float, Mapping[str, str]], Awaitable[CommandResult]]
"""Runs a command of a stage, with its limit in seconds and variables of its own."""

_Outcome = tuple[TestState, str]
# What became of tests, and why that is not what it has to be.

_UNPLACED: _Outcome = ("missing", "they cannot be put in place")
_BOTH: tuple[Expected, Expected] = ("passed", "failed")
_MOST_SECONDS = 60.0
# Of a run of their own.
_STOPPING = ("-x", "--exitfirst", "--maxfail", "-k", "-m", "--deselect", "--sw", "--stepwise", "--lf", "--last-failed")
_FORMS: Mapping[RunnerName, ReportFormat] = {
    "pytest": "junit",
    "unittest": "unittest",
    "node": "node-test",
    "jest": "junit",
    "vitest": "junit",
}


@dataclass
class Beside:
    """What stands beside one command.

    Attributes:
        words: the command.
        runner: how its tests are run; ``None``: not known.
        places: the folders of its tests.
        settings: pytest's, in this checkout.
        files: the files that join it; empty: none do.
        told: what its report says of them.
        cut: whether another test has failed, or the report cannot be believed: some may not have been run for that.
    """

    words: Argv
    runner: RunnerCommand | None
    places: tuple[TestPlace, ...] = ()
    settings: PytestSettings = field(default_factory=PytestSettings)
    files: tuple[CanaryFile, ...] = ()
    told: Mapping[str, TestState] = field(default_factory=dict)
    cut: bool = False


@dataclass
class CanaryTests:
    """The canary tests beside a verification's commands.

    Attributes:
        verify: the task's commands.
        view: what they see; the tree is complete when the first begins.
        reporting: the task's own reports, out of which the states of canary tests are taken again.
        run: runs a command.
        found: what became of them so far.
    """

    verify: Verify
    view: View
    reporting: Reporting
    run: Run
    found: list[CanaryTest] = field(default_factory=list)
    _own: dict[tuple[str, ...], list[_Outcome]] = field(default_factory=dict)

    @property
    def _checkout(self) -> Path:
        return self.view.outside.checkout

    async def beside(self, argv: Argv) -> Beside:
        """Find what can stand beside a command."""
        return await to_thread.run_sync(self._beside, argv)

    @contextmanager
    def joining(self, beside: Beside) -> Iterator[Argv]:
        """Give the words that run a command, with canary tests among its own where they can join it.

        The command is run and its report is read in the block.

        Raises:
            OSError: the disk is full, or broken.
        """
        if not self._place(beside.files):
            beside.files = ()
        known, faults = set(self.reporting.states.by_id), len(self.reporting.faults)
        try:
            yield joined(beside)
        finally:
            self._remove(beside.files)
            beside.told = _taken_out(self.reporting.states, beside.files)
            others = (state for one, state in self.reporting.states.by_id.items() if one not in known)
            beside.cut = len(self.reporting.faults) > faults or any(state in {"failed", "error"} for state in others)

    async def settle(self, beside: Beside, result: CommandResult) -> None:
        """Note what became of the canary tests beside a command that has ended; those that did not join are run now.

        Raises:
            OSError: the disk is full, or broken.
        """
        if beside.runner is None:
            self._not_tried(beside, "its runner is not known, so it is not guarded")
        elif result.exit_code is None:
            self._not_tried(beside, "it was stopped at its limit")
        elif self.verify.report == "exit-code" and not result.passed:
            self._not_tried(beside, "it has failed")
        elif _is_told(beside, beside.runner):
            self._note(beside, [_outcome(beside.files, beside.told, one) for one in _BOTH])
        else:
            self._note(beside, await self._alone(beside.runner, beside))

    def _not_tried(self, beside: Beside, why: str) -> None:
        self.found.append(
            CanaryTest(command=" ".join(beside.words), expected=None, state=None, told=f"not tried: {why}")
        )

    def _note(self, beside: Beside, outcomes: Sequence[_Outcome]) -> None:
        for expected, (state, told) in zip(_BOTH, outcomes, strict=True):
            self.found.append(CanaryTest(command=" ".join(beside.words), expected=expected, state=state, told=told))

    def _beside(self, argv: Argv) -> Beside:
        beside = Beside(argv, runner_command(argv, lambda path: (self._checkout / path).exists()))
        runner = beside.runner
        if runner is None:
            return beside
        if runner.runner == "pytest":
            beside.settings = pytest_settings(self._checkout)
        beside.places = test_places(runner, self.verify, self._checkout, beside.settings)
        stops = runner.not_joined or _stops(beside.settings, self.view.variables)
        if self.verify.report != "exit-code" and not stops:
            beside.files = self._files(runner, beside, _BOTH)
        return beside

    def _files(self, runner: RunnerCommand, beside: Beside, expected: Sequence[Expected]) -> tuple[CanaryFile, ...]:
        patterns = python_patterns(runner, beside.settings)
        token, functions = word(), not beside.settings.python_functions
        return tuple(
            canary_file(runner.runner, place, self._checkout, patterns, token, expected=expected, functions=functions)
            for place in beside.places
        )

    def _place(self, files: Sequence[CanaryFile]) -> bool:
        try:
            for file in files:
                place_file(self._checkout, Path(file.path), file.text.encode())
        except (PlacementError, PermissionError, FileExistsError, NotADirectoryError, FileNotFoundError):
            self._remove(files)
            return False
        return True

    def _remove(self, files: Sequence[CanaryFile]) -> None:
        for file in files:
            with suppress(OSError):
                (self._checkout / file.path).unlink()

    async def _alone(self, runner: RunnerCommand, beside: Beside) -> list[_Outcome]:
        """Run the canary tests of a command by themselves, once for each runner and its folders."""
        key = (*runner.alone, *(str(place.folder) for place in beside.places))
        if key not in self._own:
            outcomes, exit_code = await self._reported(runner, beside)
            if self.verify.report == "exit-code":
                if all(state == "missing" for state, _ in outcomes):
                    outcomes = await self._by_exit_code(runner, beside)
                elif outcomes[1][0] == "failed" and exit_code == 0:
                    outcomes[1] = ("passed", "a run with a test that failed ended with exit code 0")
            self._own[key] = outcomes
        return self._own[key]

    async def _reported(self, runner: RunnerCommand, beside: Beside) -> tuple[list[_Outcome], int | None]:
        files = self._files(runner, beside, _BOTH)
        reporting = Reporting(_FORMS[runner.runner], self.view, self.reporting.redact)
        if not self._place(files):
            return [_UNPLACED, _UNPLACED], None
        try:
            result = await self._run_alone(runner, files, reporting.begin())
            await to_thread.run_sync(reporting.end, "canary tests", result.output_tail)
        finally:
            self._remove(files)
        outcomes = [_outcome(files, reporting.states.by_id, one) for one in _BOTH]
        return [
            (state, "; ".join([*reporting.faults, *filter(None, [told])])) for state, told in outcomes
        ], result.exit_code

    async def _by_exit_code(self, runner: RunnerCommand, beside: Beside) -> list[_Outcome]:
        """Run what has to pass, then what has to fail, where no reporter of ours can tell them apart."""
        outcomes: list[_Outcome] = []
        for expected in _BOTH:
            files = self._files(runner, beside, (expected,))
            if not self._place(files):
                outcomes.append(_UNPLACED)
                continue
            try:
                result = await self._run_alone(runner, files, {})
            finally:
                self._remove(files)
            state: TestState = "passed" if result.passed else "error" if result.exit_code is None else "failed"
            outcomes.append(
                (state, "" if state == expected else f"a run of its own ended with exit code {result.exit_code}")
            )
        return outcomes

    async def _run_alone(
        self, runner: RunnerCommand, files: Sequence[CanaryFile], variables: Mapping[str, str]
    ) -> CommandResult:
        words = alone(runner, files)
        return await self.run(words, "verify", min(self.verify.timeout_seconds, _MOST_SECONDS), variables)


def joined(beside: Beside) -> Argv:
    """Return a command with the files that join it where it names files; elsewhere it finds them itself."""
    runner, files = beside.runner, _to_be_named(beside)
    if runner is None or runner.after_named is None or not files:
        return beside.words
    at = runner.after_named
    return (*beside.words[:at], *_named(runner, files), *beside.words[at:])


def _to_be_named(beside: Beside) -> tuple[CanaryFile, ...]:
    """Return the files that a command does not find in a folder that it names.

    pytest 8 forgets a package's other tests where a file of it is named as well: ``pytest tests tests/test_a.py``.
    """
    if beside.runner is None or beside.runner.runner != "pytest":
        return beside.files
    folders = beside.runner.named
    return tuple(file for file in beside.files if not any(PurePath(file.path).is_relative_to(one) for one in folders))


def _is_told(beside: Beside, runner: RunnerCommand) -> bool:
    """Whether the task's own run says what became of canary tests, and what is missing there was left out."""
    if not beside.files:
        return False
    names = [name for file in beside.files for name in (*file.passing, *file.failing)]
    if all("missing" not in _states(beside.told, name) for name in names):
        return True
    named = runner.after_named is not None and _to_be_named(beside) == beside.files
    certain = named or runner.discovery is not None
    return certain and not beside.cut


def alone(runner: RunnerCommand, files: Sequence[CanaryFile]) -> Argv:
    """Return the command that runs nothing but the given files."""
    if runner.discovery is not None:
        found = runner.discovery
        top = ("-t", found.top) if found.top else ()
        return (*runner.alone, "-s", found.start, *top, "-p", f"*{files[0].token}*.py")
    settled = ("-k", "", "-m", "", "--maxfail=0") if runner.runner == "pytest" else ()
    return (*runner.alone, *settled, *_named(runner, files))


def _named(runner: RunnerCommand, files: Sequence[CanaryFile]) -> tuple[str, ...]:
    """Return how a runner is told which files to run."""
    paths = [str(file.path) for file in files]
    if runner.runner == "unittest" and not any(name.endswith(".py") for name in runner.named):
        return tuple(path.removesuffix(".py").replace("/", ".") for path in paths)
    return tuple(paths)


def _taken_out(states: States, files: Sequence[CanaryFile]) -> dict[str, TestState]:
    """Take what is told of canary tests, and of their files, out of the states, and return it."""
    taken = {one: state for one, state in states.by_id.items() if any(file.token in one for file in files)}
    for one in taken:
        del states.by_id[one]
        states.differing.discard(one)
    return taken


def _states(told: Mapping[str, TestState], name: str) -> list[TestState]:
    """Return what became of a test: of each variant, where a project's fixtures make several, but for those skipped."""
    found = [state for one, state in told.items() if one.endswith(name) or f"{name}[" in one]
    return [state for state in found if state != "skipped"] or found or ["missing"]


def _outcome(files: Sequence[CanaryFile], told: Mapping[str, TestState], expected: Expected) -> _Outcome:
    """Return what became of the tests of one kind: as expected if all are, else the first other state."""
    names = [name for file in files for name in (file.passing if expected == "passed" else file.failing)]
    states = [state for name in names for state in _states(told, name)]
    others = [state for state in states if state != expected]
    if not others:
        return expected, ""
    return others[0], f"of {len(states)} tests that have to be {expected}, {len(others)} are not: {others[0]}"


def _stops(settings: PytestSettings, variables: Mapping[str, str]) -> bool:
    """Whether a checkout's own options for pytest select tests or stop at the first that fails."""
    try:
        given = shlex.split(variables.get("PYTEST_ADDOPTS", ""))
    except ValueError:
        given = []
    return any(word.startswith(_STOPPING) for word in (*settings.addopts, *given))
