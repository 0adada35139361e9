"""The dataset that mining writes: its YAML, hidden files, solutions, and the checks beside it."""

import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq
from ruamel.yaml.scalarstring import LiteralScalarString

from swetrials.mining.drafts import GOLD, HIDDEN, Draft
from swetrials.records.dataset import Task
from swetrials.records.mined import MinedVerdict
from swetrials.records.record import SCHEMA_VERSION
from swetrials.store.checked_file import write_checked
from swetrials.store.documents import load_dataset
from swetrials.store.files import write_atomically

_NEVER_FOLDED = 1_000_000
_MOST_ON_A_LINE, _MOST_OF_A_WORD = 30, 60


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
    write_atomically(path, _as_yaml({**header, "tasks": [_plain(task) for task in tasks]}))
    write_checked(load_dataset(path), {v.task.id: v.check for v in kept if v.task is not None and v.check is not None})
    return path


def _plain(task: Task) -> Mapping[str, Any]:
    return {
        name: value
        for name, value in task.model_dump(mode="json", exclude_defaults=True).items()
        if value not in (None, [], {})
    }


def _as_yaml(data: Mapping[str, Any]) -> bytes:
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = _NEVER_FOLDED
    text = io.BytesIO()
    yaml.dump(_styled(data), text)
    return text.getvalue()


def _styled(value: Any) -> Any:  # noqa: ANN401  whatever a record holds
    """Return a value as a person would write it: texts of several lines as blocks, commands on one line."""
    if isinstance(value, Mapping):
        return {name: _styled(one) for name, one in value.items()}
    if isinstance(value, list):
        words = CommentedSeq([_styled(one) for one in value])
        if all(isinstance(one, str) and len(one) <= _MOST_OF_A_WORD for one in value) and len(value) <= _MOST_ON_A_LINE:
            words.fa.set_flow_style()
        return words
    return LiteralScalarString(value) if isinstance(value, str) and "\n" in value else value


def _remove_others(folder: Path, ids: set[str]) -> None:
    for place in (folder / HIDDEN).glob("*"):
        if place.name not in ids:
            shutil.rmtree(place, ignore_errors=True)
    for place in (folder / GOLD).glob("*.patch"):
        if place.stem not in ids:
            place.unlink()
