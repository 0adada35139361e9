"""Reading what an agent has left, which may be anything but the plain file it should be."""

import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_left(folder: Path, name: str) -> BinaryIO | None:
    """Open a plain file that lies right in a folder; ``None`` when there is none, or it cannot be read.

    A link, in place of the file or of the folder, could lead to any file of the machine, also from inside a
    sandbox; a pipe would never end. Neither is opened.
    """
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError:
        return None
    finally:
        os.close(place)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        return None
    return os.fdopen(found, "rb")
