"""What the commands say of a tree of the corpus, as figures by name.

As a program, ``reading.py REASON PART`` accepts that figures have changed: see README.md.
"""

import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from swetrials.cli.app import main
from swetrials.errors import KnownError
from swetrials.results.leaderboard import leaderboard
from swetrials.results.results_tree import read_rows

HERE = Path(__file__).parent
CASES = sorted(path.name for path in HERE.iterdir() if (path / "results").is_dir())
GONE = "gone"
VIEWS = ("runs", "trials", "attempts", "scores")

_NAMES = (
    "folder",
    "trial",
    "id",
    "task",
    "model_slug",
    "model",
    "agent",
    "attempt",
    "number",
    "unit",
    "bucket",
    "name",
)
"""Fields that tell the things of a list apart; else their places do."""


def figures(case: str) -> dict[str, object]:
    """Return each number, truth and null that the commands show of a case, by command and place.

    They are ``results``, ``summarize``, ``cost`` and ``compare``, and the leaderboard of the report. One that refuses
    has its exit code instead.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(shutil.copytree(HERE / case / "results", Path(folder, "results")))
        return dict(_figures(tree))


def _figures(tree: Path) -> Iterator[tuple[str, object]]:
    for view in VIEWS:
        yield from _said(f"results {view}", "results", str(tree), "--sql", f"FROM {view}", "--json")
    runs = sorted(path.parent.parent for path in tree.rglob("metrics.json") if ".trash" not in path.parts)
    runs = list(dict.fromkeys(runs))
    for run in runs:
        yield from _said(f"summarize {run.relative_to(tree)}", "summarize", "--folder", str(run), "--json")
    yield from _boards(tree)
    yield from _said("cost", "cost", str(tree), "--json")
    if len(runs) > 1:
        yield from _said("compare", "compare", str(runs[0]), str(runs[1]), "--tree", str(tree), "--json")


def _said(name: str, *words: str) -> Iterator[tuple[str, object]]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(list(words))
        except SystemExit as end:
            if end.code:
                yield name, {"exit code": end.code}
                return
    yield name, _numbers(json.loads(out.getvalue()))


def _boards(tree: Path) -> Iterator[tuple[str, object]]:
    rows = list(read_rows(tree, lambda line: None))
    for scope, rehearsal in sorted({(row.scope, row.rehearsal) for row in rows}):
        name = f"report {scope}{' rehearsal' if rehearsal else ''}"
        try:
            board = leaderboard([row for row in rows if (row.scope, row.rehearsal) == (scope, rehearsal)])
        except KnownError:
            yield name, {"refused": True}
        else:
            yield name, _numbers(board.model_dump(mode="json"))


def _numbers(value: object) -> object:
    """Return the numbers, truths and nulls in a value, and the things of its lists by name."""
    if isinstance(value, dict):
        return {key: _numbers(part) for key, part in value.items() if not isinstance(part, str)}
    if isinstance(value, list):
        found: dict[str, object] = {"length": len(value)}
        for place, part in enumerate(value):
            label = _label(part) or str(place)
            found[label if label not in found else f"{label} {place}"] = _numbers(part)
        return found
    return round(value, 9) if isinstance(value, float) else value


def _label(part: object) -> str:
    if not isinstance(part, dict):
        return ""
    return " ".join(str(part[name]) for name in _NAMES if isinstance(part.get(name), str | int))


def leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield each figure with its full name: ``command: key: name in a list: key``."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{name}: {key}" if name else key)
    else:
        yield name, value


def frozen(case: str) -> dict[str, object]:
    """Return the figures that a case had when it was written."""
    return dict(leaves(json.loads((HERE / "figures.json").read_text(encoding="utf-8"))[case]))


def changed() -> dict[str, dict[str, dict[str, object]]]:
    """Return, by case and figure, the value that a later change has given it on purpose, and the reason."""
    found: dict[str, dict[str, dict[str, object]]] = json.loads((HERE / "changed.json").read_text(encoding="utf-8"))
    return found


def differences(case: str) -> dict[str, object]:
    """Return the present value of each figure that is neither as it was nor as ``changed.json`` says.

    Figures that were not there then may come. One that is gone has the value ``GONE``.
    """
    present = dict(leaves(figures(case)))
    known = {figure: entry["value"] for figure, entry in changed().get(case, {}).items()}
    expected = {**frozen(case), **known}
    return {name: present.get(name, GONE) for name, value in expected.items() if present.get(name, GONE) != value}


def accept(reason: str, part: str) -> None:
    """Enter each difference whose name has ``part`` in it into ``changed.json``, with the reason for it."""
    entries = changed()
    for case in CASES:
        for name, value in differences(case).items():
            if part in name:
                entries.setdefault(case, {})[name] = {"value": value, "reason": reason}
    text = json.dumps(entries, indent=1, ensure_ascii=False, sort_keys=True)
    (HERE / "changed.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    accept(sys.argv[1], sys.argv[2])
