"""The tables of docs/usage.md, tried row by row; and any shape at all, from which nothing may be invented."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swetrials.records.requests import PriceTerms
from swetrials.records.usage import Usage, UsageReport
from swetrials.wire import sse
from swetrials.wire.route import Dialect
from swetrials.wire.usage import Told, count
from swetrials.wire.usage_readers import reader_for
from swetrials.wire.usage_spellings import ANTHROPIC, CONVERSE, OPENAI_CHAT, OPENAI_RESPONSES, Spellings

PAGE = (Path(__file__).parents[3] / "docs" / "usage.md").read_text()
NAMES = {
    "fresh": "fresh_input",
    "read": "cache_read",
    "write": "cache_write",
    "write_5m": "cache_write_5m",
    "write_1h": "cache_write_1h",
    "output": "output",
    "reasoning": "reasoning",
    "prompt": "input_total",
}
DIALECTS: dict[str, tuple[Dialect, str, dict[str, Any], Spellings]] = {
    "chat": ("openai-chat", "", {"choices": [{"finish_reason": "stop"}]}, OPENAI_CHAT),
    "responses": ("openai-responses", "", {"status": "completed"}, OPENAI_RESPONSES),
    "anthropic": ("anthropic", "", {"type": "message"}, ANTHROPIC),
    "converse": ("bedrock", "/model/m/converse", {"stopReason": "end_turn"}, CONVERSE),
}
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.partition(" |")[0].removeprefix("| ") in DIALECTS and len(line.split(" | ")) == 5
]
COUNTS = [row for row in ROWS if not row[3].startswith("`")]
TERMS = [row for row in ROWS if row[3].startswith("`")]


def told_of(name: str, example: Any) -> Told:  # noqa: ANN401
    """Read an answer that is reduced to what tells, or the events of a stream."""
    dialect, path, skeleton, _ = DIALECTS[name]
    streamed = isinstance(example, list)
    reader = reader_for(dialect, path, sse.MEDIA_TYPE if streamed else "application/json")
    assert reader is not None
    if streamed:
        for event in example:
            reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    else:
        reader.feed(json.dumps({**skeleton, **example}).encode())
    reader.finish()
    return reader.told


def report_of(told: Told) -> UsageReport:
    return UsageReport.of(told.usage or Usage(), whole=told.final and not told.doubts)


def test_the_page_has_rows_of_each_dialect() -> None:
    assert {row[0] for row in COUNTS} == {row[0] for row in TERMS} == set(DIALECTS)
    assert len(COUNTS) > 25 and len(TERMS) >= 10


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_row_of_counts_comes_to_what_it_says(row: list[str]) -> None:
    told = told_of(row[0], orjson.loads(row[2].strip("`")))
    parts = row[3].split(", ")
    flags = {"complete", "doubt", "nothing"} & set(parts)
    counts = dict(part.split(" ") for part in parts if part not in flags)
    expected = Usage(**{NAMES[name]: int(number) for name, number in counts.items()})
    assert (told.usage or Usage()) == expected
    assert bool(told.doubts) is ("doubt" in flags)
    assert told.final
    assert (report_of(told).completeness == "complete") is ("complete" in flags)


@pytest.mark.parametrize("row", TERMS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_row_of_terms_comes_to_what_it_says(row: list[str]) -> None:
    told = told_of(row[0], orjson.loads(row[2].strip("`")))
    assert told.terms == PriceTerms.model_validate_json(row[3].strip("`"))


@pytest.mark.parametrize("name", DIALECTS)
def test_every_name_that_is_read_has_a_row_with_its_source(name: str) -> None:
    shown = [(set(paths(orjson.loads(row[2].strip("`")))), row[4]) for row in COUNTS if row[0] == name]
    for names in DIALECTS[name][3].values():
        for spelling in names:
            rows = [source for found, source in shown if any(path.endswith(spelling.path) for path in found)]
            assert rows, f"{spelling.path} has no row"
            assert any(spelling.source in source for source in rows), f"{spelling.path}: {spelling.source}"


def paths(value: Any, before: str = "") -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{before}{key}"
            yield from paths(inner, f"{before}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, before)


KEYS = sorted(set(re.findall(r'"(\w+)":', PAGE)))
numbers = st.integers(-5, 200) | st.sampled_from([1e3, 1.5, 10**30, -1.0, True, 2**63, 1e300])
leaves = st.none() | st.booleans() | numbers | st.text(max_size=5) | st.sampled_from(KEYS)
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(
    st.sampled_from([*KEYS, "model", "error", "message", "response", "delta", "metadata"]), junk, max_size=8
)


def figures(value: Any) -> Iterator[int]:  # noqa: ANN401
    """Yield each count that stands anywhere in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from figures(each)
    elif (number := count(value)) is not None:
        yield number


@pytest.mark.parametrize("name", DIALECTS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(usage=objects, body=objects)
def test_any_shape_is_read_without_an_error_and_nothing_is_invented(name: str, usage: Any, body: Any) -> None:  # noqa: ANN401
    for example in ({**body, "usage": usage}, [{**body, "usage": usage}, {"type": "message_stop"}, body, usage]):
        told = told_of(name, example)
        report, found = report_of(told), list(figures(example))
        assert (report.completeness == "complete") <= (told.usage is not None and told.usage.is_whole)
        if told.usage is not None:
            assert (told.usage.total or 0) <= 2 * sum(found)
            assert told.usage.output is None or told.usage.output in {one + two for one in found for two in (*found, 0)}
        else:
            assert report.usage.total is None


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, int]]:
    """Return a dialect, a usage in its own names from which some are missing, and what is true."""
    name = draw(st.sampled_from(sorted(DIALECTS)))
    true = {key: draw(st.integers(0, 1000)) for key in ("fresh_input", "cache_read", "output")}
    spellings = DIALECTS[name][3]
    true["cache_write"] = draw(st.integers(0, 1000))
    prompt = true["fresh_input"] + true["cache_read"] + true["cache_write"]
    whole = {**true, "read": true["cache_read"], "write": true["cache_write"], "prompt": prompt}
    whole |= {"miss": true["fresh_input"], "total": prompt + true["output"]}
    usage: dict[str, Any] = {}
    for what, names in spellings.items():
        # The cache write of the OpenAI dialects is 0 where nobody tells it: it is never left out here.
        kept = what == "write" or draw(st.booleans())
        if what in whole and kept:
            path = draw(st.sampled_from(names)).path.split(".")
            holder = usage
            for key in path[:-1]:
                holder = holder.setdefault(key, {})
            holder[path[-1]] = draw(st.sampled_from([whole[what], float(whole[what])]))
    return name, usage, true


@given(answers())
def test_what_is_known_is_true_and_the_bounds_hold_the_rest(answer: tuple[str, dict[str, Any], dict[str, int]]) -> None:
    name, usage, true = answer
    told = told_of(name, {"usage": usage})
    report = report_of(told)
    for bucket, value in true.items():
        if told.doubts or report.usage.total is None:
            continue
        known, most = getattr(report.usage, bucket), getattr(report.most, bucket)
        assert known in (None, value)
        assert most is None or most >= value
    if report.completeness == "complete":
        assert report.usage.total == sum(true.values())


@pytest.mark.parametrize(
    "deep", [b"[" * 5000, b'{"usage":' * 5000, b'{"usage":{"prompt_tokens":' + b"9" * 5000 + b"}}"]
)
@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_too_deep_or_too_long_tells_nothing(name: str, deep: bytes) -> None:
    dialect, path, _, _ = DIALECTS[name]
    for kind, body in ((sse.MEDIA_TYPE, b"data: " + deep + b"\n\n"), ("application/json", deep)):
        reader = reader_for(dialect, path, kind)
        assert reader is not None
        reader.feed(body)
        reader.finish()
        assert reader.told.usage is None
