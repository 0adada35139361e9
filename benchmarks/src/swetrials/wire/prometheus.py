"""The ``vllm:`` surface of a server's ``/metrics``: scraped, parsed, and taken over a window.

Names and meanings are those of vLLM 0.32; where 0.8 and 0.9 had another name, that is known, too. Counters and
histograms of several engines (data parallel) are added up; the gauges of several engines count as several readings.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from swetrials.records.telemetry import GaugeWindow, HistogramWindow

PREFIX = "vllm:"

_WHO = frozenset({"engine", "model_name"})
"""Labels that say who counted, not what."""

_OLDER = {
    "prefix_cache_queries_total": "gpu_prefix_cache_queries_total",
    "prefix_cache_hits_total": "gpu_prefix_cache_hits_total",
    "inter_token_latency_seconds": "time_per_output_token_seconds",
}
"""What vLLM 0.8 and 0.9 called a series. Source: vllm-project/vllm pull requests 18354 and 24110."""

_PROCESS_START = "process_start_time_seconds"


class ScrapeError(Exception):
    """A server's counters cannot be had; the message is one line that names the address."""


@dataclass(frozen=True)
class Histogram:
    """What a histogram has taken in so far; ``buckets`` holds cumulative counts by upper bound."""

    count: float = 0.0
    sum: float = 0.0
    buckets: Mapping[float, float] = field(default_factory=dict)

    def __add__(self, other: "Histogram") -> "Histogram":
        return Histogram(self.count + other.count, self.sum + other.sum, _sums(self.buckets, other.buckets))

    def since(self, earlier: "Histogram") -> "Histogram":
        """Return what came after an earlier state."""
        buckets = {bound: count - earlier.buckets.get(bound, 0.0) for bound, count in self.buckets.items()}
        return Histogram(self.count - earlier.count, self.sum - earlier.sum, buckets)

    def quantile(self, share: float) -> float | None:
        """Return the value that a share of what came in does not exceed, interpolated inside its bucket.

        As with Prometheus's ``histogram_quantile``, buckets begin at 0 and the last finite bound stands for
        everything above it. ``None``: nothing came in.
        """
        rank = share * max(self.buckets.values(), default=0.0)
        low, below = min(0.0, *self.buckets) if self.buckets else 0.0, 0.0
        for high, count in sorted(self.buckets.items()):
            if rank and count >= rank and count > below:
                return low if math.isinf(high) else low + (high - low) * (rank - below) / (count - below)
            low, below = high, count
        return None

    def window(self) -> HistogramWindow:
        """Return it as a record of one window."""
        mean = self.sum / self.count if self.count else None
        return HistogramWindow(
            count=self.count, sum=self.sum, mean=mean, p50=self.quantile(0.5), p90=self.quantile(0.9)
        )


@dataclass(frozen=True)
class Snapshot:
    """One scrape. Keys are a series' name with the labels that say what is counted: ``vllm:x_total{reason="stop"}``.

    ``at_seconds`` is on the clock of whoever scraped; ``facts`` are the labels of series that only state something,
    such as ``vllm:cache_config_info``; ``process_started`` tells one server process from the next.
    """

    at_seconds: float
    counters: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    gauges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    process_started: float | None = None

    def is_after_restart_of(self, earlier: "Snapshot") -> bool:
        """Whether the server was started anew in between: a new process, or a counter that went down."""
        if earlier.process_started is not None and self.process_started is not None:
            return self.process_started != earlier.process_started
        return any(self.counters.get(key, 0.0) < value for key, value in earlier.counters.items())


async def scrape(client: httpx.AsyncClient, base_url: str, at_seconds: float) -> Snapshot:
    """Return a server's counters as they stand.

    Raises:
        ScrapeError: nothing answers, or what answers has no ``vllm:`` counters.
    """
    url = f"{base_url}/metrics"
    try:
        response = await client.get(url, follow_redirects=True)
    except httpx.HTTPError as error:
        raise ScrapeError(f"{url} does not answer: {str(error) or type(error).__name__}") from None
    if response.status_code != httpx.codes.OK:
        raise ScrapeError(f"{url} answers with status {response.status_code}")
    try:
        return parse(response.text, at_seconds)
    except ValueError as error:
        raise ScrapeError(f"{url}: {error}") from None


def parse(text: str, at_seconds: float) -> Snapshot:
    """Return the ``vllm:`` series of a text in Prometheus's exposition format.

    Raises:
        ValueError: the text is no such format, or holds no ``vllm:`` series.
    """
    snapshot = _Builder(at_seconds)
    try:
        for family in text_string_to_metric_families(_relevant(text)):
            snapshot.add(family)
    except (ValueError, IndexError, KeyError):
        raise ValueError("what it answers is not in Prometheus's format") from None
    if not snapshot.counters and not snapshot.gauges:
        raise ValueError("what it answers holds no vllm: series")
    return snapshot.built()


class _Builder:
    def __init__(self, at_seconds: float) -> None:
        self.counters: dict[str, float] = {}
        self.gauges: dict[str, tuple[float, ...]] = {}
        self._at_seconds = at_seconds
        self._histograms: dict[str, Histogram] = {}
        self._facts: dict[str, dict[str, str]] = {}
        self._started: float | None = None

    def add(self, family: Metric) -> None:
        for sample in family.samples:
            if not math.isfinite(sample.value):
                continue
            if family.name == _PROCESS_START:
                self._started = sample.value
            elif family.type == "histogram":
                self._add_to_histogram(family.name, sample)
            elif family.type == "counter":
                key = _key(sample.name, sample)
                self.counters[key] = self.counters.get(key, 0.0) + sample.value
            elif sample.name.endswith("_info"):
                self._facts[sample.name] = {k: v for k, v in sample.labels.items() if k not in _WHO}
            elif family.type == "gauge":
                key = _key(sample.name, sample)
                self.gauges[key] = (*self.gauges.get(key, ()), sample.value)

    def _add_to_histogram(self, name: str, sample: Sample) -> None:
        match sample.name.removeprefix(name):
            case "_bucket":
                part = Histogram(buckets={float(sample.labels["le"]): sample.value})
            case "_count":
                part = Histogram(count=sample.value)
            case "_sum":
                part = Histogram(sum=sample.value)
            case _:
                return
        key = _key(name, sample)
        self._histograms[key] = self._histograms.get(key, Histogram()) + part

    def built(self) -> Snapshot:
        return Snapshot(self._at_seconds, self.counters, self._histograms, self.gauges, self._facts, self._started)


def _relevant(text: str) -> str:
    """Leave out what other programs count, and when each series was made: that is half of the work of parsing."""
    kept = ("# TYPE " + PREFIX, PREFIX, "# TYPE " + _PROCESS_START, _PROCESS_START)
    lines = (line for line in text.splitlines() if line.startswith(kept) and "_created" not in line.partition("{")[0])
    return "\n".join(lines) + "\n"


def _key(name: str, sample: Sample) -> str:
    labels = sorted((label, value) for label, value in sample.labels.items() if label not in _WHO | {"le"})
    inside = ",".join(f'{label}="{value}"' for label, value in labels)
    return f"{name}{{{inside}}}" if inside else name


def _sums(left: Mapping[float, float], right: Mapping[float, float]) -> dict[float, float]:
    return {bound: left.get(bound, 0.0) + right.get(bound, 0.0) for bound in {**left, **right}}


class CounterWindow:
    """What a server did between the first and the last scrape, in constant memory.

    A restart sets a server's counters to zero. What it counted up to the last scrape before is kept and what
    it counted since is added, so that the increase is then a lower bound.
    """

    def __init__(self, first: Snapshot) -> None:
        self.restarts = 0
        self.scrapes = 0
        self._first = self._base = self._latest = first
        self._counters: dict[str, float] = {}
        self._histograms: dict[str, Histogram] = {}
        self._gauges: dict[str, _Readings] = {}
        self._read_gauges(first)

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next scrape."""
        if snapshot.is_after_restart_of(self._latest):
            self._counters = self.counters()
            self._histograms = self._increase()
            self._base = Snapshot(snapshot.at_seconds)
            self.restarts += 1
        self._latest = snapshot
        self._read_gauges(snapshot)

    @property
    def seconds(self) -> float:
        """From the first scrape to the last."""
        return self._latest.at_seconds - self._first.at_seconds

    @property
    def last_at_seconds(self) -> float:
        """When the last scrape was, on the clock of whoever scraped."""
        return self._latest.at_seconds

    def counters(self) -> dict[str, float]:
        """Return each counter's increase."""
        since = self._base.counters
        now = {key: value - since.get(key, 0.0) for key, value in self._latest.counters.items()}
        return {key: self._counters.get(key, 0.0) + now.get(key, 0.0) for key in {**self._counters, **now}}

    def histograms(self) -> dict[str, HistogramWindow]:
        """Return what each histogram took in."""
        return {key: histogram.window() for key, histogram in self._increase().items()}

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """What the server states about itself, as last read."""
        return {name: dict(labels) for name, labels in self._latest.facts.items()}

    def gauges(self) -> dict[str, GaugeWindow]:
        """Return what each gauge read."""
        return {key: readings.window() for key, readings in self._gauges.items()}

    def _increase(self) -> dict[str, Histogram]:
        nothing = Histogram()
        since = self._base.histograms
        now = {key: value.since(since.get(key, nothing)) for key, value in self._latest.histograms.items()}
        both = {**self._histograms, **now}
        return {key: self._histograms.get(key, nothing) + now.get(key, nothing) for key in both}

    def _read_gauges(self, snapshot: Snapshot) -> None:
        self.scrapes += 1
        for key, values in snapshot.gauges.items():
            for value in values:
                self._gauges.setdefault(key, _Readings()).add(value)


@dataclass
class _Readings:
    samples: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def add(self, value: float) -> None:
        self.samples += 1
        self.total += value
        self.least, self.most = min(self.least, value), max(self.most, value)

    def window(self) -> GaugeWindow:
        return GaugeWindow(samples=self.samples, min=self.least, mean=self.total / self.samples, max=self.most)


def derived(
    counters: Mapping[str, float], histograms: Mapping[str, HistogramWindow], seconds: float
) -> dict[str, float | None]:
    """Return the figures that people ask for, from a window's increases; ``None`` where nothing was counted.

    ``processed_tokens_per_second`` is prompt and generated tokens together, cached prompt tokens included: the
    throughput that the cost of rented GPUs is reckoned with.
    """
    prompt = counters.get("vllm:prompt_tokens_total")
    generated = counters.get("vllm:generation_tokens_total")
    both = None if prompt is None or generated is None else prompt + generated

    def counted(name: str) -> float | None:
        return next((counters[f"{PREFIX}{each}"] for each in _names(name) if f"{PREFIX}{each}" in counters), None)

    def mean(name: str) -> float | None:
        known = (histograms.get(f"{PREFIX}{each}") for each in _names(name))
        return next((histogram.mean for histogram in known if histogram is not None), None)

    return {
        "prefix_cache_hit_rate": _ratio(counted("prefix_cache_hits_total"), counted("prefix_cache_queries_total")),
        "prompt_tokens_per_second": _ratio(prompt, seconds),
        "generation_tokens_per_second": _ratio(generated, seconds),
        "processed_tokens_per_second": _ratio(both, seconds),
        "mean_time_to_first_token_seconds": mean("time_to_first_token_seconds"),
        "mean_inter_token_seconds": mean("inter_token_latency_seconds"),
        "mean_request_seconds": mean("e2e_request_latency_seconds"),
        "mean_queue_seconds": mean("request_queue_time_seconds"),
    }


def _names(name: str) -> tuple[str, ...]:
    return (name, _OLDER[name]) if name in _OLDER else (name,)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
