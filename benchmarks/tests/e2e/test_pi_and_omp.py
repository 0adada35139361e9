"""The quickstart with the real pi and the real omp: the same command, another ``--agent``."""

import pathlib

import pytest

from e2e.harness import QUICKSTART, Workplace, alive_with_mark, needs_agent
from e2e.test_bedrock import Way, arguments, bedrock, each_way
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.records.usage import Usage
from swetrials.wire.rehearsal import FaultKind
from swetrials.workspace.sandbox import bubblewrap

PI, OMP = (pytest.param(name, marks=needs_agent(name)) for name in ("pi", "omp"))

pytestmark = pytest.mark.slow


def buckets(usage: Usage) -> tuple[int | None, ...]:
    """Return what every witness tells; how long a cache keeps what it stored only some do."""
    return usage.fresh_input, usage.cache_read, usage.cache_write, usage.output


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
@pytest.mark.parametrize("agent", [PI, OMP])
def test_the_quickstart_ends_as_with_any_agent_and_every_witness_agrees_to_the_token(
    tmp_path: pathlib.Path, agent: str, sandbox: str
) -> None:
    if sandbox == "bubblewrap" and bubblewrap() is None:
        pytest.skip("bubblewrap does not work here")
    place = Workplace(tmp_path)
    done = place.run(
        "e2e", "--agent", agent, "--dataset", QUICKSTART, "--sandbox", sandbox, "--judge", "tests", "--yes",
        timeout_seconds=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    records = place.records()
    assert {name: record.outcome.kind for name, record in records.items()} == {
        "word-tally": OutcomeKind.COMPLETED,
        "slugify-unicode": OutcomeKind.COMPLETED,
        "temperature-table": OutcomeKind.INCOMPLETE_ARTIFACTS,
    }
    passed = {name: r.evaluation.tests.passed for name, r in records.items() if r.evaluation and r.evaluation.tests}
    assert passed == {"word-tally": True, "slugify-unicode": False, "temperature-table": True}
    for record in records.values():
        reported, metered, served = record.usage.reported, record.usage.metered, record.usage.served
        assert reported is not None and metered is not None and served is not None
        assert buckets(reported.usage) == buckets(metered.usage) == buckets(served.usage)
        assert (reported.requests, reported.completeness) == (served.requests, "complete")
        assert record.num_turns == served.requests
        assert record.findings == ()


@each_way
@pytest.mark.parametrize("meter", [["--meter"], ["--no-meter"]], ids=["metered", "no meter"])
@pytest.mark.parametrize("agent", [PI, OMP])
def test_bedrock_is_reached_with_each_kind_of_credentials(
    tmp_path: pathlib.Path, agent: str, meter: list[str], way: Way
) -> None:
    if way.name == "skip-auth" and "--no-meter" in meter:
        pytest.skip("without credentials both sign with a key that they make up, which the strict server refuses")
    with bedrock(way) as (server, environment):
        place = Workplace(tmp_path, environment)
        done = place.run(*arguments(server, "--agent", agent, "--tasks", "word-tally", *meter))
        assert done.returncode == 0, done.stdout + done.stderr
        served = Usage.sum(request.usage for request in server.requests if request.script)
        models = {request.model for request in server.requests}
    record = place.records()["word-tally"]
    assert (record.outcome.kind, models) == (OutcomeKind.COMPLETED, {"us.anthropic.claude-opus-5"})
    assert record.usage.reported is not None
    assert buckets(record.usage.reported.usage) == buckets(served)
    # pi 0.74 knows no model after Claude 4 and asks Bedrock to cache nothing.
    assert bool(served.cache_read) is (agent == "omp")


FAULTS = [
    ("pi", FaultKind.STATUS_429, OutcomeKind.RATE_LIMITED, Blame.PROVIDER),
    ("pi", FaultKind.STATUS_500, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("pi", FaultKind.STATUS_401, OutcomeKind.AUTH_FAILED, Blame.USER),
    ("pi", FaultKind.HTML, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("pi", FaultKind.BROKEN_SSE, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("pi", FaultKind.CUT, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("pi", FaultKind.HANG_BEFORE_HEADERS, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    ("pi", FaultKind.HANG_MID_STREAM, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    ("pi", FaultKind.EMPTY, OutcomeKind.EMPTY_SUCCESS, Blame.MODEL),
    ("pi", FaultKind.REFUSAL, OutcomeKind.REFUSED, Blame.MODEL),
    ("pi", FaultKind.MAX_TOKENS, OutcomeKind.OUTPUT_LIMIT, Blame.MODEL),
    # omp sends a failing request eleven times in silence, so a fault that it retries takes a minute to be told.
    ("omp", FaultKind.STATUS_429, OutcomeKind.RATE_LIMITED, Blame.PROVIDER),
    ("omp", FaultKind.STATUS_500, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("omp", FaultKind.STATUS_401, OutcomeKind.AUTH_FAILED, Blame.USER),
    ("omp", FaultKind.BROKEN_SSE, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("omp", FaultKind.CUT, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    ("omp", FaultKind.HANG_MID_STREAM, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    ("omp", FaultKind.EMPTY, OutcomeKind.EMPTY_SUCCESS, Blame.MODEL),
    ("omp", FaultKind.REFUSAL, OutcomeKind.REFUSED, Blame.MODEL),
    ("omp", FaultKind.MAX_TOKENS, OutcomeKind.OUTPUT_LIMIT, Blame.MODEL),
]


@pytest.mark.parametrize(
    ("agent", "fault", "kind", "blame"),
    [pytest.param(*row, marks=needs_agent(row[0]), id=f"{row[0]}-{row[1]}") for row in FAULTS],
)
def test_fault(tmp_path: pathlib.Path, agent: str, fault: FaultKind, kind: OutcomeKind, blame: Blame) -> None:
    silence = "10" if fault in {FaultKind.HANG_BEFORE_HEADERS, FaultKind.HANG_MID_STREAM} else "120"
    place = Workplace(tmp_path)
    done = place.run(
        "run", "--agent", agent, "--dataset", QUICKSTART, "--tasks", "word-tally", "--fault", fault, "--skip-probe",
        "--request-retries", "1", "--max-retries", "0", "--timeout-seconds", "150", "--idle-timeout-seconds", silence,
        timeout_seconds=240,
    )  # fmt: skip
    record = place.records()["word-tally"]
    assert (record.outcome.kind, record.outcome.blame) == (kind, blame), record.outcome.detail
    assert record.outcome.detail
    assert done.returncode == (0 if blame is Blame.MODEL else 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    [attempt] = record.attempts
    assert attempt.survivors == 0
    assert alive_with_mark(attempt.id) == []
