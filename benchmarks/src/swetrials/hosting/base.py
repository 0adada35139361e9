"""What a hosting path has to offer: a route for each attempt, and what it can prove about it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, Self

from swetrials.errors import KnownError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import UsageReport
from swetrials.wire.route import Dialect, Route


class ProviderError(KnownError):
    """The configuration lacks what a provider needs; the message names the key and what mends it."""


Priced = Literal["free", "tokens", "hardware"]
"""How a hosting path is paid: not at all, by the token, or by the hour of the machine."""


class Telemetry(Protocol):
    """The server's counters over one attempt."""

    def block(self) -> VllmPrometheus | None:
        """Return what was seen, once the watching has ended; ``None`` for a server that has no such counters."""


class NoTelemetry:
    """A server that shows no counters."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def block(self) -> None:
        """Return nothing."""


class Hosting(Protocol):
    """A provider at work, between opening and closing."""

    async def checks(self) -> Sequence[Check]:
        """Look at the endpoint without spending a token."""

    def route(self, attempt_id: str) -> Route:
        """Return the way to the model for one attempt."""

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return what the server itself counted for an attempt; ``None`` where it cannot tell them apart."""

    def hosted_as(self) -> HostingRecord:
        """Return how the model is hosted, as far as its server has told; all null where nothing is known."""

    def telemetry(self, *, single_tenant: bool) -> AbstractAsyncContextManager["Telemetry"]:
        """Watch the server's own counters for as long as the block runs.

        Args:
            single_tenant: whether nothing else of ours uses the server meanwhile.
        """


class Provider(Protocol):
    """A hosting path. ``open`` starts what has to run and stops it again.

    Attributes:
        name: what ``--provider`` takes, and records keep.
        serving: how the model is served, in records: such as ``bedrock-runtime`` or ``vllm``.
        dialects: the protocols that its routes may speak.
        priced: how it is paid.
        scripted: whether no model answers: results rank nothing, and what they cost is nobody's money.
    """

    name: str
    serving: str
    dialects: frozenset[Dialect]
    priced: Priced
    scripted: bool

    def preview(self, config: RunnerConfig) -> Route:
        """Return the route as far as it is known before anything is started.

        Raises:
            ProviderError: the configuration lacks what this provider needs.
        """

    def open(self, config: RunnerConfig) -> AbstractAsyncContextManager[Hosting]:
        """Return the provider at work for one run.

        Raises:
            ProviderError: the configuration lacks what this provider needs.
        """


def hosting_record(config: RunnerConfig, hosting: Hosting) -> HostingRecord:
    """Return how a trial's model is hosted: what the server has told, and what the user says of it.

    The user's word on instance, parallel size and precision comes first: no server tells them of itself. The window
    is the server's, since a larger one that is asked for is not served.
    """
    told = hosting.hosted_as()
    said = {
        "instance_type": config.instance_type,
        "tensor_parallel_size": config.tensor_parallel_size,
        "precision": config.precision,
    }
    return told.model_copy(update={name: value for name, value in said.items() if value is not None})
