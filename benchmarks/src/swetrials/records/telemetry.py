"""What a vLLM server's own counters say of one trial."""

from pydantic import Field

from swetrials.records.record import Record


class HistogramWindow(Record):
    """What a histogram took in during the window, in its own unit.

    Quantiles are interpolated inside their bucket; above the last finite bound they are that bound.
    """

    count: float
    sum: float
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None


class GaugeWindow(Record):
    """What a gauge read during the window; each engine of a server is a reading of its own."""

    samples: int
    min: float
    mean: float
    max: float


class VllmPrometheus(Record):
    """The whole ``vllm:`` surface of ``/metrics`` over one trial.

    Series are known by their name and the labels that say what is counted, as in
    ``vllm:request_success_total{finished_reason="stop"}``: labels ``engine`` and ``model_name`` are added up.
    """

    available: bool
    single_tenant: bool = Field(True, description="False: other trials used the server at the same time")
    note: str = ""
    window_seconds: float | None = Field(None, description="from the first scrape to the last")
    scrapes: int = 0
    restarts: int = Field(0, description="server restarts in the window; with any, increases are lower bounds")
    counters: dict[str, float] = Field({}, description="increase over the window")
    histograms: dict[str, HistogramWindow] = {}
    gauges: dict[str, GaugeWindow] = {}
    facts: dict[str, dict[str, str]] = Field({}, description="what the server states about itself: cache_config_info")
    derived: dict[str, float | None] = Field(
        {}, description="prefix_cache_hit_rate, tokens per second, mean seconds; null: nothing was counted"
    )
