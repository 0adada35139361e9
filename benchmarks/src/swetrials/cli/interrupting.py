"""Running asynchronous work so that one Ctrl-C ends it in good order, and an impatient second one spoils nothing."""

import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeVar

import anyio

from swetrials.workspace.git import stop_fetches

T = TypeVar("T")


def run_async(work: Callable[[], Awaitable[T]]) -> T:
    """Run ``work`` in an event loop of its own and return what it gives.

    An interruption cancels it. Stopping agents, saving records and clearing up take a few bounded seconds, during
    which further interruptions are ignored: one of them would end the program in the middle of it.

    Raises:
        KeyboardInterrupt: it was interrupted, and everything has been stopped and saved.
    """

    async def go() -> T:
        cancel = signal.getsignal(signal.SIGINT)  # the event loop's own way of ending what runs
        assert callable(cancel)

        def interrupt(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            stop_fetches()
            cancel(number, frame)

        signal.signal(signal.SIGINT, interrupt)
        return await work()

    return anyio.run(go)
