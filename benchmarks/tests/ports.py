"""Ports for servers that a test starts later, or again."""

import random
import socket

_RANGE = range(20_000, 32_000)
"""Below the ports that systems hand out by themselves (from 32,768 on Linux, 49,152 elsewhere): no server or connection
of another test comes in between."""


def port_for_a_server() -> int:
    """Return a port of loopback on which nobody listens."""
    while True:
        port = random.choice(_RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
