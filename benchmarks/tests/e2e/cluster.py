"""A Ray cluster whose machines are processes of this one, each with a folder for temporary files of its own."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

_STORE_BYTES = 80_000_000
_QUICK_TO_NOTICE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
}


@dataclass
class Machines:
    """The machines by name. The first one that is added is the head."""

    root: Path
    session: Path
    cluster: Any

    @property
    def address(self) -> str:
        """What ``--ray-address`` takes."""
        return str(self.cluster.address)

    def temporary(self, name: str) -> Path:
        """Return a machine's folder for temporary files: as long as any other's, since prompts name it."""
        return self.root / f"tmp-{name:_<5}"

    def add(self, name: str, environment: Mapping[str, str] | None = None, **resources: float) -> Any:  # noqa: ANN401
        """Start a machine that offers two processors and ``resources``."""
        self.temporary(name).mkdir()
        is_head = self.cluster.head_node is None
        return self.cluster.add_node(
            wait=False,
            node_name=name,
            num_cpus=2,
            resources=resources,
            object_store_memory=_STORE_BYTES,
            include_dashboard=False,
            env_vars={"TMPDIR": str(self.temporary(name)), **(environment or {})},
            **({"_system_config": _QUICK_TO_NOTICE} if is_head else {}),
        )

    def agents(self, name: str | None = None) -> list[psutil.Process]:
        """Return the living processes of attempts on one of the machines, or on any."""
        below = str(self.temporary(name) if name else self.root)
        found = []
        for process in psutil.process_iter():
            try:
                environment = process.environ()
                # In a sandbox the home has another name; the words of what keeps it tell where it lies.
                named = [environment.get("HOME", ""), *process.cmdline()]
                if "ATTEMPT_ID" in environment and any(word.startswith(below) for word in named):
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found


@contextmanager
def ray_machines(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """Run a cluster without machines for as long as the block runs."""
    # Sockets lie in Ray's folder, and their paths may not be long.
    session = Path(tempfile.mkdtemp(prefix="ray-"))
    for name, value in {"RAY_TMPDIR": str(session), "RAY_USAGE_STATS_ENABLED": "0"}.items():
        monkeypatch.setenv(name, value)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    from ray.cluster_utils import Cluster

    machines = Machines(root, session, Cluster())
    try:
        yield machines
    finally:
        machines.cluster.shutdown()
        shutil.rmtree(session, ignore_errors=True)
