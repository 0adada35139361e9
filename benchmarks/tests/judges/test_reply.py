"""Which replies of a judge are used, and what is wrong with the others."""

import json
from typing import Any

import pytest

from swetrials.judges.reply import ReplyError, parse_reply

UNITS = ("lld", "implementation")


def good_unit(**changes: object) -> dict[str, Any]:
    unit = {"completeness": 20, "correctness": 18, "specificity": 15, "risk_awareness": 10, "total": 63, "notes": "ok"}
    return unit | changes


def good_reply(**changes: object) -> dict[str, Any]:
    return {"task": "t1", "units": {unit: good_unit() for unit in UNITS}, "verdict": "fine"} | changes


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "```json\n{}\n```",
        "Here is my assessment.\n\n```\n{}\n```\nThat is all.",
        "Scores: {} (end)",
    ],
)
def test_json_is_found_in_whatever_stands_around_it(wrap: str) -> None:
    reply = parse_reply(wrap.replace("{}", json.dumps(good_reply())), "t1", UNITS)
    assert {unit: score.total for unit, score in reply.scores.items()} == {"lld": 63, "implementation": 63}
    assert reply.verdict == "fine"
    assert reply.corrections == ()


def test_a_wrong_total_is_corrected_and_noted() -> None:
    reply = good_reply()
    reply["units"]["lld"]["total"] = 99
    parsed = parse_reply(json.dumps(reply), "t1", UNITS)
    assert parsed.scores["lld"].total == 63
    assert parsed.corrections == ("the judge's total of 99 for lld was corrected to 63",)


def with_unit(**changes: object) -> dict[str, Any]:
    return good_reply(units={"lld": good_unit(**changes), "implementation": good_unit()})


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("", "it is empty"),
        ("full marks to everybody", "no complete JSON object"),
        ('{"task": "t1", "units": {', "no complete JSON object"),
        ("[1, 2]", "no complete JSON object"),
        (good_reply(task="t2"), "'t2', the task under review is 't1'"),
        (good_reply(units={"lld": good_unit()}), "implementation missing"),
        (good_reply(units=good_reply()["units"] | {"bonus": good_unit()}), "'bonus' not asked for"),
        (with_unit(correctness=26), "units.lld.correctness"),
        (with_unit(correctness=-1), "units.lld.correctness"),
        (with_unit(correctness=17.5), "units.lld.correctness"),
        (with_unit(correctness="18"), "a whole number from 0 to 25"),
        (with_unit(correctness=True), "units.lld.correctness"),
        ({"task": "t1", "verdict": "fine"}, "units: Field required"),
        ({"task": "t1", "units": {"lld": {"total": 100}, "implementation": good_unit()}}, "units.lld.completeness"),
    ],
)
def test_a_malformed_reply_is_refused_with_what_is_wrong(reply: str | dict[str, Any], complaint: str) -> None:
    with pytest.raises(ReplyError) as refused:
        parse_reply(reply if isinstance(reply, str) else json.dumps(reply), "t1", UNITS)
    assert complaint in str(refused.value)
