"""A failure that the agent gives up on and that passes: the harness makes another attempt, and both are paid for."""

import pathlib

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, needs_agent
from swetrials.records.outcome import OutcomeKind
from swetrials.rehearsal import FaultKind, Scenario, rehearse
from swetrials.rehearsal.scenario import Fault
from swetrials.store.documents import load_document
from swetrials.store.results import trial_folders

pytestmark = [pytest.mark.slow, needs_agent("claude")]

TRIES = 2
"""Requests that the agent makes before it gives up: one, and one retry."""


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [(FaultKind.STATUS_429, 429, OutcomeKind.RATE_LIMITED), (FaultKind.STATUS_500, 500, OutcomeKind.PROVIDER_ERROR)],
)
def test_the_second_attempt_passes(tmp_path: pathlib.Path, fault: FaultKind, status: int, kind: OutcomeKind) -> None:
    played = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)
    # In the middle of the work: what the first attempt had done by then was paid for.
    strikes = Fault(kind=fault, times=TRIES, at_step=1)
    scripts = tuple(script.model_copy(update={"fault": strikes}) for script in played.scripts)
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": "key-of-the-endpoint"})
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            rehearse(played.model_copy(update={"scripts": scripts}), model="scripted")
        ) as server,
    ):
        done = place.run(
            "run", "--provider", "endpoint", "--endpoint", server.base_url, "--model", "scripted", "--skip-probe",
            "--dataset", QUICKSTART, "--tasks", "word-tally", "--request-retries", "1", "--max-retries", "1",
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [record] = place.records().values()
    first, second = record.attempts
    assert (first.reason, first.outcome.kind) == ("first", kind), first.outcome.detail
    assert (second.reason, second.outcome.kind) == ("retry", OutcomeKind.COMPLETED)
    assert record.outcome.kind is OutcomeKind.COMPLETED
    assert "retried" in {finding.code for finding in record.findings}
    assert first.requests is not None and first.requests.statuses == {"200": 1, str(status): TRIES}
    tokens = [attempt.usage.headline.usage.total or 0 for attempt in record.attempts]
    assert all(tokens) and record.usage.headline.usage.total == sum(tokens)
    assert (second.time.queue_seconds or 0) >= (1.0 if kind is OutcomeKind.RATE_LIMITED else 0.0)
    [folder] = trial_folders(place.results)
    assert all((folder.attempt_folder(attempt.number) / "stream.jsonl").stat().st_size for attempt in record.attempts)
