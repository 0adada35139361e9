"""Which witness of the tokens is believed, and when they are said to disagree."""

import pytest

from swetrials.records.usage import Usage, UsageReport
from swetrials.trials.witnesses import disagreements, joined, usage_block


def report(output: int | None, completeness: str = "complete") -> UsageReport:
    return UsageReport.model_validate({"usage": {"output": output}, "completeness": completeness, "requests": 1})


@pytest.mark.parametrize(
    ("reported", "metered", "served", "source", "output", "completeness"),
    [
        (report(10), report(10), report(10), "metered", 10, "complete"),
        (report(10), None, report(10), "reported", 10, "complete"),
        (report(10), report(4, "lower_bound"), None, "reported", 10, "complete"),
        (report(3, "lower_bound"), report(7, "lower_bound"), None, "metered", 7, "lower_bound"),
        (report(3, "lower_bound"), report(7), report(9), "served", 9, "lower_bound"),
        (report(8, "lower_bound"), report(7, "lower_bound"), None, "reported", 8, "lower_bound"),
        (report(None, "lower_bound"), None, None, "none", None, "lower_bound"),
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
