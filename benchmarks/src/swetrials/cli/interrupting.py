"""Running asynchronous work so that one Ctrl-C ends it in good order, and a second one at once, losing nothing."""

import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeVar

import anyio

from swetrials.workspace.git import stop_fetches
from swetrials.workspace.processes import kill_running

T = TypeVar("T")


def run_async(work: Callable[[], Awaitable[T]]) -> T:
    """Run ``work`` in an event loop of its own and return what it gives.

    An interruption cancels it: nothing more begins, agents get a few seconds to end, records are saved. A further one
    kills the agents instead. Neither ends the program in the middle of saving and clearing up.

    Raises:
        KeyboardInterrupt: it was interrupted, and everything has been stopped and saved.
    """

    async def go() -> T:
        cancel = signal.getsignal(signal.SIGINT)  # the event loop's own way of ending what runs
        assert callable(cancel)

        def interrupt(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, lambda *_: kill_running())
            stop_fetches()
            cancel(number, frame)

        signal.signal(signal.SIGINT, interrupt)
        return await work()

    return anyio.run(go)
