"""Servers in processes of their own, and what such a process uses."""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

Serve = Callable[..., Awaitable[None]]
"""Takes a function to call with the URL once there is one, then further arguments, and serves until it is cancelled."""


@contextmanager
def running(serve: Serve, *arguments: Any) -> Iterator[tuple[str, psutil.Process]]:  # noqa: ANN401  passed through
    """Run a server in a process of its own; give its URL and the process."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, serve, *arguments), daemon=True)
    process.start()
    there.close()  # Else nobody would notice that a server has died before it told its URL.
    try:
        yield here.recv(), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join()


def _serve(there: Connection, serve: Serve, *arguments: Any) -> None:  # noqa: ANN401
    asyncio.run(_until_stopped(serve, there.send, *arguments))


async def _until_stopped(serve: Serve, tell: Callable[[str], None], *arguments: Any) -> None:  # noqa: ANN401
    await serve(tell, *arguments)


def processor_seconds(process: psutil.Process) -> float:
    """Return what a process has used of processors so far."""
    times = process.cpu_times()
    return times.user + times.system


def forget_peak(process: psutil.Process) -> None:
    """Begin anew to look for the peak of a process's memory."""
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")


def peak_megabytes(process: psutil.Process) -> float:
    """Return the most memory that a process has held since the last call of ``forget_peak``."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
