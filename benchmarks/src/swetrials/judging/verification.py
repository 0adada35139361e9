"""One run of a task's commands, on a fresh checkout with a patch applied."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from anyio import to_thread

from swetrials.environments.attaching import require_in_place
from swetrials.environments.base import Environment, Held, Network, PreparationError, SetupError, View
from swetrials.environments.door import Door, behind, open_because
from swetrials.environments.machine import Machine, environment_record
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.registries import registry_settings
from swetrials.environments.sealing import SEALED_PORT, require_sealed_enough
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.checkout import clean_checkout
from swetrials.judging.guards.canary_tests import CanaryTests, Run
from swetrials.judging.hidden import PlacementError, place_hidden_files, stamps
from swetrials.judging.runner_reports.reporting import Reporting
from swetrials.judging.runner_reports.states import States
from swetrials.records.argv import Argv
from swetrials.records.dataset import Verify, repository_name
from swetrials.records.environment import EnvironmentRecord, EnvironmentSpec
from swetrials.records.registries import RegistryTraffic
from swetrials.records.sealing import Sealing
from swetrials.records.verification import CanaryTest, CommandResult
from swetrials.wire.meter import registry_way
from swetrials.workspace.patch import PatchError, apply_patch
from swetrials.workspace.printed import last_line
from swetrials.workspace.processes import Command, LaunchError, ProcessLimits, run_captured
from swetrials.workspace.space import Space, attempt_space_aside

_TAIL_BYTES = 4096
_NO_NETWORK = "; it has no network: what it installs belongs in the setup of the dataset's environment"
_NO_SUCH_PROGRAM = 127
# As a shell would say it.


class NotVerifiedError(Exception):
    """The commands were not run, or not all; the message says why.

    Attributes:
        of_patch: whether that is what the patch has done. Otherwise it says nothing of it.
        patch_applied: whether the patch is in the checkout.
        results: what was run until then.
    """

    def __init__(
        self, why: str, *, of_patch: bool, patch_applied: bool | None = None, results: tuple[CommandResult, ...] = ()
    ) -> None:
        """Say why."""
        super().__init__(why)
        self.of_patch = of_patch
        self.patch_applied = patch_applied
        self.results = results


@dataclass(frozen=True)
class Verified:
    """What the commands of a task came to on one tree.

    Attributes:
        results: of each command, those of ``verify.setup`` first.
        states: what became of each test, as the reports tell.
        faults: why what they tell cannot be believed, or is not all.
        canaries: what became of the harness's own tests beside the task's.
        rewritten: hidden files that were written to while the commands ran.
        environment: what they ran in.
        preparation_sha256: of what was prepared for them; ``None``: nothing was.
        sealing: what they could reach.
        registries: what passed to package registries.
    """

    results: tuple[CommandResult, ...]
    states: States
    faults: tuple[str, ...]
    canaries: tuple[CanaryTest, ...] = ()
    rewritten: tuple[str, ...] = ()
    environment: EnvironmentRecord | None = None
    preparation_sha256: str | None = None
    sealing: Sealing | None = None
    registries: tuple[RegistryTraffic, ...] = ()

    @property
    def verify_results(self) -> tuple[CommandResult, ...]:
        """The results of the commands that verify, without those of setup."""
        return tuple(result for result in self.results if result.stage == "verify")


async def verify_patch(submission: Submission, verify: Verify, patch: bytes, place: WorkContext) -> Verified:
    """Run a task's commands with a patch, whoever made it, in an environment and a checkout of its own.

    Args:
        submission: names the repository, the commit, the environment and the hidden files; its own patch is not used.
        verify: the commands.
        patch: applied before the hidden files are put in place; empty: the untouched checkout.
        place: where to work.

    Raises:
        NotVerifiedError: the patch does not apply, a hidden file cannot be put in place, or nothing can be prepared.
        CheckoutFailed: the repository or the commit cannot be had.
        SealError: the commands are not sealed as they have to be.
        SpaceError: no working folder can be had.
        OSError: the disk is full, or broken.
    """
    async with attempt_space_aside(place.work_root, f"tests-{secrets.token_hex(6)}") as space:
        verified = await _verified_in_space(replace(submission, patch=patch), verify, space, place)
    return replace(verified, states=verified.states.without(submission.flaky))


async def _verified_in_space(submission: Submission, verify: Verify, space: Space, place: WorkContext) -> Verified:
    await clean_checkout(place.repositories, submission, space.checkout)
    patch = submission.patch or b""
    try:
        await to_thread.run_sync(apply_patch, space.checkout, patch)
    except PatchError as error:
        raise NotVerifiedError(place.redactor.text(str(error)), of_patch=True, patch_applied=False) from None
    try:
        await to_thread.run_sync(place_hidden_files, space.checkout, submission.hidden_files)
    except PlacementError as error:
        raise NotVerifiedError(str(error), of_patch=bool(patch), patch_applied=True) from None
    view = place.environment.view(space, repository_name(submission.repo))
    source = Source(submission.environment, submission.repo, submission.commit, patch)
    try:
        async with Preparations(place).holding(source) as preparation:
            return await _verified_in(await preparation.attach(view), submission, verify, place, preparation.sha256)
    except PreparationError as error:
        raise await _unprepared(source, place, error) from None


async def _unprepared(source: Source, place: WorkContext, error: PreparationError) -> NotVerifiedError:
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
        why = f"what the patch makes of the environment cannot be prepared: {told}"
        return NotVerifiedError(why, of_patch=True, patch_applied=True)
    return NotVerifiedError(f"the environment cannot be prepared: {told}", of_patch=False)


async def _verified_in(
    view: View, submission: Submission, verify: Verify, place: WorkContext, preparation_sha256: str | None
) -> Verified:
    machine = Machine.now()
    async with _opened(place.environment, submission.environment) as reach:
        seen = view.having(reach.variables)
        run = partial(_run, view=seen, place=place, reach=reach)
        cut_off = reach.network == "none" and reach.door is None
        hidden = _HiddenFiles(seen.outside, submission.hidden_files, place.environment)
        verified = await _commands_run(
            verify, run, Reporting(verify.report, seen, place.redactor.text), hidden, cut_off
        )
    record = environment_record(
        place.environment, machine, submission.environment, preparation_sha256=preparation_sha256
    )
    return replace(
        verified,
        environment=record,
        preparation_sha256=preparation_sha256,
        sealing=reach.sealing,
        registries=reach.registries(),
    )


@dataclass
class _HiddenFiles:
    """The hidden files of a checkout: code of the patch runs beside them, and may write to them."""

    space: Space
    given: Mapping[str, Path]
    environment: Environment
    rewritten: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Have them as they are given when a command begins, and note which are written to until it ends."""
        try:
            await to_thread.run_sync(place_hidden_files, self.space.checkout, self.given)
            # As a command's start would: what changes hands then would look like something that was written to.
            await to_thread.run_sync(self.environment.hand_over, self.space)
        except (PlacementError, PermissionError) as error:
            raise NotVerifiedError(str(error), of_patch=True, patch_applied=True) from None
        before = await to_thread.run_sync(stamps, self.space.checkout, self.given)
        yield
        after = await to_thread.run_sync(stamps, self.space.checkout, self.given)
        self.rewritten += [path for path in before if before[path] != after[path] and path not in self.rewritten]


async def _commands_run(
    verify: Verify, run: Run, reporting: Reporting, hidden: _HiddenFiles, cut_off: bool
) -> Verified:
    results: list[CommandResult] = []
    for argv in verify.setup:
        results.append(await run(argv, "setup", verify.timeout_seconds, {}))
        if not results[-1].passed:
            mend = _NO_NETWORK if cut_off else ""
            why = f"setup failed: {described(results[-1])}{mend}"
            raise NotVerifiedError(why, of_patch=False, results=tuple(results))
    canaries = CanaryTests(verify, reporting.view, reporting, run)
    for argv in verify.commands:
        beside = await canaries.beside(argv)
        with canaries.joining(beside) as words:
            async with hidden.kept():
                result = await run(words, "verify", verify.timeout_seconds, reporting.begin())
            await to_thread.run_sync(reporting.end, " ".join(argv), result.output_tail)
        results.append(result.model_copy(update={"argv": argv}))
        await canaries.settle(beside, result)
    return Verified(
        tuple(results), reporting.states, tuple(reporting.faults), tuple(canaries.found), tuple(hidden.rewritten)
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


def described(result: CommandResult) -> str:
    """Return how a command ended, with the last line that it has printed."""
    how = "was stopped at its limit" if result.exit_code is None else f"ended with exit code {result.exit_code}"
    said = last_line(result.output_tail)
    return f"`{' '.join(result.argv)}` {how}{': ' if said else ''}{said}"
