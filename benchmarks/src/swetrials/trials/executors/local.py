"""The machine that the harness itself runs on."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.trials.attempt import Attempt, new_attempt_id, run_attempt
from swetrials.trials.attempt_session import Watch
from swetrials.trials.run_context import Order, RunContext
from swetrials.wire.route import Route


class Here:
    """This machine, which the rest of the pre-flight looks at."""

    waiting = ""

    async def checks(self, context: RunContext, route: Route) -> Sequence[Check]:
        """Return nothing."""
        return ()

    async def attempt(self, context: RunContext, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
        """Make the attempt in this very process."""
        return await run_attempt(context, order, new_attempt_id(order), ledger, watch)


HERE = Here()


class Local:
    """Nothing to open, and nothing to close."""

    name = "local"

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator[Here]:
        """Return this machine."""
        yield HERE
