"""A scripted model that speaks every API dialect, for rehearsals without a remote model."""

from swetrials.wire.rehearsal.ledger import ServedRequest
from swetrials.wire.rehearsal.scenario import Action, EditFile, Fault, FaultKind, Scenario, Script, Step, WriteFile
from swetrials.wire.rehearsal.server import RehearsalServer, rehearse

__all__ = [
    "Action",
    "EditFile",
    "Fault",
    "FaultKind",
    "RehearsalServer",
    "Scenario",
    "Script",
    "ServedRequest",
    "Step",
    "WriteFile",
    "rehearse",
]
