"""vLLM's counters: read from a recorded ``/metrics``, and added up over a window."""

from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ports import port_for_a_server
from swetrials.wire.prometheus import CounterWindow, Histogram, ScrapeError, Snapshot, derived, parse, scrape

RECORDED = (Path(__file__).parents[1] / "fixtures" / "vllm-metrics.txt").read_text()

TWO_ENGINES = """\
# TYPE process_start_time_seconds gauge
process_start_time_seconds 100.5
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 10.0
vllm:prompt_tokens_total{engine="1",model_name="m"} 5.0
vllm:prompt_tokens_created{engine="0",model_name="m"} 1.7e+09
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 1.0
vllm:request_success_total{engine="1",finished_reason="stop",model_name="m"} 2.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="m"} 4.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.75
# TYPE vllm:odd gauge
vllm:odd{engine="0",model_name="m"} NaN
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",engine="0"} 1.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{engine="0",le="1.0",model_name="m"} 1.0
vllm:e2e_request_latency_seconds_bucket{engine="0",le="+Inf",model_name="m"} 2.0
vllm:e2e_request_latency_seconds_count{engine="0",model_name="m"} 2.0
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="m"} 4.0
vllm:e2e_request_latency_seconds_bucket{engine="1",le="1.0",model_name="m"} 3.0
vllm:e2e_request_latency_seconds_bucket{engine="1",le="+Inf",model_name="m"} 3.0
vllm:e2e_request_latency_seconds_count{engine="1",model_name="m"} 3.0
vllm:e2e_request_latency_seconds_sum{engine="1",model_name="m"} 1.5
# TYPE other_total counter
other_total 7.0
"""


def test_a_recorded_surface_is_read_whole() -> None:
    snapshot = parse(RECORDED, at_seconds=3.0)
    assert snapshot.at_seconds == 3.0
    assert snapshot.process_started == 1.79597044504e9
    assert snapshot.counters["vllm:prompt_tokens_total"] == 90
    assert snapshot.counters["vllm:generation_tokens_total"] == 80
    assert snapshot.counters['vllm:request_success_total{finished_reason="length"}'] == 3
    assert snapshot.counters['vllm:prompt_tokens_by_source_total{source="local_compute"}'] == 90
    assert snapshot.gauges["vllm:kv_cache_usage_perc"] == (0.0,)
    assert snapshot.facts["vllm:cache_config_info"]["block_size"] == "128"
    waited = snapshot.histograms["vllm:time_to_first_token_seconds"]
    assert (waited.count, waited.sum) == (3, 0.07419729232788086)
    # A histogram whose name ends like a counter's.
    assert snapshot.histograms["vllm:iteration_tokens_total"].sum == 170
    names = {
        line.split()[2].removesuffix("_total") for line in RECORDED.splitlines() if line.startswith("# TYPE vllm:")
    }
    read = {*snapshot.counters, *snapshot.gauges, *snapshot.histograms, *snapshot.facts}
    assert {name.partition("{")[0].removesuffix("_total") for name in read} == {n for n in names if "_created" not in n}


def test_engines_are_added_up_and_their_gauges_are_readings() -> None:
    snapshot = parse(TWO_ENGINES, at_seconds=0)
    assert snapshot.counters == {
        "vllm:prompt_tokens_total": 15.0,
        'vllm:request_success_total{finished_reason="stop"}': 3.0,
        'vllm:request_success_total{finished_reason="length"}': 4.0,
    }
    assert snapshot.gauges == {"vllm:kv_cache_usage_perc": (0.25, 0.75)}
    assert snapshot.facts == {"vllm:cache_config_info": {"block_size": "16"}}
    assert snapshot.histograms == {
        "vllm:e2e_request_latency_seconds": Histogram(5.0, 5.5, {1.0: 4.0, float("inf"): 5.0})
    }
    [usage] = CounterWindow(snapshot).gauges().values()
    assert (usage.samples, usage.min, usage.mean, usage.max) == (2, 0.25, 0.5, 0.75)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no vllm: series"),
        ("<html><body>hello</body></html>", "holds no vllm: series"),
        ("# TYPE other_total counter\nother_total 7.0\n", "holds no vllm: series"),
        ('vllm:prompt_tokens_total{engine="0 10.0\n', "not in Prometheus's format"),
        ("# TYPE vllm:x_total counter\nvllm:x_total ten\n", "not in Prometheus's format"),
    ],
)
def test_what_is_no_surface_of_vllm(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text, at_seconds=0)


BUCKETS = {1.0: 2.0, 2.0: 6.0, 4.0: 8.0, float("inf"): 10.0}


@pytest.mark.parametrize(
    ("buckets", "share", "value"),
    [
        (BUCKETS, 0.1, 0.5),  # the first of the two below 1
        (BUCKETS, 0.2, 1.0),
        (BUCKETS, 0.5, 1.75),  # the third of the four between 1 and 2
        (BUCKETS, 0.7, 3.0),
        (BUCKETS, 0.9, 4.0),  # beyond the last finite bound: that bound
        ({1.0: 0.0, 2.0: 4.0, float("inf"): 4.0}, 0.5, 1.5),
        ({0.0: 3.0, 1.0: 3.0, float("inf"): 3.0}, 0.9, 0.0),
        ({1.0: 0.0, float("inf"): 0.0}, 0.5, None),
        ({}, 0.5, None),
    ],
)
def test_quantiles_are_interpolated_inside_their_bucket(
    buckets: dict[float, float], share: float, value: float | None
) -> None:
    assert Histogram(10, 0, buckets).quantile(share) == value


@given(st.lists(st.floats(0, 9.99), min_size=1), st.floats(0.01, 1))
def test_a_quantile_lies_in_the_bucket_of_the_value_it_stands_for(values: list[float], share: float) -> None:
    bounds = [0.5, 1.0, 2.5, 5.0, 10.0, float("inf")]
    buckets = {bound: float(sum(value <= bound for value in values)) for bound in bounds}
    found = Histogram(len(values), sum(values), buckets).quantile(share)
    rank = share * len(values)
    exact = sorted(values)[min(len(values), max(1, -int(-rank // 1))) - 1]
    bucket = next(index for index, bound in enumerate(bounds) if exact <= bound)
    assert found is not None
    assert ([0.0, *bounds][bucket] - 1e-9) <= found <= bounds[bucket] + 1e-9


def snapshot(at: float, tokens: float, started: float | None = 1.0, running: float = 0.0) -> Snapshot:
    taken = Histogram(tokens, tokens * 2, {1.0: tokens, float("inf"): tokens})
    return Snapshot(
        at,
        {"vllm:prompt_tokens_total": tokens},
        {"vllm:h": taken},
        {"vllm:num_requests_running": (running,)},
        {},
        started,
    )


def test_a_window_holds_increases_and_readings() -> None:
    window = CounterWindow(snapshot(10, 100))
    window.add(snapshot(11, 150, running=3))
    window.add(snapshot(12.5, 170, running=1))
    assert (window.seconds, window.scrapes, window.restarts) == (2.5, 3, 0)
    assert window.counters() == {"vllm:prompt_tokens_total": 70}
    taken = window.histograms()["vllm:h"]
    assert (taken.count, taken.sum, taken.mean, taken.p50) == (70, 140, 2.0, 0.5)
    running = window.gauges()["vllm:num_requests_running"]
    assert (running.samples, running.min, running.max) == (3, 0, 3)
    assert running.mean == pytest.approx(4 / 3)


def test_nothing_between_two_scrapes_is_zero_and_no_mean() -> None:
    window = CounterWindow(snapshot(0, 5))
    window.add(snapshot(1, 5))
    assert window.counters() == {"vllm:prompt_tokens_total": 0}
    taken = window.histograms()["vllm:h"]
    assert (taken.count, taken.mean, taken.p50, taken.p90) == (0, None, None, None)


def test_a_series_that_is_new_counts_from_zero() -> None:
    window = CounterWindow(Snapshot(0, {"a": 1.0}))
    window.add(Snapshot(1, {"a": 1.0, "b": 4.0}))
    assert window.counters() == {"a": 0, "b": 4}


@pytest.mark.parametrize(
    ("before", "after", "restarted"),
    [
        (snapshot(0, 100), snapshot(1, 100), False),
        (snapshot(0, 100), snapshot(1, 99), False),  # the same process: no restart, whatever its counters do
        (snapshot(0, 100, None), snapshot(1, 99, None), True),
        (snapshot(0, 100), snapshot(1, 200, started=2.0), True),  # a new process that has counted more already
        (snapshot(0, 100, None), Snapshot(1), True),
        (snapshot(0, 100, None), snapshot(1, 101, 1.0), False),
    ],
)
def test_a_restart_is_noticed(before: Snapshot, after: Snapshot, restarted: bool) -> None:
    window = CounterWindow(before)
    window.add(after)
    assert window.restarts == restarted


@given(
    st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=5), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_whatever_was_seen_before_and_after_restarts_is_counted_once(lives: list[list[int]], already: int) -> None:
    window = CounterWindow(snapshot(0, already, started=0.0))
    clock, tokens = 0.0, float(already)
    for number, steps in enumerate(lives):
        if number:
            tokens = 0.0
        for step in steps:
            clock, tokens = clock + 1, tokens + step
            window.add(snapshot(clock, tokens, started=float(number)))
    everything = sum(sum(steps) for steps in lives)
    assert window.counters()["vllm:prompt_tokens_total"] == everything
    assert window.histograms()["vllm:h"].count == everything
    assert window.restarts == len(lives) - 1


def test_derived_figures() -> None:
    counters = {
        "vllm:prompt_tokens_total": 900.0,
        "vllm:generation_tokens_total": 100.0,
        "vllm:prefix_cache_queries_total": 900.0,
        "vllm:prefix_cache_hits_total": 450.0,
    }
    window = CounterWindow(Snapshot(0))
    window.add(parse(RECORDED, 1))
    found = derived(counters, window.histograms(), seconds=10)
    assert found == {
        "prefix_cache_hit_rate": 0.5,
        "prompt_tokens_per_second": 90,
        "generation_tokens_per_second": 10,
        "processed_tokens_per_second": 100,
        "mean_time_to_first_token_seconds": pytest.approx(0.07419729232788086 / 3),
        "mean_inter_token_seconds": pytest.approx(0.38719000000014603 / 77),
        "mean_request_seconds": pytest.approx(0.4595344066619873 / 3),
        "mean_queue_seconds": pytest.approx(7.418999962283124e-05 / 3),
    }


def test_derived_figures_of_an_older_server() -> None:
    older = RECORDED.replace("vllm:prefix_cache_", "vllm:gpu_prefix_cache_").replace(
        "vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"
    )
    assert older.count("gpu_prefix_cache_") > 3 and older.count("time_per_output_token_seconds") > 3
    now, then = (parse(text, 1) for text in (RECORDED, older))
    figures = []
    for snapshot in (now, then):
        window = CounterWindow(Snapshot(0))
        window.add(snapshot)
        figures.append(derived(window.counters(), window.histograms(), seconds=10))
    assert figures[0] == figures[1]
    assert None not in (figures[1]["prefix_cache_hit_rate"], figures[1]["mean_inter_token_seconds"])


def test_what_was_not_counted_is_unknown_and_not_zero() -> None:
    found = derived({"vllm:prefix_cache_queries_total": 0.0, "vllm:prefix_cache_hits_total": 0.0}, {}, seconds=0)
    assert set(found.values()) == {None}


@pytest.mark.anyio
async def test_a_server_that_is_not_there(unused_tcp_port: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(ScrapeError, match=rf"^http://127.0.0.1:{unused_tcp_port}/metrics does not answer: "):
            await scrape(client, f"http://127.0.0.1:{unused_tcp_port}", at_seconds=0)


@pytest.fixture
def unused_tcp_port() -> int:
    return port_for_a_server()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
