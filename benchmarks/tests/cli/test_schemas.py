"""The published JSON Schemas are those of the code."""

import pathlib

from swetrials.cli.schemas import schema_files

PUBLISHED = pathlib.Path(__file__).parents[3] / "docs" / "schemas"


def test_published_schemas_are_current() -> None:
    published = {path.name: path.read_bytes() for path in PUBLISHED.glob("*.json")}
    assert published == schema_files(), "make docs writes them anew"
