"""Every fault of the rehearsal server, met by the real Claude Code, ends in the outcome that names it."""

import pathlib
import time

import pytest

from e2e.harness import QUICKSTART, Workplace, alive_with_mark, check_lower_bound, needs_agent
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.wire.rehearsal import FaultKind

pytestmark = [pytest.mark.slow, needs_agent("claude")]

WALL_SECONDS, IDLE_SECONDS = 12, 5

FAULTS = [
    (FaultKind.STATUS_429, OutcomeKind.RATE_LIMITED, Blame.PROVIDER),
    (FaultKind.STATUS_500, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.STATUS_529, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.STATUS_401, OutcomeKind.AUTH_FAILED, Blame.USER),
    (FaultKind.HTML, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.BROKEN_SSE, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.CUT, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.HANG_BEFORE_HEADERS, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    (FaultKind.HANG_MID_STREAM, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    (FaultKind.EMPTY, OutcomeKind.EMPTY_SUCCESS, Blame.MODEL),
    (FaultKind.REFUSAL, OutcomeKind.REFUSED, Blame.MODEL),
    (FaultKind.MAX_TOKENS, OutcomeKind.OUTPUT_LIMIT, Blame.MODEL),
    (FaultKind.SLOW, OutcomeKind.TIMED_OUT, Blame.MODEL),
]


def test_the_table_names_every_fault() -> None:
    assert {fault for fault, _, _ in FAULTS} == set(FaultKind)


@pytest.mark.parametrize(("fault", "kind", "blame"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_fault(tmp_path: pathlib.Path, fault: FaultKind, kind: OutcomeKind, blame: Blame) -> None:
    place = Workplace(tmp_path)
    started = time.monotonic()
    done = place.run(
        "run", "--dataset", QUICKSTART, "--tasks", "word-tally", "--fault", fault, "--skip-probe",
        "--request-retries", "1", "--max-retries", "0",
        "--timeout-seconds", str(WALL_SECONDS), "--idle-timeout-seconds", str(IDLE_SECONDS),
    )  # fmt: skip
    took = time.monotonic() - started

    record = place.records()["word-tally"]
    assert (record.outcome.kind, record.outcome.blame) == (kind, blame), record.outcome.detail
    assert record.outcome.detail
    assert done.returncode == (0 if blame is Blame.MODEL else 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert took < WALL_SECONDS + 12
    attempts = [attempt.id for attempt in record.attempts]
    assert len(attempts) == 1
    assert record.attempts[0].survivors == 0
    assert alive_with_mark(*attempts) == []
    assert not [path for path in place.work.iterdir() if path.name in attempts]
    assert (place.trial("word-tally").path / record.attempts[0].stream_log).stat().st_size > 0
    if fault in {FaultKind.HANG_MID_STREAM, FaultKind.SLOW, FaultKind.CUT}:
        check_lower_bound(record)
