"""What the GPUs of this machine are doing, as ``nvidia-smi`` tells it."""

import shutil
from collections.abc import Iterator

import anyio

from swetrials.hosting.collector.time_series import Sample

_FIELDS = {
    "utilization.gpu": "gpu:utilization_percent",
    "memory.used": "gpu:memory_used_mib",
    "memory.total": "gpu:memory_total_mib",
    "power.draw": "gpu:power_watts",
}
_TIMEOUT_SECONDS = 10.0


class GpuError(Exception):
    """The GPUs cannot be read; the message is one line."""


def find_program() -> str | None:
    """Return where ``nvidia-smi`` is, if this machine has it."""
    return shutil.which("nvidia-smi")


async def read_gpus(program: str) -> tuple[Sample, ...]:
    """Return utilisation (percent), memory (MiB) and power (watts) of each GPU.

    What a GPU does not tell (``[N/A]``) is left out.

    Raises:
        GpuError: the program fails, takes longer than ten seconds, or prints something else.
    """
    argv = [program, f"--query-gpu=index,{','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        with anyio.fail_after(_TIMEOUT_SECONDS):
            done = await anyio.run_process(argv, check=False)
    except TimeoutError:
        raise GpuError(f"{program} takes longer than {_TIMEOUT_SECONDS:.0f} s") from None
    except OSError as error:
        raise GpuError(f"{program}: {error.strerror}") from None
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise GpuError(f"{program} ends with {done.returncode}: {' '.join(output.split())[:200]}")
    samples = tuple(_samples(output))
    if not samples:
        raise GpuError(f"{program} prints no figures: {' '.join(output.split())[:200]}")
    return samples


def _samples(output: str) -> Iterator[Sample]:
    for line in output.splitlines():
        index, *values = (part.strip() for part in line.split(","))
        for name, value in zip(_FIELDS.values(), values, strict=False):
            if index.isdecimal() and value.replace(".", "", 1).isdecimal():
                yield Sample(name, f'{{"gpu":"{index}"}}', float(value))
