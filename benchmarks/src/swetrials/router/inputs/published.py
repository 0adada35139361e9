"""Judged inputs of another harness of this kind, as a record of this one."""

from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from swetrials.records.cost import Cost
from swetrials.records.judged_inputs import JudgedInputs, TaskInputs
from swetrials.records.published_record import PublishedJudgedInputs, PublishedNeed
from swetrials.records.published_run import Imported
from swetrials.store.files import first_fault, sha256_of
from swetrials.store.problems import DocumentError, Problem


def judged_inputs_of(path: Path, content: bytes, data: dict[str, Any], source: str | None = None) -> JudgedInputs:
    """Return the record that somebody else's judged inputs come to; what they do not tell is null.

    Args:
        path: the file.
        content: its bytes.
        data: what they say.
        source: who published it.

    Raises:
        DocumentError: one line per fault, with file and field.
    """
    try:
        told = PublishedJudgedInputs.model_validate(data)
    except ValidationError as error:
        at, _, said = first_fault(error).partition(": ")
        raise DocumentError([Problem(str(path), None, at, said)]) from None
    rows, problems = list[TaskInputs](), list[Problem]()
    for task, need in told.tasks.items():
        try:
            rows.append(_row(task, need))
        except ValidationError as error:
            at, _, said = first_fault(error).partition(": ")
            problems.append(Problem(str(path), None, f"tasks.{task}.{at}", said))
    if problems or not rows:
        raise DocumentError(problems or [Problem(str(path), None, "tasks", "must not be empty")])
    by = told.judged_by
    counts = [count for count in (by.runs_ok, by.runs_failed) if count is not None]
    return JudgedInputs(
        dataset=PurePosixPath(by.dataset or "unknown").stem,
        rehearsal=False,
        agent=by.harness or "unknown",
        model=by.model or "unknown",
        provider=by.provider or "unknown",
        skill=by.skill or "unknown",
        repeats=by.repeats or None,
        started_at=by.started_at,
        ended_at=by.finished_at,
        cost=_cost(by.judging_cost_usd, path),
        judged=sum(counts) if counts else sum(need.attempts or 0 for need in told.tasks.values()),
        failed=by.runs_failed or 0,
        tasks=tuple(rows),
        imported=Imported(file=path.name, sha256=sha256_of(content), source=source, record=data),
    )


def _cost(amount: float | None, path: Path) -> Cost:
    if not amount:
        return Cost()
    source = f"imported from {path.name}: judging_cost_usd"
    return Cost(amount_usd=amount, basis="reported", status="complete", reported_usd=amount, source=source)


def _row(task: str, need: PublishedNeed) -> TaskInputs:
    floors = sorted(need.floors_seen)
    return TaskInputs.model_validate(
        {
            "task": task,
            "floor": need.floor,
            "tier": need.tier,
            "base_floor": need.base_floor,
            "adjustment": need.adjustment,
            "floors_seen": floors,
            "tiers_seen": need.tiers_seen,
            "spread": floors[-1] - floors[0] if floors else None,
            "failed": max(need.attempts - len(floors), 0) if need.attempts is not None and floors else 0,
        }
    )
