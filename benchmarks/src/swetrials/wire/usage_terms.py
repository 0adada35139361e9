"""What answers say of their own price, beside the tokens: ``docs/usage.md`` has the names and their sources."""

import re
from collections import Counter
from collections.abc import Iterator

from swetrials.records.requests import PriceTerms
from swetrials.wire.usage import JsonObject, amount, count, mapping, text, word

_USD_TICKS = 10_000_000_000
"""xAI's ``cost_in_usd_ticks`` in a dollar, as LiteLLM 1.108.7 has it."""

_SERVER_ITEMS = (
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
)
"""Items of a response object that stand for a use of a tool which OpenAI runs and bills by use."""


_TOOL_OBJECTS = ("server_tool_use", "server_side_tool_usage_details")
_USE = re.compile("search|fetch|grounding|code_execution|num_sources")
_DIGITS = re.compile("[0-9]{1,12}")


def anthropic_terms(usage: JsonObject) -> PriceTerms | None:
    """Return what a usage of Anthropic Messages says of the price."""
    return _terms(
        service_tier=word(usage.get("service_tier")),
        speed=word(usage.get("speed")),
        inference_geo=word(usage.get("inference_geo")),
        server_tools=dict(_uses(usage)),
        reported_usd=_reported(usage),
    )


def openai_terms(body: JsonObject, usage: JsonObject) -> PriceTerms | None:
    """Return what a chunk, a chat.completion or a response object says of the price."""
    tools = dict(_uses(usage))
    if not tools:
        output = body.get("output")
        kinds = [text(mapping(item).get("type")) for item in (output if isinstance(output, list) else [])]
        tools = dict(Counter(kind for kind in kinds if kind in _SERVER_ITEMS))
    return _terms(
        service_tier=word(body.get("service_tier")) or word(usage.get("service_tier")),
        server_tools=tools,
        reported_usd=_reported(usage),
        speed=word(usage.get("speed")),
        inference_geo=word(usage.get("inference_geo")),
    )


def converse_terms(holder: JsonObject) -> PriceTerms | None:
    """Return what a response of Converse, or the metadata event of its stream, says of the price."""
    latency = text(mapping(holder.get("performanceConfig")).get("latency"))
    return _terms(service_tier=word(holder.get("serviceTier")), speed=latency)


def joined(earlier: PriceTerms | None, later: PriceTerms | None) -> PriceTerms | None:
    """Return the terms after a later report: what it tells replaces what was told before; no count or price falls."""
    if earlier is None or later is None:
        return later or earlier
    told = {name: value for name in PriceTerms.model_fields if (value := getattr(later, name)) not in (None, {})}
    tools = earlier.server_tools | later.server_tools
    told["server_tools"] = {name: max(number, earlier.server_tools.get(name, 0)) for name, number in tools.items()}
    if None not in (earlier.reported_usd, later.reported_usd):
        told["reported_usd"] = max(earlier.reported_usd or 0.0, later.reported_usd or 0.0)
    return earlier.model_copy(update=told)


def _uses(usage: JsonObject, *, all_of_it: bool = False) -> Iterator[tuple[str, int]]:
    """Yield how often the server's tools were used: all that the known objects count, and wherever else it stands.

    LiteLLM puts ``web_search_requests`` into ``prompt_tokens_details``; xAI and Perplexity put ``num_sources_used``
    and ``num_search_queries`` beside the tokens.
    """
    for name, value in usage.items():
        if isinstance(value, dict):
            yield from _uses(value, all_of_it=all_of_it or name in _TOOL_OBJECTS)
        elif "tokens" not in name and (all_of_it or _USE.search(name)):
            told = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
            yield from ((name, number) for number in [count(told)] if number)


def _reported(usage: JsonObject) -> float | None:
    cost = amount(usage.get("cost"))
    if cost is None:
        cost = amount(mapping(usage.get("cost")).get("total_cost"))
    if cost is not None and usage.get("is_byok") is True:
        # With a key of the user's own, OpenRouter's cost is its fee; the model's price stands beside it.
        cost += amount(mapping(usage.get("cost_details")).get("upstream_inference_cost")) or 0.0
    ticks = amount(usage.get("cost_in_usd_ticks"))
    return cost if cost is not None or ticks is None else ticks / _USD_TICKS


def _terms(
    *,
    service_tier: str | None = None,
    speed: str | None = None,
    inference_geo: str | None = None,
    server_tools: dict[str, int] | None = None,
    reported_usd: float | None = None,
) -> PriceTerms | None:
    if not any((service_tier, speed, inference_geo, server_tools)) and reported_usd is None:
        return None
    return PriceTerms(
        service_tier=service_tier,
        speed=speed,
        inference_geo=inference_geo,
        server_tools=server_tools or {},
        reported_usd=reported_usd,
    )
