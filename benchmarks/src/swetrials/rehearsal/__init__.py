"""A scripted model that speaks every API dialect, for rehearsals without a remote model."""

from swetrials.rehearsal.ledger import ServedRequest
from swetrials.rehearsal.scenario import Action, EditFile, Fault, FaultKind, Scenario, Script, ScriptStep, WriteFile
from swetrials.rehearsal.server import RehearsalServer, rehearse

__all__ = [
    "Action",
    "EditFile",
    "Fault",
    "FaultKind",
    "RehearsalServer",
    "Scenario",
    "Script",
    "ScriptStep",
    "ServedRequest",
    "WriteFile",
    "rehearse",
]
