"""What passes to which registry, counted."""

from dataclasses import dataclass

from swetrials.records.registries import RegistryTraffic

MOST_HOSTS = 500
"""So many hosts have a record of their own: whoever asks for names without end does not fill the memory."""

FURTHER_HOSTS = "(further hosts)"


@dataclass
class HostTraffic:
    """The counts of one host, as they stand."""

    host: str
    connections: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    refused: int = 0
    failed: int = 0

    def sent(self, data: bytes) -> None:
        """Take in what went to the host."""
        self.sent_bytes += len(data)

    def received(self, data: bytes) -> None:
        """Take in what came back."""
        self.received_bytes += len(data)


class Traffic:
    """The counts of all hosts that were asked for."""

    def __init__(self) -> None:
        self._hosts: dict[str, HostTraffic] = {}

    def of(self, host: str) -> HostTraffic:
        """Return the counts of a host, to be added to."""
        if host not in self._hosts and len(self._hosts) >= MOST_HOSTS:
            host = FURTHER_HOSTS
        return self._hosts.setdefault(host, HostTraffic(host))

    @property
    def records(self) -> tuple[RegistryTraffic, ...]:
        """The counts in the order of the names."""
        return tuple(RegistryTraffic(**vars(self._hosts[host])) for host in sorted(self._hosts))
