"""The tests judge: the dataset's own commands, run on a fresh checkout with the patch applied."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import orjson
from anyio import to_thread

from swetrials.environments.attaching import require_in_place
from swetrials.environments.base import Environment, Held, Network, PreparationError, SetupError, View
from swetrials.environments.door import Door, behind, open_because
from swetrials.environments.machine import Machine, environment_record
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.registries import registry_settings
from swetrials.environments.sealing import SEALED_PORT, SealError, require_sealed_enough
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.checkout import CheckoutFailed, clean_checkout
from swetrials.judging.hidden import PlacementError, contents, place_hidden_files
from swetrials.judging.runner_reports.reporting import Reporting
from swetrials.judging.runner_reports.resolution import resolution
from swetrials.records.argv import Argv
from swetrials.records.check import Check
from swetrials.records.dataset import Verify, repository_name
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.evaluation import TESTS, CommandResult, TestsEvaluation
from swetrials.records.registries import RegistryTraffic
from swetrials.records.sealing import Sealing
from swetrials.store.clock import utc_now
from swetrials.store.files import sha256_of
from swetrials.wire.meter import registry_way
from swetrials.workspace.patch import PatchError, apply_patch
from swetrials.workspace.printed import last_line
from swetrials.workspace.processes import Command, LaunchError, ProcessLimits, run_captured
from swetrials.workspace.space import Space, SpaceError, attempt_space_aside

_TAIL_BYTES = 4096
_NO_NETWORK = "; it has no network: what it installs belongs in the setup of the dataset's environment"
_NO_SUCH_PROGRAM = 127
# As a shell would say it.

_Run = Callable[[Argv, Literal["setup", "verify"], float, Mapping[str, str]], Awaitable[CommandResult]]
# Runs a command of a stage, with its limit in seconds and variables of its own.


@dataclass(frozen=True)
class TestsJudge:
    """The ``tests`` judge. Without a patch it runs the commands on the untouched checkout."""

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class
    name: ClassVar[str] = TESTS
    kind: ClassVar[Literal["rubric", "tests"]] = "tests"
    label: ClassVar[str] = TESTS

    def scored_sha256(self, submission: Submission) -> str:
        """Return the hash of the commands, their limit, what they run in, and the bytes of the hidden files.

        Raises:
            OSError: a hidden file cannot be read.
        """
        verify = submission.task.verify
        scoring: dict[str, object] = {
            "verify": verify.model_dump(mode="json", exclude={"hidden_files"}) if verify else None,
            "hidden_files": contents(submission.hidden_files),
        }
        if asked := submission.environment.sha256:
            scoring["environment"] = asked
        return sha256_of(orjson.dumps(scoring, option=orjson.OPT_SORT_KEYS))

    def asks(self, submission: Submission) -> bool:
        """Return whether the commands are run."""
        return submission.task.verify is not None and submission.outcome.valid

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> TestsEvaluation:
        """Apply the patch, add the hidden files, run setup and commands; ``log`` is not used.

        A patch that does not apply fails. A checkout or a setup that fails says nothing about the patch and
        leaves the trial unscored, and so does an infrastructure failure of the trial itself.
        """
        verify = submission.task.verify
        if verify is None:
            return _unscored("the task has no verify commands")
        if not submission.outcome.valid:
            return _unscored(f"not run: the trial ended as {submission.outcome.kind}, which says nothing of the model")
        try:
            async with attempt_space_aside(place.work_root, f"tests-{secrets.token_hex(6)}") as space:
                tested = await _tested(submission, verify, space, place)
                return tested.model_copy(update={"report": verify.report})
        except (CheckoutFailed, SealError, SpaceError, OSError) as error:
            return _unscored(place.redactor.text(str(error)))

    async def prove(self, place: WorkContext) -> Check:
        """Tell what the commands, which run a trial's code, will be kept from."""
        kind = place.environment.kind
        if place.environment.seals:
            reached = "without a network unless the dataset allows one"
            return Check(self.name, "ok", f"commands run in {kind}, {reached}; none was tried, setup included")
        return Check(self.name, "warning", f"commands run on the {kind}, which keeps them from nothing; none was tried")


async def _tested(submission: Submission, verify: Verify, space: Space, place: WorkContext) -> TestsEvaluation:
    await clean_checkout(place.repositories, submission, space.checkout)
    try:
        if submission.patch:
            await to_thread.run_sync(apply_patch, space.checkout, submission.patch)
    except PatchError as error:
        return _failed(place.redactor.text(str(error)), patch_applied=False)
    try:
        await to_thread.run_sync(place_hidden_files, space.checkout, submission.hidden_files)
    except PlacementError as error:
        return _failed(str(error), patch_applied=True) if submission.patch else _unscored(str(error))
    view = place.environment.view(space, repository_name(submission.repo))
    source = Source(submission.environment, submission.repo, submission.commit, submission.patch or b"")
    try:
        async with Preparations(place).holding(source) as preparation:
            return await _verified_in(await preparation.attach(view), submission, verify, place, preparation.sha256)
    except PreparationError as error:
        return await _unprepared(source, place, error)


async def _unprepared(source: Source, place: WorkContext, error: PreparationError) -> TestsEvaluation:
    """Tell whose fault it is that there is no environment.

    It is the patch's where a command of setup fails, the patch changes what that depends on, and setup works at this
    moment without it: a registry may be out of reach. A tool that this machine has not, a secret that is not set or a
    full disk is nobody's who was judged.
    """
    told, preparations = place.redactor.text(str(error)), Preparations(place)
    without = replace(source, patch=b"")
    if (
        isinstance(error, SetupError)
        and await preparations.changed_by_patch(source)
        and await preparations.sets_up(without)
    ):
        return _failed(f"what the patch makes of the environment cannot be prepared: {told}", patch_applied=True)
    return _unscored(f"the environment cannot be prepared: {told}")


async def _verified_in(
    view: View, submission: Submission, verify: Verify, place: WorkContext, preparation_sha256: str | None
) -> TestsEvaluation:
    machine = Machine.now()
    async with _opened(place.environment, submission.environment) as reach:
        seen = view.having(reach.variables)
        run = partial(_run, view=seen, place=place, reach=reach)
        cut_off = reach.network == "none" and reach.door is None
        reporting = Reporting(verify.report, seen, place.redactor.text)
        evaluation = await _verified(verify, run, reporting, cut_off=cut_off)
    return evaluation.model_copy(
        update={
            "patch_applied": True if submission.patch else None,
            "environment": environment_record(
                place.environment,
                machine,
                submission.environment,
                preparation_sha256=preparation_sha256,
            ),
            "sealing": reach.sealing,
            "registries": reach.registries(),
        }
    )


async def _verified(verify: Verify, run: _Run, reporting: Reporting, *, cut_off: bool) -> TestsEvaluation:
    results: list[CommandResult] = []
    for argv in verify.setup:
        results.append(await run(argv, "setup", verify.timeout_seconds, {}))
        if not results[-1].passed:
            mend = _NO_NETWORK if cut_off else ""
            return _unscored(f"setup failed: {_described(results[-1])}{mend}", results)
    for argv in verify.commands:
        results.append(await run(argv, "verify", verify.timeout_seconds, reporting.begin()))
        await to_thread.run_sync(reporting.end, " ".join(argv), results[-1].output_tail)
    verified = [result for result in results if result.stage == "verify"]
    failed = [result for result in verified if not result.passed]
    evaluation = TestsEvaluation(
        status="scored",
        reason="; ".join(map(_described, failed)),
        passed=not failed,
        fraction=(len(verified) - len(failed)) / len(verified),
        resolved=not failed,
        results=tuple(results),
        evaluated_at=utc_now(),
    )
    return evaluation if verify.report == "exit-code" else _by_tests(evaluation, verify, reporting)


def _by_tests(evaluation: TestsEvaluation, verify: Verify, reporting: Reporting) -> TestsEvaluation:
    """Return an evaluation that is resolved by what became of each test, however the commands ended."""
    found = resolution(verify, reporting.states, reporting.faults)
    return evaluation.model_copy(
        update={
            "resolved": found.resolved,
            "reason": "; ".join((*found.reasons, *filter(None, [evaluation.reason]))),
            "fail_to_pass": found.fail_to_pass,
            "pass_to_pass": found.pass_to_pass,
            "regressions": found.regressions,
            "tests": found.tests,
        }
    )


async def _run(
    argv: Argv,
    stage: Literal["setup", "verify"],
    limit_seconds: float,
    variables: Mapping[str, str],
    view: View,
    place: WorkContext,
    reach: "_Reach",
) -> CommandResult:
    space = view.outside
    writable = (space.checkout, space.home, space.temporary)

    def confined(network: Network, held: Held | None) -> Command:
        require_in_place(view)
        return place.environment.command(argv, view, variables=variables, writable=writable, network=network, held=held)

    limits = ProcessLimits(wall_seconds=limit_seconds)
    try:
        async with behind(reach.door, confined, otherwise=reach.network) as (command, started):
            ended, tail = await run_captured(
                command, limits, mark=space.root.name, tail_bytes=_TAIL_BYTES, started=started
            )
    except LaunchError as error:
        return CommandResult(
            argv=argv, stage=stage, exit_code=_NO_SUCH_PROGRAM, duration_seconds=0.0, output_tail=str(error)
        )
    return CommandResult(
        argv=argv,
        stage=stage,
        exit_code=ended.exit_code if ended.cause == "exited" else None,
        duration_seconds=round(ended.wall_seconds, 3),
        output_tail=place.redactor.text(tail.decode(errors="replace")),
    )


@dataclass
class _Reach:
    """What the commands of one verification can reach: the network they have, or the door in it, and what is known."""

    network: Network
    sealing: Sealing
    door: Door | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    registries: Callable[[], tuple[RegistryTraffic, ...]] = tuple

    def admit(self, sealing: Sealing) -> None:
        self.sealing = sealing
        require_sealed_enough(sealing, "the tests are not sealed")


@asynccontextmanager
async def _opened(environment: Environment, asked: EnvironmentSpec) -> AsyncIterator[_Reach]:
    """Give what tests can reach: nothing, unless the task has registries or an open network."""
    if why := open_because(environment, asked.network):
        yield _Reach("open", Sealing(state="open", network=asked.network, why=why))
    elif asked.network == "model":
        why = "started without a network, in which nothing was tried"
        yield _Reach("none", Sealing(state="declared", network="model", why=why))
    else:
        settings = registry_settings(asked.registries)
        async with registry_way(settings.hosts, port=SEALED_PORT) as way:
            unknown = Sealing(state="open", network="registries", why="no command was started")
            variables = settings.variables_by(way.proxy_url)
            reach = _Reach("none", unknown, variables=variables, registries=way.registries)
            reach.door = Door(way.serve, "registries", reach.admit)
            yield reach


def _described(result: CommandResult) -> str:
    how = "was stopped at its limit" if result.exit_code is None else f"ended with exit code {result.exit_code}"
    said = last_line(result.output_tail)
    return f"`{' '.join(result.argv)}` {how}{': ' if said else ''}{said}"


def _failed(reason: str, patch_applied: bool) -> TestsEvaluation:
    return TestsEvaluation(
        status="scored",
        reason=reason,
        passed=False,
        fraction=0.0,
        resolved=False,
        patch_applied=patch_applied,
        evaluated_at=utc_now(),
    )


def _unscored(reason: str, results: Sequence[CommandResult] = ()) -> TestsEvaluation:
    return TestsEvaluation(status="unscored", reason=reason, results=tuple(results), evaluated_at=utc_now())
