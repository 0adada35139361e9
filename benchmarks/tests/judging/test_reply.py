"""Which replies of a judge are used, and what is wrong with the others."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinds import first_is_quick
from swetrials.judging.reply import ReplyError, parse_reply
from swetrials.records.evaluation import CRITERIA

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
        "```JSON\n{}\n```",
        "``` Json\n{}```",
        'The set {lld, implementation} and `{\'a\': 1}` and {"a": [1, {"b": 2}]} are all there.\n{}',
        '{"a": {"b": {\n{}',
        '{"reply": {}, "confidence": 0.9}',
        '[{}, {"task": "t2"}]',
        "First: {}\nAgain, as a block:\n```json\n{}\n```",
        'Not about this task: {"task": "t2", "units": {"lld": {"total": 100}}}\n{}',
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


def scored(points: int, **changes: object) -> dict[str, Any]:
    unit = dict.fromkeys(("completeness", "correctness", "specificity", "risk_awareness"), points)
    return {"task": "t1", "units": {name: {**unit, "notes": ""} for name in UNITS}, "verdict": ""} | changes


FULL, OWN = json.dumps(scored(25)), json.dumps(scored(4))


@pytest.mark.parametrize(
    "text",
    [
        f"It asks for this:\n```json\n{FULL}\n```\nMy own scores:\n```json\n{OWN}\n```",
        f"{OWN}\nIt had asked for {FULL}",
        json.dumps(scored(4, quoted=scored(25))),
        json.dumps({"draft": scored(4), "final": scored(25)}),
        f"{FULL}\n{json.dumps(scored(26))}",
        f"{json.dumps(scored(4)['units']['lld'])} {FULL} {OWN}",
    ],
    ids=["quoted, then own", "own, then quoted", "one in the other", "beside", "own has a fault", "parts"],
)
def test_of_answers_that_differ_none_is_taken(text: str) -> None:
    with pytest.raises(ReplyError, match="different answers"):
        parse_reply(text, "t1", UNITS)


LLD = '"lld": {"completeness": 4, '


@pytest.mark.parametrize(
    ("once", "twice", "key"),
    [
        ('"units": {', f'"units": {json.dumps(scored(25)["units"])}, "units": {{', "units"),
        (LLD, f'"lld": {json.dumps(scored(25)["units"]["lld"])}, {LLD}', "units.lld"),
        (LLD, f'{LLD}"completeness": 25, ', "units.lld.completeness"),
        (LLD, f'{LLD}"total": 100, "total": 16, ', "units.lld.total"),
        ('"task": "t1"', '"task": "t2", "task": "t1"', "task"),
        ('"verdict": ""', '"verdict": "good", "verdict": ""', "verdict"),
    ],
)
def test_an_answer_with_a_key_of_two_values_is_no_answer_and_no_other_is_taken_in_its_place(
    once: str, twice: str, key: str
) -> None:
    text = OWN.replace(once, twice, 1)
    assert text != OWN
    with pytest.raises(ReplyError, match=rf"^{key}: stands twice with different values"):
        parse_reply(text, "t1", UNITS)
    for beside in (f"It asks for {FULL}, but: {text}", f"{text} It asks for {FULL}."):
        with pytest.raises(ReplyError, match="stands twice"):
            parse_reply(beside, "t1", UNITS)


def test_a_key_that_says_the_same_twice_says_it_once() -> None:
    text = OWN.replace(LLD, f'"lld": {json.dumps(scored(4)["units"]["lld"])}, {LLD}', 1)
    assert parse_reply(text, "t1", UNITS).scores["lld"].total == 16


_POINTS = st.one_of(
    st.integers(-1, 26), st.floats(), st.booleans(), st.none(), st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
)  # fmt: skip
_UNIT = st.fixed_dictionaries(
    dict.fromkeys(("completeness", "correctness", "specificity", "risk_awareness"), _POINTS),
    optional={"total": _POINTS, "notes": st.one_of(st.text(max_size=5), _POINTS)},
)
_OBJECT = st.one_of(
    st.integers(0, 25).map(scored),
    st.fixed_dictionaries(
        {"task": st.sampled_from(["t1", "t2"]), "units": st.dictionaries(st.sampled_from([*UNITS, "bonus"]), _UNIT)}
    ),
)
_PIECE = st.one_of(
    _OBJECT.map(lambda value: json.dumps(value, default=str)),
    st.sampled_from(
        ["```json\n", "\n```", "{", "}", "[", '"', "\\", '{"a":', '{"reply": ', "1" * 5000, "\ud800", "{}"]
    ),
    st.text(max_size=20),
)


@given(st.lists(_PIECE, max_size=8).map("".join))
def test_whatever_a_reply_is_no_score_is_invented(text: str) -> None:
    try:
        reply = parse_reply(text, "t1", UNITS)
    except ReplyError as refused:
        assert str(refused)
        return
    for unit in reply.scores.values():
        for criterion in CRITERIA:  # in whatever order they stand
            assert re.search(rf'"{criterion}": {getattr(unit, criterion)}[,}}]', text)


@first_is_quick(
    "junk",
    ["{" * 100_000, '{"a":' * 20_000, "{}" * 30_000, '{"a":[' * 20_000, '{"' * 50_000, "[" * 100_000,
     '{"a": "' * 20_000,     '{"a":1,' * 20_000, '{"a":' * 900 + "1" * 200_000],
    ids=lambda junk: junk[:7],
)  # fmt: skip
def test_a_large_reply_is_read_in_time_or_refused(junk: str) -> None:
    began = time.process_time()
    for text in (junk, junk + OWN, OWN + junk):
        try:
            assert parse_reply(text, "t1", UNITS).scores["lld"].total == 16
        except ReplyError:
            continue
    assert time.process_time() - began < 15
