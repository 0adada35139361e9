"""The dataset that mining writes: its YAML, hidden files, solutions, and the checks beside it."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from swetrials.mining.drafts import Draft
from swetrials.records.dataset import Task
from swetrials.records.mined import MinedVerdict
from swetrials.records.record import SCHEMA_VERSION
from swetrials.store.checked_file import write_checked
from swetrials.store.documents import load_dataset
from swetrials.store.files import write_atomically

HIDDEN, GOLD = "hidden", "gold"
"""Folders beside the dataset: what tests need, and the changes that people made."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and lists below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists, too."""
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def write_files(folder: Path, draft: Draft) -> None:
    """Write the hidden files and the solution of a task that is kept.

    Raises:
        OSError: one cannot be written.
    """
    name = draft.candidate.task_id
    shutil.rmtree(folder / HIDDEN / name, ignore_errors=True)
    draft.lay_out(folder / HIDDEN / name)
    write_atomically(folder / GOLD / f"{name}.patch", draft.solution)


def write_dataset(folder: Path, name: str, title: str, kept: Sequence[MinedVerdict]) -> Path | None:
    """Write the dataset of some verdicts, in their order, and return its file; ``None``: there is no task.

    What a killed run has left of tasks that are none goes.

    Args:
        folder: where.
        name: of the dataset.
        title: for a reader.
        kept: verdicts with a task.

    Raises:
        OSError: a file cannot be written.
    """
    tasks = [verdict.task for verdict in kept if verdict.task is not None]
    _remove_others(folder, {task.id for task in tasks})
    path = folder / f"{name}.yaml"
    if not tasks:
        for left in (path, path.with_suffix(".checked.json")):
            left.unlink(missing_ok=True)
        return None
    header: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "title": title,
        "description": "Mined from a repository's own history. Tiers are estimated by size.",
        "rank_by": "resolved",
    }
    data = {**header, "tasks": [_plain(task) for task in tasks]}
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    write_atomically(path, text)
    write_checked(load_dataset(path), {v.task.id: v.check for v in kept if v.task is not None and v.check is not None})
    return path


def _plain(task: Task) -> Mapping[str, Any]:
    return {
        name: value
        for name, value in task.model_dump(mode="json", exclude_defaults=True).items()
        if value not in (None, [], {})
    }


def _remove_others(folder: Path, ids: set[str]) -> None:
    for place in (folder / HIDDEN).glob("*"):
        if place.name not in ids:
            shutil.rmtree(place, ignore_errors=True)
    for place in (folder / GOLD).glob("*.patch"):
        if place.stem not in ids:
            place.unlink()
