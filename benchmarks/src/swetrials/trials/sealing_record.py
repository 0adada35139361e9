"""What the records of an attempt and of a trial say of its sealing: what was proved, less what the bill shows."""

from collections.abc import Sequence

from swetrials.records.metrics import AttemptRecord, Finding
from swetrials.records.outcome import OutcomeKind
from swetrials.records.requests import RequestsBlock
from swetrials.records.sealing import Sealing


def sealing_with_bill(sealing: Sealing | None, requests: RequestsBlock | None) -> Sealing | None:
    """Return an attempt's sealing: open where the endpoint's server ran tools for it, which get through any seal."""
    used = _server_tools(requests)
    return sealing.past_the_seal(used) if sealing is not None and used else sealing


def server_tool_doubts(requests: RequestsBlock | None) -> list[Finding]:
    """Return what a reader has to know where the endpoint's server ran tools for the model."""
    used = _server_tools(requests)
    if not used:
        return []
    message = f"{used}: what they brought may hold the task's own fix"
    return [Finding(code="server_tools", severity="warning", message=message)]


def sealing_of(attempts: Sequence[AttemptRecord]) -> Sealing | None:
    """Return the sealing of a trial: the weakest of its attempts; unknown where one in which an agent ran tells none.

    An attempt that ended before its agent began, as it was not sealed, counts where there is no other.
    """
    ran = [one for one in attempts if one.outcome.kind is not OutcomeKind.NOT_SEALED] or list(attempts)
    known = [one.sealing for one in ran if one.sealing is not None]
    return Sealing.weakest(known) if len(known) == len(ran) else None


def _server_tools(requests: RequestsBlock | None) -> str:
    uses = requests.server_tools if requests is not None else {}
    told = ", ".join(f"{name} {count}" for name, count in uses.items())
    return f"the endpoint's server ran tools for the model ({told})" if uses else ""
