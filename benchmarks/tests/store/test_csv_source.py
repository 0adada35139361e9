"""CSV files that other people wrote: what they say, and every fault at its line and column."""

from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from swetrials.records.record import Record, fault_at
from swetrials.store.csv_source import CsvSource, read_csv
from swetrials.store.problems import DocumentError


class Fruit(Record):
    """A row."""

    name: str
    weight: float | None = Field(ge=0)
    colour: str | None = None

    @model_validator(mode="after")
    def _nothing_weighs_more_than_its_name(self) -> Self:
        if self.weight is not None and self.weight > len(self.name):
            raise fault_at("heavier than its name is long", "weight")
        return self


def read(folder: Path, data: str | bytes) -> CsvSource[Fruit]:
    file = folder / "fruit.csv"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_csv(file, Fruit)


def faults(folder: Path, data: str | bytes) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read(folder, data)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def test_rows_keep_their_line_and_their_cells_as_printed(tmp_path: Path) -> None:
    source = read(tmp_path, '\ufeffname,weight\nfig,1.50\n\n"two\nlines",\r\nkiwi,2\n')
    assert [(row.line, row.record.name, row.record.weight) for row in source.rows] == [
        (2, "fig", 1.5),
        (4, "two\nlines", None),
        (6, "kiwi", 2),
    ]
    assert source.rows[0].cells == {"name": "fig", "weight": "1.50"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "fruit.csv: no rows"),
        ("name,weight\n", "fruit.csv: no rows"),
        ("name\nfig\n", "fruit.csv:1: columns: there is one, 'name'; cells are separated by commas"),
        ("name,colour\nfig,red\n", "fruit.csv:1: columns: missing: weight"),
        ("name,weight,taste\nfig,1,good\n", "fruit.csv:1: columns: unknown: taste"),
        ("name,weight,name\nfig,1,fig\n", "fruit.csv:1: columns: there twice: name"),
        ("name,wait\nfig,1\n", "fruit.csv:1: columns: missing: weight; unknown: wait"),
        ("name,weight\nfig,1\nfig,1,2\n", "fruit.csv:3: 3 cells, the header has 2"),
        ("name,weight\n,1\n", "fruit.csv:2: name: empty"),
        ("name,weight\nfig,9\n", "fruit.csv:2: weight: heavier than its name is long"),
        ("name,weight\nfig,-1\n", "fruit.csv:2: weight: '-1': input should be greater than or equal to 0"),
        ("name,weight\nfig,nan\n", "fruit.csv:2: weight: 'nan': input should be a finite number"),
        ('name,weight\n"fig"s,1\n', "fruit.csv:2: not CSV: ',' expected after '\"'"),
        (b"name,weight\nfig,1\nf\xff,1\n", "fruit.csv:3: not UTF-8; save it as UTF-8"),
        ("name;weight\nfig;1\n", "fruit.csv:1: columns: there is one, 'name;weight'; cells are separated by commas"),
        ("name,weight,\nfig,1,\n", "fruit.csv:1: columns: unknown: one without a name"),
    ],
)
def test_a_fault_is_one_line_that_says_where(tmp_path: Path, data: str | bytes, said: str) -> None:
    assert faults(tmp_path, data) == [said]


def test_spaces_around_a_columns_name_are_none_of_it(tmp_path: Path) -> None:
    assert [row.record.weight for row in read(tmp_path, "name, weight \nfig,1\n").rows] == [1]


def test_every_fault_is_told_up_to_a_point(tmp_path: Path) -> None:
    said = faults(tmp_path, "name,weight\n" + "fig,heavy\n" * 30)
    assert len(said) == 10
    assert said[0].startswith("fruit.csv:2: weight: 'heavy': ")
    assert said[-1].endswith("(and 20 faults more)")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"nowhere\.csv: No such file"):
        read_csv(tmp_path / "nowhere.csv", Fruit)


@given(data=st.binary(max_size=60))
def test_whatever_the_bytes_there_are_rows_or_faults(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("csv")
    try:
        source = read(folder, b"name,weight\n" + data)
    except DocumentError as error:
        assert all(problem.file.endswith("fruit.csv") for problem in error.problems)
    else:
        assert source.rows
