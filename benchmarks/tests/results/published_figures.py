"""The published figures that come with the project, read by the standard library alone."""

import csv
from pathlib import Path

from swetrials.store.project import find_project

PUBLISHED_RUNS = find_project().root.parent / "docs" / "metrics" / "published-runs.csv"


def published_rows(path: Path = PUBLISHED_RUNS) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
