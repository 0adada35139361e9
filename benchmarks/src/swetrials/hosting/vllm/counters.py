"""A vLLM server's counters over one attempt: before, every second while it runs, and after."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
import anyio.abc
import httpx

from swetrials.records.telemetry import VllmPrometheus
from swetrials.wire.prometheus import CounterWindow, ScrapeError, derived, scrape

_PAUSE_SECONDS = 1.0
_LAST_SCRAPE_SECONDS = 10.0

_SHARED = "other trials used the server at the same time: these are its figures for all of them, not this trial's alone"


class CounterWatch:
    """Watches ``/metrics`` for as long as its block runs; a server that shows nothing is part of the record.

    It never fails: what goes wrong with the counters must not end the attempt that they are about.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        base_url: str,
        *,
        single_tenant: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._base_url = base_url
        self._single_tenant = single_tenant
        self._clock = clock
        self._window: CounterWindow | None = None
        self._problem = ""
        self._missed = 0
        self._ended_at = 0.0
        self._sampling: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        await self._read()
        if self._window is not None:
            self._sampling = anyio.create_task_group()
            await self._sampling.__aenter__()
            self._sampling.start_soon(self._sample)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sampling is None:
            return
        self._sampling.cancel_scope.cancel()
        try:
            # The attempt's own exception is kept from the task group, which would wrap it into a group.
            await self._sampling.__aexit__(None, None, None)
        finally:
            self._ended_at = self._clock()
            with anyio.move_on_after(_LAST_SCRAPE_SECONDS, shield=True):
                await self._read()

    def block(self) -> VllmPrometheus:
        """Return the counters' increase and the gauges' readings over the block."""
        window = self._window
        if window is None:
            return VllmPrometheus(available=False, single_tenant=self._single_tenant, note=self._problem)
        counters, histograms = window.counters(), window.histograms()
        return VllmPrometheus(
            available=True,
            single_tenant=self._single_tenant,
            note="; ".join(self._remarks(window)),
            window_seconds=window.seconds,
            scrapes=window.scrapes,
            restarts=window.restarts,
            counters=counters,
            histograms=histograms,
            gauges=window.gauges(),
            facts=window.facts,
            derived=derived(counters, histograms, window.seconds),
        )

    async def _sample(self) -> None:
        while True:
            await anyio.sleep(_PAUSE_SECONDS)
            await self._read()

    async def _read(self) -> None:
        try:
            snapshot = await scrape(self._client, self._base_url, self._clock())
        except ScrapeError as error:
            self._problem = str(error)
            self._missed += 1
            return
        if self._window is None:
            self._window = CounterWindow(snapshot)
        else:
            self._window.add(snapshot)

    def _remarks(self, window: CounterWindow) -> list[str]:
        remarks = []
        if not self._single_tenant:
            remarks.append(_SHARED)
        if window.restarts:
            remarks.append(f"server restarts meanwhile: {window.restarts}: increases are lower bounds")
        if self._missed:
            remarks.append(f"scrapes that failed: {self._missed}: {self._problem}")
        if window.last_at_seconds < self._ended_at:
            unseen = self._ended_at - window.last_at_seconds
            remarks.append(f"the last {unseen:.0f} s were not seen: increases are lower bounds")
        return remarks
