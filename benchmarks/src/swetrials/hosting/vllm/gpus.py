"""The GPUs of this machine, as ``nvidia-smi`` tells them."""

import shutil
import subprocess
from dataclasses import dataclass

_QUERY = ("--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
_TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class Gpu:
    """One GPU; ``memory_mib`` is all it has, used or not."""

    name: str
    memory_mib: int


def find_gpus(path: str | None = None) -> tuple[Gpu, ...] | None:
    """Return the GPUs; ``None`` when nothing can be told: there is no ``nvidia-smi``, or it fails.

    Args:
        path: where to look for it; by default the search path.
    """
    program = shutil.which("nvidia-smi", path=path)
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *_QUERY], stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_SECONDS, check=True
        )
        rows = [line.rsplit(",", 1) for line in done.stdout.decode().splitlines() if line.strip()]
        return tuple(Gpu(name.strip(), int(memory)) for name, memory in rows)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
