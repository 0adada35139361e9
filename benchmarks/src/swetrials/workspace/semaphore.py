"""Places for a limited number of holders on this machine, whichever process they are in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from filelock import FileLock, Timeout

_LOOK_SECONDS = 0.2


@asynccontextmanager
async def one_of(folder: Path, places: int) -> AsyncIterator[None]:
    """Wait for one of a number of places, and hold it for as long as the block runs.

    A holder that is killed gives its place up. Everybody who uses a folder should say the same number; who says a
    smaller one takes one of the first places only.

    Args:
        folder: where the places are, one lock file each; it is made.
        places: how many there are.

    Raises:
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    while (held := _take(folder, places)) is None:
        await anyio.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        held.release()


def _take(folder: Path, places: int) -> FileLock | None:
    for number in range(places):
        lock = FileLock(folder / f"{number}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            continue
        return lock
    return None
