"""Killed in mid-trial and gone on with: every answered call is counted, held against the log of the server itself."""

import pathlib
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, needs_agent
from swetrials.pricing.book import PriceBook
from swetrials.records.outcome import OutcomeKind
from swetrials.records.summary import RunSummary
from swetrials.records.usage import Usage, UsageReport
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.scenario import Fault
from swetrials.store.documents import load_document
from swetrials.store.files import read_record
from swetrials.store.results import trial_folders

pytestmark = [pytest.mark.slow, needs_agent("claude")]

KEY, MODEL, TASK = "key-of-the-endpoint", "claude-opus-4-5", "word-tally"


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def answered(server: RehearsalServer) -> Usage:
    return Usage.sum(request.usage for request in server.requests if request.complete and request.status == 200)


def dollars(usage: Usage) -> float:
    report = UsageReport(usage=usage, completeness="complete")
    amount = PriceBook.load(None).token_cost(report, MODEL, "endpoint", None).amount_usd
    assert amount
    return amount


def test_a_killed_harness_loses_no_token_and_no_dollar(tmp_path: pathlib.Path) -> None:
    played = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)
    # The second call of the first attempt never ends; the harness is killed while it hangs.
    hangs = Fault(kind=FaultKind.HANG_MID_STREAM, times=1, at_step=1)
    scripts = tuple(script.model_copy(update={"fault": hangs}) for script in played.scripts)
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": KEY})
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            rehearse(played.model_copy(update={"scripts": scripts}), model=MODEL)
        ) as server,
    ):
        words = [
            "run", "--provider", "endpoint", "--endpoint", server.base_url, "--model", MODEL, "--skip-probe",
            "--dataset", str(QUICKSTART), "--tasks", TASK, "--max-budget-usd", "5",
        ]  # fmt: skip
        process = subprocess.Popen(
            place.words(*words), cwd=BENCHMARKS, env=place.environ(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for(lambda: any(request.status == 200 and not request.complete for request in server.requests))
        process.kill()
        process.wait()
        before = answered(server)
        [folder] = trial_folders(place.results)
        assert (folder.metrics().outcome.kind, folder.metrics().attempts) == (OutcomeKind.INTERRUPTED, ())

        told = place.command("summarize", "--folder", str(folder.path.parent))
        assert told.returncode == 0, told.stdout + told.stderr
        check(read_record(folder.path.parent / "run-summary.json", RunSummary).usage, before)

        done = place.run(*words, "--resume")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"limit $5.00, at least ${dollars(before):.2f} of it spent" in done.stdout
        truth = answered(server)

    record = folder.metrics()
    assert record.outcome.kind is OutcomeKind.COMPLETED
    assert [(attempt.number, attempt.ended_by) for attempt in record.attempts] == [(1, "killed"), (2, "exited")]
    check(record.usage.headline, truth)
    assert record.cost.status == "lower_bound"
    assert record.cost.amount_usd == pytest.approx(dollars(truth), rel=1e-9)
    assert record.total_cost_usd == record.cost.amount_usd
    shutil.rmtree(place.results / ".trash")
    again = place.command("summarize", "--folder", str(folder.path.parent))
    assert again.returncode == 0, again.stdout + again.stderr
    summary = read_record(folder.path.parent / "run-summary.json", RunSummary)
    check(summary.usage, truth)
    assert summary.cost.amount_usd == record.cost.amount_usd
    assert (folder.attempt_folder(1) / "stream.jsonl").stat().st_size
    assert KEY.encode() not in b"".join(path.read_bytes() for path in folder.path.rglob("*") if path.is_file())


def check(report: UsageReport, truth: Usage) -> None:
    assert report.completeness == "lower_bound"
    assert {name: getattr(report.usage, name) for name in truth.known} == {
        name: getattr(truth, name) for name in truth.known
    }


def test_a_provider_that_failed_is_paid_for_in_the_session_that_goes_on(tmp_path: pathlib.Path) -> None:
    played = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)
    strikes = Fault(kind=FaultKind.STATUS_500, times=1, at_step=1)
    scripts = tuple(script.model_copy(update={"fault": strikes}) for script in played.scripts)
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": KEY})
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            rehearse(played.model_copy(update={"scripts": scripts}), model=MODEL)
        ) as server,
    ):
        words = [
            "run", "--provider", "endpoint", "--endpoint", server.base_url, "--model", MODEL, "--skip-probe",
            "--dataset", str(QUICKSTART), "--tasks", TASK, "--request-retries", "0", "--max-retries", "0",
        ]  # fmt: skip
        first = place.run(*words)
        assert first.returncode == 1, first.stdout + first.stderr
        [folder] = trial_folders(place.results)
        assert folder.metrics().outcome.kind is OutcomeKind.PROVIDER_ERROR
        done = place.run(*words, "--resume")
        assert done.returncode == 0, done.stdout + done.stderr
        truth = answered(server)
    record = folder.metrics()
    assert [attempt.number for attempt in record.attempts] == [1, 2]
    headline = record.usage.headline
    assert (headline.completeness, record.cost.status) == ("complete", "complete")
    assert {name: getattr(headline.usage, name) for name in truth.known} == {
        name: getattr(truth, name) for name in truth.known
    }
    assert record.cost.amount_usd == pytest.approx(dollars(truth), rel=1e-9)
    summary = read_record(folder.path.parent / "run-summary.json", RunSummary)
    assert summary.cost.amount_usd == record.cost.amount_usd
