"""Where a run's attempts are made. Everything else about its trials stays with the harness, wherever that is."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from swetrials.errors import KnownError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.trials.attempt import Attempt
from swetrials.trials.attempt_session import Watch
from swetrials.trials.run_context import Order, RunContext
from swetrials.wire.route import Route


class MachinesError(KnownError):
    """The machines that a run was to use cannot be used; the message says why and what mends it. Nothing was spent."""

    exit_code = 3


class Machines(Protocol):
    """The machines of one run, between opening and closing.

    Order, places, budget, back-off, repetitions and records are the harness's own, whichever machines there are.
    """

    waiting: str
    """What a trial waits for before its attempt begins, in words; empty where it need not."""

    async def checks(self, context: RunContext, route: Route) -> Sequence[Check]:
        """Look at every machine that an attempt may be made on; spends nothing.

        Args:
            context: the run, as it is on the harness's own machine.
            route: a way to the model that the machines will have to go.
        """

    async def attempt(self, context: RunContext, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
        """Make one attempt, as :func:`~swetrials.trials.attempt.run_attempt` does, on one of the machines."""


class Executor(Protocol):
    """A kind of machines. ``open`` takes hold of them and lets them go again."""

    name: str

    def open(self, config: RunnerConfig) -> AbstractAsyncContextManager[Machines]:
        """Return the machines for one run.

        Raises:
            MachinesError: they cannot be reached.
        """
