"""The machines of a Ray cluster. Ray finds a machine, starts a process there and carries what is said; no more.

Each attempt has an actor of its own, which holds the resources asked for. Ray repeats nothing by itself: what is made
again, and when, the harness decides, as for attempts on its own machine.
"""

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio

from swetrials.errors import KnownError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.trials.attempt import Attempt, new_attempt_id
from swetrials.trials.attempt_session import Watch
from swetrials.trials.executors.base import MachinesError
from swetrials.trials.executors.remote_attempt import Away, MachineLost, as_at_home
from swetrials.trials.executors.worker import Worker
from swetrials.trials.executors.worker_checks import (
    NAME,
    Facts,
    Question,
    facts_checks,
    facts_here,
    harness_check,
    harness_here,
)
from swetrials.trials.run_context import Order, RunContext
from swetrials.wire.route import Route
from swetrials.workspace.processes import LaunchError

_SETTINGS = {
    # Under `uv run` Ray would otherwise send the current folder to every machine and run its workers from there.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # Nothing of what Ray prints when a machine is lost is for the person who watches a run; it comes as exceptions.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
# Read while Ray is imported.

_KNOCK_SECONDS = 5.0
_PLACEMENTS = 3
_ANSWER_SECONDS = 60.0


class RayCluster:
    """A Ray cluster that runs already, and that this machine is part of."""

    name = "ray"

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["RayMachines"]:
        """Connect to the cluster.

        Raises:
            MachinesError: Ray is not installed, there is no such cluster, or it runs other versions.
        """
        _keep_off_command_line(config)
        ray = _import_ray()
        with _own_signals():
            try:
                _knock(config.ray_address)
                ray.init(config.ray_address, log_to_driver=False, configure_logging=False)
            except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                fix = "start Ray on this machine (.venv/bin/ray start --head), or mend --ray-address"
                raise MachinesError(f"ray_address: {config.ray_address}: {_in_short(error)}; {fix}") from None
        try:
            yield RayMachines(ray, config)
        finally:
            ray.shutdown()


class RayMachines:
    """The machines of a cluster, between connecting and leaving."""

    waiting = "waiting for a machine"

    def __init__(self, ray: ModuleType, config: RunnerConfig) -> None:
        self._ray = ray
        self._needs = {"CPU": 1.0, **config.ray_resources}
        self._clone_dir, self._shared_dir = config.clone_dir, config.shared_dir

    async def checks(self, context: RunContext, route: Route) -> Sequence[Check]:
        """Compare every machine that offers the resources with this one."""
        nodes = [_Node.of(node) for node in self._ray.nodes() if node["Alive"]]
        able = [node for node in nodes if node.room_for(self._needs)]
        if not able:
            wanted = ", ".join(f"{name}: {amount:g}" for name, amount in self._needs.items())
            fix = "on a machine: .venv/bin/ray start --address HOST:PORT --resources '{\"NAME\": 1}'"
            return [Check(NAME, "failed", f"none of {len(nodes)} offers {wanted}", fix)]
        with _shared_file(self._shared_dir) as shared_file:
            question = Question.of(context.config, context.agent.package, route, shared_file)
            here = facts_here(question)
            if isinstance(here, str):
                return [Check(NAME, "failed", f"this machine: {here}")]
            harness = harness_here()
            answers = await asyncio.gather(*(self._look_at(node, question, here, harness) for node in able))
        room = sum(node.room_for(self._needs) for node in able)
        checks = [check for answer in answers for check in answer]
        if room < context.config.concurrency:
            detail = f"room for {room} trials at a time, of {context.config.concurrency} asked for: the others wait"
            checks.append(Check(NAME, "warning", detail))
        return checks

    async def _look_at(self, node: "_Node", question: Question, here: Facts, harness: str) -> Sequence[Check]:
        try:
            if (wrong := harness_check(node.label, await self._ask(node, harness_here), harness)) is not None:
                return [wrong]
            return facts_checks(node.label, await self._ask(node, facts_here, question), here, question)
        except (self._ray.exceptions.RayError, TimeoutError) as error:
            if isinstance(error, self._ray.exceptions.RayTaskError):
                return [check for check in [harness_check(node.label, None, harness)] if check is not None]
            detail = f"{node.label}: no answer: {_in_short(error)}"
            return [Check(NAME, "failed", detail, f"look at Ray on {node.label}: .venv/bin/ray status")]

    async def _ask(self, node: "_Node", function: Any, *arguments: object) -> Any:  # noqa: ANN401
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        asked = self._ray.remote(function).options(num_cpus=0, max_retries=0, scheduling_strategy=strategy)
        with anyio.fail_after(_ANSWER_SECONDS):
            return await asked.remote(*arguments)

    async def attempt(self, context: RunContext, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
        """Make one attempt on a machine that has the resources free, once there is one."""
        asked_at = anyio.current_time() - order.queued_seconds
        for _ in range(_PLACEMENTS):
            attempt_id = new_attempt_id(order)
            with suppress(MachineLost):  # before the attempt had begun
                async with self._line(attempt_id) as line:
                    order = replace(order, queued_seconds=anyio.current_time() - asked_at)
                    route = context.hosting.route(attempt_id)
                    away = Away(line, context.hiding(route.secrets), order, attempt_id, route, ledger, watch)
                    return await away.make()
        raise LaunchError(f"no machine of the cluster stays long enough to begin; tried {_PLACEMENTS} times")

    @asynccontextmanager
    async def _line(self, attempt_id: str) -> AsyncIterator["_ActorLine"]:
        resources = {name: amount for name, amount in self._needs.items() if name not in {"CPU", "GPU"}}
        place = self._ray.remote(_Post).options(
            num_cpus=self._needs["CPU"],
            num_gpus=self._needs.get("GPU", 0),
            resources=resources,
            scheduling_strategy="SPREAD",
            max_restarts=0,
            max_task_retries=0,
        )
        line = _ActorLine(self._ray, place.remote())
        try:
            line.machine = self._name_of(await line.call("node_id"))
            await line.call("open", attempt_id, self._clone_dir, self._shared_dir)
            yield line
            with suppress(MachineLost):
                await line.call("close")
        finally:
            line.hang_up()

    def _name_of(self, node_id: str) -> str:
        return next((str(node["NodeName"]) for node in self._ray.nodes() if node["NodeID"] == node_id), node_id)


class _Post(Worker):
    """An outpost that knows where Ray has put it."""

    async def node_id(self) -> str:
        """Return the id of the node."""
        import ray

        return str(ray.get_runtime_context().get_node_id())


@dataclass(frozen=True)
class _Node:
    """A machine as Ray knows it."""

    id: str
    label: str
    offers: Mapping[str, float]

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> "_Node":
        name, address = node["NodeName"], node["NodeManagerAddress"]
        return cls(node["NodeID"], name if name == address else f"{name} ({address})", node["Resources"])

    def room_for(self, needs: Mapping[str, float]) -> int:
        """Return how many attempts fit on it at a time."""
        return int(min(self.offers.get(name, 0.0) / amount for name, amount in needs.items()))


class _ActorLine:
    """The line to an actor. Whatever Ray reports as lost is :class:`MachineLost`."""

    def __init__(self, ray: ModuleType, actor: Any) -> None:  # noqa: ANN401
        self._ray = ray
        self._actor = actor
        self.machine = ""

    def call(self, method: str, *arguments: object) -> asyncio.Future[Any]:
        answer = asyncio.ensure_future(self._answer(getattr(self._actor, method).remote(*arguments)))
        # Nobody may wait for it, and then nobody is to complain about that.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        return answer

    async def _answer(self, reference: Any) -> Any:  # noqa: ANN401
        try:
            return await reference
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, KnownError | OSError):
                raise as_at_home(error.cause, self.machine) from None
            raise
        except self._ray.exceptions.RayError as error:
            raise MachineLost(_in_short(error)) from None

    def hang_up(self) -> None:
        """Give the actor's place up; what it has left running goes with it."""
        self._ray.kill(self._actor)


def _keep_off_command_line(config: RunnerConfig) -> None:
    key = config.api_key.get_secret_value() if config.api_key else ""
    if key and any(key in word for word in sys.argv):
        raise MachinesError("api_key: Ray shows and keeps command lines; give the key as SWETRIALS_API_KEY instead")


def _import_ray() -> ModuleType:
    os.environ.update(_SETTINGS)
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError:
        raise MachinesError("executor: ray is not installed; install it with: uv sync --extra ray") from None
    return ray


def _knock(address: str) -> None:
    """Find out whether somebody listens at an address: Ray itself would wait for that for minutes, and for no signal.

    Raises:
        OSError: nobody does.
    """
    named = os.environ.get("RAY_ADDRESS", "auto") if address == "auto" else address
    host, _, port = named.rpartition(":")
    if port.isdecimal():
        socket.create_connection((host, int(port)), _KNOCK_SECONDS).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handlers that a run has for signals, which Ray would replace."""
    held = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)


@contextmanager
def _shared_file(shared_dir: str | None) -> Iterator[Path | None]:
    if shared_dir is None:
        yield None
        return
    file = Path(shared_dir).absolute() / f".{secrets.token_hex(8)}"
    try:
        file.touch()
        yield file
    except OSError as error:
        raise MachinesError(f"shared_dir: {shared_dir}: {error.strerror}") from None
    finally:
        file.unlink(missing_ok=True)


def _in_short(error: BaseException) -> str:
    """Return the first sentence of what Ray has to say, which may be pages."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return next(iter(text.strip().splitlines()), type(error).__name__).split(". ")[0].rstrip(".:")
