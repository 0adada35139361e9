"""The request that shows that a meter answers, and that nobody counts."""

from swetrials.wire.meter.messages import ResponseHead
from swetrials.wire.meter.peer import Peer

CANARY_PATH = "/swetrials-canary"
"""What a canary asks for, behind the secret. The meter itself answers with 204, whatever the method."""


def answer_canary(agent: Peer) -> None:
    """Say that the meter is there, and that the connection ends with that."""
    agent.send(ResponseHead(204, b"No Content", [(b"Connection", b"close")]))
