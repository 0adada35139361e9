"""A control group with little memory, in which the kernel really kills."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")
LIMIT_BYTES = 40_000_000
GREEDY = "import sys; held = [bytearray(1_000_000) for _ in range(500)]; sys.exit(3)"
"""A Python program that takes more than that, and ends with 3 where nobody stops it."""


@contextmanager
def memory_group() -> Iterator[Path]:
    """Make one; skips the test where this user or this machine has none to give."""
    top, limit = (_V1, "memory.limit_in_bytes") if _V1.is_dir() else (_V2, "memory.max")
    place = top / f"swetrials-test-{secrets.token_hex(4)}"
    try:
        place.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not (place / limit).exists() or not os.access(place / limit, os.W_OK):
            pytest.skip("the control groups here do not limit memory")
        (place / limit).write_text(str(LIMIT_BYTES))
        yield place
    finally:
        with suppress(OSError):
            place.rmdir()
