"""One step of a batch: a command of this package in a process of its own, its output line by line behind a label."""

import os
import subprocess
import sys
from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from anyio.to_thread import run_sync

Say = Callable[[str], None]

COMMAND = (sys.executable, "-c", "from swetrials.cli.app import main; main()")
"""How this package's command is started by the very Python that runs it, whatever the search path holds."""

CANNOT_START = 126


async def run_step(label: str, words: tuple[str, ...], say: Say) -> int:
    """Run ``swetrials`` with some words and return its exit code: negative for the signal that ended it, 126 for none.

    A cancellation is passed on to the step as SIGTERM, and the step is waited for: it stops its agents and saves.

    Args:
        label: put before each line of its output.
        words: the command's.
        say: takes each line; called from a thread.
    """
    try:
        process = _started(words)
    except OSError as error:
        say(f"{label} | cannot be started: {error.strerror}")
        return CANNOT_START
    async with anyio.create_task_group() as group:
        group.start_soon(_pass_on_cancellation, process)
        code = await run_sync(_follow, process, label, say)
        group.cancel_scope.cancel()
    await checkpoint_if_cancelled()  # what a step says that was told to end is no result
    return code


def _started(words: tuple[str, ...]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # A Ctrl-C at the terminal is for the batch, which tells its steps itself.
        start_new_session=True,
    )


def _follow(process: "subprocess.Popen[str]", label: str, say: Say) -> int:
    with process:
        for line in process.stdout or ():
            say(f"{label} | {line.rstrip()}")
    return process.returncode


async def _pass_on_cancellation(process: "subprocess.Popen[str]") -> None:
    try:
        await anyio.sleep_forever()
    finally:
        process.terminate()
