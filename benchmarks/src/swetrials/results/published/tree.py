"""Finding what can be imported: a tree of another harness, one of its run summaries, or a CSV of figures.

A tree is read whole or not at all: a file of it that cannot be understood is named, with its field, and nothing is
imported until it is mended or moved away.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from swetrials.records.published_record import (
    ForeignKind,
    PublishedEvaluation,
    PublishedIdentity,
    PublishedMetrics,
    PublishedSummary,
    kind_of,
)
from swetrials.records.record import safe_path_part
from swetrials.records.slug import model_slug
from swetrials.results.published.records import RecordOrigin, trial_of_metrics, trial_of_row
from swetrials.results.published.runs import read_published_runs
from swetrials.results.published.source_trial import Defaults, ImportedTrial, SourceTrial, records_of
from swetrials.store.files import first_fault, sha256_of
from swetrials.store.problems import DocumentError, Problem
from swetrials.store.reading import read_bytes
from swetrials.store.results import EVALUATION, METRICS

M = TypeVar("M", bound=BaseModel)

SUMMARY = "run-summary.json"
_SUMMARY_KEYS = ("model", "agent", "skill", "scope", "provider", "ref", "serving", "judge", "run_date")
_MOST_PROBLEMS = 10
_MOST_BYTES = 64 * 2**20


@dataclass
class Found:
    """What was read: the trials, and how many records of this harness were passed over."""

    trials: list[ImportedTrial]
    ours: int = 0


def is_json(path: Path) -> bool:
    """Whether a file begins like a JSON object, which no CSV does; one that cannot be read does not."""
    try:
        return read_bytes(path, 64)[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except OSError:
        return False


def read_published(path: Path, defaults: Defaults) -> Found:
    """Return the trials of a tree, a run's summary, a trial's record or a CSV. The same source gives the same records.

    Raises:
        DocumentError: it cannot be used; one line per fault, with file and field, of many the first few.
    """
    if path.is_dir():
        return _read_tree(path, defaults)
    if not is_json(path):
        return Found(read_published_runs(path, defaults))
    reader = _Reader(path.parent, path.name, defaults)
    kind, data = reader.load(path)
    if kind == "summary":
        sources = list(reader.rows(path, data, set()))
    elif kind == "metrics":
        sources = list(reader.trial(path, data, None))
    else:
        raise DocumentError([reader.problems[0] if reader.problems else _problem(path, "", _not_known(data))])
    return Found(records_of(reader.checked(sources)))


def _read_tree(root: Path, defaults: Defaults) -> Found:
    reader = _Reader(root, root.resolve().name, defaults)
    sources = list[SourceTrial]()
    for folder, names in _folders(root):
        if METRICS in names:
            kind, data = reader.load(folder / METRICS)
            if kind == "metrics":
                scores = folder / EVALUATION if EVALUATION in names else None
                sources += reader.trial(folder / METRICS, data, scores)
            else:
                reader.pass_over(folder / METRICS, data)
        for name in names:
            if name.lower() == SUMMARY:
                kind, data = reader.load(folder / name)
                if kind == "summary":
                    reader.summaries.append((folder / name, data))
                else:
                    reader.pass_over(folder / name, data)
    measured = {trial.imported.place for trial in sources}
    for summary, data in reader.summaries:
        sources += reader.rows(summary, data, measured)
    trials = records_of(reader.checked(sources))
    if not trials:
        ours = f"; {reader.ours} are records of this harness, which need no import" if reader.ours else ""
        raise DocumentError([_problem(root, "", f"no {METRICS} or {SUMMARY} of another harness in it{ours}")])
    return Found(trials, reader.ours)


def _folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder with the names of its files, in order; hidden ones and links are not followed."""

    def refuse(error: OSError) -> None:
        raise DocumentError([_problem(Path(error.filename), "", f"cannot be looked into: {error.strerror}")])

    for folder, inner, names in os.walk(root, onerror=refuse):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield Path(folder), sorted(names)


@dataclass
class _Reader:
    """Reads the files of one tree, and notes every fault."""

    root: Path
    name: str
    defaults: Defaults
    problems: list[Problem] = field(default_factory=list)
    summaries: list[tuple[Path, dict[str, Any]]] = field(default_factory=list)
    ours: int = 0

    def load(self, path: Path) -> tuple[ForeignKind | None, dict[str, Any]]:
        """Return a file's object and which record it is; of one that is no object, nothing beside a new problem."""
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError(f"is larger than {_MOST_BYTES // 2**20} MiB")
            data = orjson.loads(read_bytes(path).removeprefix(b"\xef\xbb\xbf"))
        except OSError as error:
            return self._note(path, "", f"cannot be read: {error.strerror or error}")
        except orjson.JSONDecodeError as error:
            return self._note(path, "", f"not JSON ({error}); mend it or move it away")
        except ValueError as error:
            return self._note(path, "", str(error))
        if not isinstance(data, dict):
            return self._note(path, "", "not an object of keys and values; mend it or move it away")
        return kind_of(data), data

    def pass_over(self, path: Path, data: dict[str, Any]) -> None:
        """Count a record of this harness; note one that is nobody's."""
        if "schema_version" in data:
            self.ours += path.name == METRICS
        elif data:
            self._note(path, "", _not_known(data))

    def trial(self, path: Path, data: dict[str, Any], scores: Path | None) -> Iterator[SourceTrial]:
        """Yield the trial of a record, unless there is a fault in it or in its scores."""
        told = self._parse(path, data, PublishedMetrics)
        raw, evaluation = {METRICS: data}, None
        if scores is not None:
            before = len(self.problems)
            _, judged = self.load(scores)
            evaluation = self._parse(scores, judged, PublishedEvaluation) if len(self.problems) == before else None
            if len(self.problems) > before:
                return
            raw[EVALUATION] = judged
        if told is not None and self._names_are_safe(path, told):
            origin = self._origin(path, data, path.parent)
            yield trial_of_metrics(told, evaluation, raw, origin, self.defaults)

    def rows(self, path: Path, data: dict[str, Any], measured: set[str | None]) -> Iterator[SourceTrial]:
        """Yield the trials of a summary that have no record of their own beside it."""
        told = self._parse(path, data, PublishedSummary)
        if told is None or not self._names_are_safe(path, told):
            return
        about = {name: data[name] for name in _SUMMARY_KEYS if name in data}
        for index, row in enumerate(told.tasks):
            if self._place(path.parent / row.task / METRICS) not in measured:
                raw = {"task": data["tasks"][index], SUMMARY: about}
                origin = self._origin(path, data, path.parent / row.task, f"tasks[{index}]")
                yield trial_of_row(row, told, raw, origin, self.defaults)

    def checked(self, sources: list[SourceTrial]) -> list[SourceTrial]:
        """Return the trials when there was no fault.

        Raises:
            DocumentError: the faults.
        """
        if self.problems:
            more = len(self.problems) - _MOST_PROBLEMS
            shown = self.problems[:_MOST_PROBLEMS]
            if more > 0:
                shown.append(_problem(self.root, "", f"{more} more faults"))
            raise DocumentError(shown)
        return sources

    def _parse(self, path: Path, data: Mapping[str, Any], kind: type[M]) -> M | None:
        try:
            return kind.model_validate(data)
        except ValidationError as error:
            at, _, said = first_fault(error).partition(": ")
            self._note(path, at, said.removeprefix("value error, "))
            return None

    def _names_are_safe(self, path: Path, told: PublishedIdentity) -> bool:
        try:
            safe_path_part(model_slug(told.model))
        except ValueError as error:
            self._note(path, "model", str(error))
            return False
        return True

    def _origin(self, path: Path, data: object, task_folder: Path, at: str = "") -> RecordOrigin:
        parts = task_folder.resolve().relative_to(self.root.resolve()).parts
        scope = _safe(parts[-2]) if len(parts) > 1 else None
        skill = _safe(parts[-3]) if len(parts) > 4 else None
        digest = sha256_of(orjson.dumps(data, option=orjson.OPT_SORT_KEYS))
        return RecordOrigin(self.name, self._place(path, at), digest, scope, skill)

    def _place(self, path: Path, at: str = "") -> str:
        relative = path.relative_to(self.root).as_posix()
        return f"{relative}: {at}" if at else relative

    def _note(self, path: Path, at: str, message: str) -> tuple[None, dict[str, Any]]:
        self.problems.append(_problem(path, at, message))
        return None, {}


def _safe(name: str) -> str | None:
    try:
        return safe_path_part(name)
    except ValueError:
        return None


def _not_known(data: Mapping[str, Any]) -> str:
    if "schema_version" in data:
        return "a record of this harness, which needs no import"
    keys = ", ".join(list(data)[:5]) or "none"
    return f"not a record that is known here (its first keys: {keys}); move it away"


def _problem(path: Path, at: str, message: str) -> Problem:
    return Problem(str(path), None, at, message)
