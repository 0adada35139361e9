"""What passed between the programs of a trial and package registries."""

from swetrials.records.record import Record


class RegistryTraffic(Record):
    """What passed by the meter to one host, and what was kept from it.

    Bytes in a tunnel are those of TLS, which the meter does not look into. Of plain HTTP they are heads and bodies.

    Attributes:
        host: its name, with the port where that is not the usual one of its scheme.
        connections: how often it was connected to.
        sent_bytes: what went there.
        received_bytes: what came back.
        refused: how often it was asked for and is not among the registries.
        failed: how often it was asked for, is among them, and could not be reached.
    """

    host: str
    connections: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    refused: int = 0
    failed: int = 0
