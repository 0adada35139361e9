"""Reading judged inputs: a table of other people's, with each fault at its line, and our own record."""

import pathlib

import pytest

from swetrials.records.judged_inputs import JudgedInputs, TaskInputs
from swetrials.router.inputs.reading import JudgedTable, Need, read_judged_inputs
from swetrials.store.files import RecordError, write_record
from swetrials.store.problems import DocumentError

HEADING = "task,floor,tier,base_floor,adjustment,floors_seen,tiers_seen\n"


def table(tmp_path: pathlib.Path, text: str) -> pathlib.Path:
    path = tmp_path / "judged.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_gives_floor_and_tier_of_each_task_in_its_order(tmp_path: pathlib.Path) -> None:
    rows = "b,77.5,medium,70,5,75;80,medium:2\na,80.0,low,75,5,75;80;80,low:3\n"
    found = read_judged_inputs(table(tmp_path, HEADING + rows))
    assert found == JudgedTable({"b": Need(77.5, "medium"), "a": Need(80.0, "low")})
    assert list(found.needs) == ["b", "a"]


def test_the_columns_that_count_are_enough_and_a_mark_of_a_spreadsheet_is_passed_over(tmp_path: pathlib.Path) -> None:
    found = read_judged_inputs(table(tmp_path, "\ufefftier,task,floor\nhigh,a,55\n"))
    assert found.needs == {"a": Need(55.0, "high")}


def test_every_fault_of_a_table_is_told_at_its_line(tmp_path: pathlib.Path) -> None:
    path = table(tmp_path, HEADING + "a,81,low,,,,\n,70,hihg,,,,\nc,nan,low,,,,\na,60,low,,,,\nd\n")
    with pytest.raises(DocumentError) as told:
        read_judged_inputs(path)
    assert str(told.value).splitlines() == [
        f"{path}:2: floor: '81' is not a number from 55 to 80",
        f"{path}:3: task: must not be empty",
        f"{path}:3: tier: 'hihg' is not one of trivial, low, medium, high; did you mean 'high'?",
        f"{path}:4: floor: 'nan' is not a number from 55 to 80",
        f"{path}:5: task: 'a' is there twice",
        f"{path}:6: floor: '' is not a number from 55 to 80",
        f"{path}:6: tier: '' is not one of trivial, low, medium, high",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("task,floor\na,70\n", ":1: columns: missing: tier (a heading of names, separated by commas)"),
        ("", ":1: columns: missing: task, floor, tier (a heading of names, separated by commas)"),
        ("[]", ":1: columns: missing: task, floor, tier (a heading of names, separated by commas)"),
        ("task,floor,tier,floor\na,70,low,60\n", ":1: columns: there twice: floor"),
        ("task,floor,tier\na,70,low,5\n", ":2: more cells than the heading has"),
        (HEADING, ":1: no task below the heading"),
        ('task,floor,tier\n"a,70,low\n', ": not a CSV file in UTF-8: unexpected end of data"),
    ],
)
def test_what_is_no_such_table_is_told_in_a_line(tmp_path: pathlib.Path, text: str, told: str) -> None:
    path = table(tmp_path, text)
    with pytest.raises(DocumentError) as error:
        read_judged_inputs(path)
    assert str(error.value) == f"{path}{told}"


def test_a_record_gives_the_same_and_names_the_tasks_of_which_no_judgment_counts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "judged.json"
    record = JudgedInputs(
        dataset="d",
        rehearsal=True,
        agent="claude",
        model="m",
        provider="rehearsal",
        skill="swe-router",
        skill_sha256="0",
        allowed_tools=("Read",),
        permission_mode="dontAsk",
        sandbox="none",
        harness_version="1",
        repeats=1,
        started_at="2026-11-29T00:00:00+00:00",
        tasks=(TaskInputs(task="a", floor=70, tier="low"), TaskInputs(task="b", failed=1)),
    )
    write_record(path, record)
    assert read_judged_inputs(path) == JudgedTable({"a": Need(70, "low")}, ("b",), record)


def test_a_record_of_another_kind_is_told_by_its_field(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "judged.json"
    path.write_text('{"schema_version": "1.0"}')
    with pytest.raises(RecordError, match="dataset: field required"):
        read_judged_inputs(path)
