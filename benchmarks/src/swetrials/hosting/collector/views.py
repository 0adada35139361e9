"""What people ask a collector's database, as views on its tables.

Counters only grow until their server is started anew: an increase is what a counter has more than one reading
before, or all it shows after a restart.
"""

_STATE = """
    SELECT scrape, any_value(taken_at) AS taken_at, any_value(session) AS session,
        sum(value) FILTER (metric = 'vllm:prompt_tokens_total') AS prompt_tokens,
        sum(value) FILTER (metric = 'vllm:generation_tokens_total') AS generation_tokens,
        sum(value) FILTER (metric SIMILAR TO 'vllm:(gpu_)?prefix_cache_queries_total') AS cache_queries,
        sum(value) FILTER (metric SIMILAR TO 'vllm:(gpu_)?prefix_cache_hits_total') AS cache_hits,
        sum(value) FILTER (metric = 'vllm:num_preemptions_total') AS preemptions,
        sum(value) FILTER (metric = 'vllm:num_requests_running') AS running,
        sum(value) FILTER (metric = 'vllm:num_requests_waiting') AS waiting,
        max(value) FILTER (metric = 'vllm:kv_cache_usage_perc') AS kv_cache_usage,
        max(value) FILTER (metric = 'process_start_time_seconds') AS server_started
    FROM samples JOIN scrapes USING (scrape)
    WHERE source = 'server' AND ok
    GROUP BY scrape
"""

_INCREASES = """
    WITH readings AS (
        SELECT *, lag(taken_at) OVER steps AS before_at,
            lag(prompt_tokens) OVER steps AS prompt_before,
            lag(generation_tokens) OVER steps AS generation_before,
            lag(cache_queries) OVER steps AS queries_before,
            lag(cache_hits) OVER steps AS hits_before,
            coalesce(server_started <> lag(server_started) OVER steps, false)
                OR coalesce(prompt_tokens < lag(prompt_tokens) OVER steps, false) AS restarted
        FROM state
        WINDOW steps AS (PARTITION BY session ORDER BY scrape)
    )
    SELECT scrape, taken_at, session, restarted,
        epoch(taken_at) - epoch(before_at) AS seconds,
        prompt_tokens - if(restarted, 0, prompt_before) AS prompt_tokens,
        generation_tokens - if(restarted, 0, generation_before) AS generation_tokens,
        cache_queries - if(restarted, 0, queries_before) AS cache_queries,
        cache_hits - if(restarted, 0, hits_before) AS cache_hits
    FROM readings
    WHERE before_at IS NOT NULL
"""

_THROUGHPUT = """
    SELECT taken_at, session, restarted, seconds,
        prompt_tokens / seconds AS prompt_tokens_per_second,
        generation_tokens / seconds AS generation_tokens_per_second,
        (prompt_tokens + generation_tokens) / seconds AS tokens_per_second,
        cache_hits / nullif(cache_queries, 0) AS prefix_cache_hit_rate
    FROM increases
    WHERE seconds > 0
"""

_REQUESTS = """
    SELECT taken_at, session, running, waiting, kv_cache_usage, preemptions FROM state
"""

_GPUS = """
    SELECT any_value(taken_at) AS taken_at, any_value(session) AS session,
        CAST(labels->>'gpu' AS INTEGER) AS gpu,
        max(value) FILTER (metric = 'gpu:utilization_percent') AS utilization_percent,
        max(value) FILTER (metric = 'gpu:memory_used_mib') AS memory_used_mib,
        max(value) FILTER (metric = 'gpu:memory_total_mib') AS memory_total_mib,
        max(value) FILTER (metric = 'gpu:power_watts') AS power_watts
    FROM samples JOIN scrapes USING (scrape)
    WHERE source = 'gpu' AND ok
    GROUP BY scrape, labels
"""

_POWER = """
    WITH boxes AS (
        SELECT taken_at, session, sum(power_watts) AS watts, count(*) AS gpus FROM gpus GROUP BY taken_at, session
    )
    SELECT *, watts * (epoch(taken_at) - epoch(lag(taken_at) OVER steps)) / 3600 AS watt_hours
    FROM boxes
    WINDOW steps AS (PARTITION BY session ORDER BY taken_at)
"""

_OVERVIEW = """
    WITH counted AS (
        SELECT session, count(*) FILTER (source = 'server') AS scrapes,
            count(*) FILTER (source = 'server' AND NOT ok) AS failed, max(taken_at) AS last_at
        FROM scrapes GROUP BY session
    ), used AS (
        SELECT session, count(*) FILTER (restarted) AS restarts,
            sum(prompt_tokens) AS prompt_tokens, sum(generation_tokens) AS generation_tokens,
            sum(cache_hits) / nullif(sum(cache_queries), 0) AS prefix_cache_hit_rate,
            sum(prompt_tokens + generation_tokens) / nullif(sum(seconds), 0) AS tokens_per_second
        FROM increases GROUP BY session
    ), busy AS (
        SELECT session, max(running) AS most_running, max(waiting) AS most_waiting,
            max(kv_cache_usage) AS most_kv_cache_usage
        FROM requests GROUP BY session
    ), drawn AS (
        SELECT session, avg(watts) AS mean_watts, sum(watt_hours) AS watt_hours FROM power GROUP BY session
    )
    SELECT *
    FROM sessions LEFT JOIN counted USING (session) LEFT JOIN used USING (session)
        LEFT JOIN busy USING (session) LEFT JOIN drawn USING (session)
    ORDER BY session
"""

VIEWS: dict[str, str] = {
    "state": _STATE,
    "increases": _INCREASES,
    "throughput": _THROUGHPUT,
    "requests": _REQUESTS,
    "gpus": _GPUS,
    "power": _POWER,
    "overview": _OVERVIEW,
}
"""By name, each after those it rests on.

``state``: one row a scrape with the figures below as the server showed them. ``increases``: what came since the scrape
before. ``throughput``: tokens per second and hit rate of the prefix cache. ``requests``: running, waiting, share of
the KV cache in use. ``gpus``: one row a GPU. ``power``: the box's watts and what it drew. ``overview``: a session in
one row.
"""
