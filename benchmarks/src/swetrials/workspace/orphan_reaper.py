"""Clearing up after a process that was killed in the middle of an attempt, from beside it.

A harness that is killed on a person's own machine is cleared up after when they start the next run. On a machine
of a cluster nobody may come back, and the agent would go on spending.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swetrials.workspace.space import remove_tree, sweep

_DONE = b"done\n"

# The shell waits, since it takes next to no memory; it is nobody's child by then, so that whatever kills the
# guarded process and its children passes it by.
_WAIT = 'exec 3<&0; (IFS= read -r word <&3; [ "$word" = done ] || exec "$@") &'


@contextmanager
def guarded(root: Path, leavings: Path) -> Iterator[None]:
    """Have the attempts of this process cleared up after if it dies before the block ends.

    Args:
        root: the working folder of the attempts.
        leavings: a folder that is to go as well.
    """
    read_end, write_end = os.pipe()
    clear = (sys.executable, "-m", "swetrials.workspace.orphan_reaper", str(root), str(leavings))
    try:
        subprocess.run(
            ["/bin/sh", "-c", _WAIT, "guard", *clear],
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
    finally:
        os.close(read_end)
    try:
        yield
    finally:
        os.write(write_end, _DONE)
        os.close(write_end)


if __name__ == "__main__":
    sweep(Path(sys.argv[1]))
    remove_tree(Path(sys.argv[2]))
