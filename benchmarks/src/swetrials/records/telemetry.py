"""What a vLLM server's own counters say of one trial."""

from pydantic import Field

from swetrials.records.base import Record


class HistogramWindow(Record):
    """What a histogram took in during the window; quantiles are interpolated inside their bucket."""

    count: float
    sum: float
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None


class GaugeWindow(Record):
    """What a gauge read during the window."""

    samples: int
    min: float
    mean: float
    max: float


class VllmPrometheus(Record):
    """The whole ``vllm:`` surface of ``/metrics`` over one trial."""

    available: bool
    single_tenant: bool = Field(True, description="False: other trials used the server at the same time")
    note: str = ""
    window_seconds: float | None = None
    counters: dict[str, float] = Field({}, description="by name and labels: increase over the window")
    histograms: dict[str, HistogramWindow] = {}
    gauges: dict[str, GaugeWindow] = {}
    derived: dict[str, float | None] = Field({}, description="prefix_cache_hit_rate and the like")
