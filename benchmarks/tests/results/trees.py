"""Results trees as trials leave them."""

from pathlib import Path

from swetrials.records.evaluation import Evaluation
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.requests import RequestRecord
from swetrials.store.files import to_json, write_record


def write_trial(tree: Path, record: Metrics, scores: Evaluation | None = None) -> Path:
    """Write a trial's records where they belong in a tree, and return its folder."""
    repeat = "" if record.trial.repeat == 1 else f"--r{record.trial.repeat}"
    folder = tree / record.model_slug / record.agent / record.skill / record.trial.scope / f"{record.task}{repeat}"
    write_record(folder / "metrics.json", record)
    if scores is not None:
        write_record(folder / "eval.json", scores)
    return folder


def attempt(number: int, kind: OutcomeKind) -> AttemptRecord:
    """Return one attempt; all but the first are repeats."""
    return AttemptRecord(
        id=f"attempt {number}",
        number=number,
        reason="first" if number == 1 else "retry",
        started_at="2026-01-01T00:00:00+00:00",
        ended_at="2026-01-01T00:01:00+00:00",
        outcome=Outcome.of(kind),
    )


def write_requests(folder: Path, number: int, requests: list[RequestRecord]) -> Path:
    """Write what the meter saw of an attempt, and return the file."""
    file = folder / "attempts" / str(number) / "requests.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"".join(to_json(request).replace(b"\n", b"") + b"\n" for request in requests))
    return file
