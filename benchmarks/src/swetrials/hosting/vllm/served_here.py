"""What ``swetrials serve`` has written down of the model that it serves on this machine."""

from pathlib import Path

import orjson
import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from swetrials.records.metrics import HostingRecord
from swetrials.store.reading import read_bytes

SERVICES_FOLDER = "run"
"""Below the tools folder: state, lock and log of each service."""

HOSTING_NOTES = ("instance_type", "gpu", "tensor_parallel_size", "precision", "engine")
"""Names of the notes that say how a model is hosted: those of ``Hosting``, as text."""


class _State(BaseModel):
    """The part of a service's state file that is read here."""

    model_config = ConfigDict(extra="ignore")

    pid: int
    port: int | None
    notes: dict[str, str]


def hosted_here(services: Path, port: int | None, model: str) -> HostingRecord:
    """Return how the model at a port of this machine is hosted; all null where ``serve`` did not start it.

    A state file that outlived its server, or that is of another model or port, says nothing of this one.

    Args:
        services: the folder of the services' state files.
        port: where the model was found.
        model: its served name.
    """
    try:
        state = _State.model_validate(orjson.loads(read_bytes(services / "vllm.json")))
        if (state.port, state.notes.get("model")) != (port, model) or not psutil.pid_exists(state.pid):
            return HostingRecord()
        told = {name: state.notes[name] for name in HOSTING_NOTES if name in state.notes}
        return HostingRecord.model_validate(told)
    except (OSError, orjson.JSONDecodeError, ValidationError):
        return HostingRecord()
