"""Which witness of the tokens is believed, when they are said to disagree, and which counts cannot be."""

import pytest

from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import Completeness, Usage, UsageReport
from swetrials.trials.usage_reconciliation import (
    counter_disagreements,
    disagreements,
    joined,
    other_models,
    output_doubts,
    unconfirmed,
    usage_block,
    usage_doubts,
)


def report(output: int | None, completeness: str = "complete") -> UsageReport:
    return UsageReport.model_validate({"usage": {"output": output}, "completeness": completeness, "requests": 1})


@pytest.mark.parametrize(
    ("reported", "metered", "served", "source", "output", "completeness"),
    [
        (report(10), report(10), report(10), "metered", 10, "complete"),
        (report(10), None, report(10), "reported", 10, "complete"),
        (report(10), report(4, "lower_bound"), None, "metered", 4, "lower_bound"),
        (report(10), report(4, "lower_bound"), report(9), "served", 9, "lower_bound"),
        (report(3, "lower_bound"), report(7, "lower_bound"), None, "metered", 7, "lower_bound"),
        (report(3, "lower_bound"), report(7), report(7), "metered", 7, "complete"),
        (report(3, "lower_bound"), report(7, "lower_bound"), report(9), "served", 9, "lower_bound"),
        (report(8, "lower_bound"), report(7, "lower_bound"), None, "metered", 7, "lower_bound"),
        (report(8), report(None, "unknown"), None, "mixed", 8, "lower_bound"),
        (report(0), report(None, "unknown"), None, "none", None, "unknown"),
        (report(None, "unknown"), None, None, "none", None, "unknown"),
    ],
)
def test_the_headline(
    reported: UsageReport,
    metered: UsageReport | None,
    served: UsageReport | None,
    source: str,
    output: int | None,
    completeness: str,
) -> None:
    block = usage_block(reported, metered, served, {})
    assert (block.source, block.headline.usage.output, block.headline.completeness) == (source, output, completeness)
    assert (block.reported, block.metered, block.served) == (reported, metered, served)


@pytest.mark.parametrize(("metered", "found"), [(100, 0), (102, 0), (103, 1), (50, 1)])
def test_a_disagreement_above_two_percent_is_a_finding(metered: int, found: int) -> None:
    findings = disagreements(usage_block(report(100), report(metered), None, {}))
    assert [finding.code for finding in findings] == ["usage_disagrees"] * found


def test_a_lower_bound_does_not_disagree_with_anybody() -> None:
    assert disagreements(usage_block(report(100), report(10, "lower_bound"), None, {})) == []


def test_attempts_are_added_witness_by_witness() -> None:
    first = usage_block(report(10), report(10), None, {"m": Usage(output=10)})
    second = usage_block(report(3, "lower_bound"), report(7, "lower_bound"), None, {"m": Usage(output=3)})
    total = joined([first, second])
    assert (total.headline.usage.output, total.headline.completeness, total.source) == (17, "lower_bound", "metered")
    assert total.served is None
    assert total.by_model["m"].output == 13
    assert joined([]).source == "none"


def told(*counts: int | None, **more: int) -> UsageReport:
    names = ("fresh_input", "cache_read", "cache_write", "output")
    return UsageReport.of(Usage(**dict(zip(names, counts, strict=True)), **more), requests=1)


def test_witnesses_are_compared_bucket_by_bucket() -> None:
    block = usage_block(told(1_000, 19_000, 0, 500), told(20_000, None, 0, 500), None, {})
    [finding] = disagreements(block)
    assert finding.message == "the agent reports 1,000 fresh input tokens, the meter saw 20,000 fresh input"
    assert (block.headline.usage.cache_read, block.source, block.headline.completeness) == (
        19_000, "mixed", "lower_bound",
    )  # fmt: skip
    assert [found.code for found in unconfirmed(block)] == ["usage_unconfirmed"]


def test_a_zero_that_nobody_saw_is_unknown_and_a_known_whole_is_not_shared_out_by_the_agent() -> None:
    assert usage_block(told(20, 0, 0, 5), told(20, None, 0, 5), None, {}).headline.usage.cache_read is None
    whole = usage_block(told(20, 0, 0, 5), told(None, None, None, 5, input_total=20), None, {}).headline
    assert (whole.usage.fresh_input, whole.at_most and whole.at_most.cache_read) == (None, 20)


HEADLINE = UsageReport(
    usage=Usage(fresh_input=100, cache_read=800, cache_write=100, output=200), completeness="complete", requests=3
)


def counters(prompt: float, generated: float, **changes: object) -> VllmPrometheus:
    counted = {"vllm:prompt_tokens_total": prompt, "vllm:generation_tokens_total": generated}
    return VllmPrometheus.model_validate({"available": True, "counters": counted, **changes})


@pytest.mark.parametrize(
    ("prompt", "generated", "said"),
    [
        (1000.0, 200.0, []),
        (1019.0, 203.0, []),
        (1100.0, 200.0, ["the record has 1,000 prompt tokens, the server's own counters 1,100"]),
        (1000.0, 100.0, ["the record has 200 generated tokens, the server's own counters 100"]),
    ],
)
def test_a_servers_own_counters_are_a_witness(prompt: float, generated: float, said: list[str]) -> None:
    findings = counter_disagreements(HEADLINE, counters(prompt, generated))
    assert [(finding.code, finding.message) for finding in findings] == [("usage_disagrees", text) for text in said]


@pytest.mark.parametrize(
    "changes", [{"available": False}, {"single_tenant": False}, {"note": "the last 4 s were not seen"}]
)
def test_counters_of_something_else_are_no_witness(changes: dict[str, object]) -> None:
    assert counter_disagreements(HEADLINE, counters(5000.0, 5000.0, **changes)) == []


def test_counters_say_nothing_against_a_lower_bound() -> None:
    bound = HEADLINE.model_copy(update={"completeness": "lower_bound"})
    assert counter_disagreements(bound, counters(5000.0, 5000.0)) == []


@pytest.mark.parametrize(
    ("asked", "served", "named"),
    [
        ("us.anthropic.claude-opus-5[1m]", ("claude-opus-5",), ""),
        ("claude-haiku-4-5", ("claude-haiku-4-5-20251001",), ""),
        ("claude-opus-5", (), ""),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", ("claude-opus-5",), ""),
        ("claude-opus-5", ("claude-opus-5", "claude-haiku-4-5"), "claude-haiku-4-5"),
        ("qwen3-coder-30b", ("---",), "---"),
    ],
)
def test_another_model_than_the_one_asked_for(asked: str, served: tuple[str, ...], named: str) -> None:
    findings = other_models(asked, served)
    assert [finding.code for finding in findings] == (["model_differs"] if named else [])
    assert all(finding.message.endswith(f"from {named}") for finding in findings)


def test_tokens_that_went_past_the_meter_are_a_lower_bound() -> None:
    told = UsageReport.of(Usage(fresh_input=1, cache_read=2, cache_write=3, output=4))
    assert usage_block(told, UsageReport(), None, {}).headline.completeness == "lower_bound"
    assert usage_block(told, None, None, {}).headline.completeness == "complete"


def counted(output: int | None, total: int = 0, completeness: Completeness = "complete") -> UsageReport:
    fresh = total - (output or 0) if total else None
    return UsageReport(usage=Usage(fresh_input=fresh, output=output), completeness=completeness)


@pytest.mark.parametrize(
    ("output", "turns", "doubted"),
    [(33, 40, True), (399, 40, True), (400, 40, False), (20, 4, False), (33, None, False), (33, 0, False),
     (None, 40, False)],
)  # fmt: skip
def test_single_digit_output_per_turn_is_doubted(output: int | None, turns: int | None, doubted: bool) -> None:
    assert bool(output_doubts("the agent reports", counted(output), turns)) is doubted


def test_the_doubt_says_what_is_wrong() -> None:
    [finding] = usage_doubts(counted(33), None, 40)
    assert (finding.code, finding.severity) == ("implausible_usage", "warning")
    assert finding.message == "the agent reports 33 output tokens over 40 turns"


def test_a_meter_that_cannot_be_right_is_doubted_too() -> None:
    [finding] = usage_doubts(counted(4000), counted(33), 40)
    assert finding.message == "the meter saw 33 output tokens over 40 turns"


@pytest.mark.parametrize("completeness", ["complete", "lower_bound"])
def test_fewer_tokens_than_the_meter_saw_are_doubted(completeness: Completeness) -> None:
    [finding] = usage_doubts(counted(500, 10_000), counted(500, 11_000, completeness), 9)
    assert finding.message == "the agent reports 10,000 tokens in all, fewer than the 11,000 of the meter"


@pytest.mark.parametrize(
    ("told", "seen", "completeness"),
    [(10_000, 10_100, "complete"), (11_000, 10_000, "complete"), (10_000, 11_000, "lower_bound")],
)
def test_an_agent_that_was_stopped_or_counts_more_is_not_doubted(
    told: int, seen: int, completeness: Completeness
) -> None:
    assert usage_doubts(counted(500, told, completeness), counted(500, seen), 9) == []
