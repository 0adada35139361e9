"""The quickstart with the real Codex as the agent: the same command, another ``--agent``."""

import pathlib

import pytest

from e2e.harness import QUICKSTART, Workplace, alive_with_mark, needs_agent
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.records.usage import Usage
from swetrials.wire.rehearsal import FaultKind
from swetrials.workspace.sandbox import bubblewrap

pytestmark = [pytest.mark.slow, needs_agent("codex")]


def buckets(usage: Usage) -> tuple[int | None, ...]:
    """Return what every witness tells. Codex says 0 cache writes where the wire says nothing of them."""
    return usage.fresh_input, usage.cache_read, usage.cache_write or 0, usage.output


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_the_quickstart_ends_as_with_any_agent_and_every_witness_agrees_to_the_token(
    tmp_path: pathlib.Path, sandbox: str
) -> None:
    if sandbox == "bubblewrap" and bubblewrap() is None:
        pytest.skip("bubblewrap does not work here")
    place = Workplace(tmp_path)
    done = place.run(
        "e2e", "--agent", "codex", "--dataset", QUICKSTART, "--sandbox", sandbox, "--judge", "tests", "--yes",
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
        assert reported.completeness == "complete"
        assert record.findings == ()


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
]


@pytest.mark.parametrize(("fault", "kind", "blame"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_fault(tmp_path: pathlib.Path, fault: FaultKind, kind: OutcomeKind, blame: Blame) -> None:
    place = Workplace(tmp_path)
    done = place.run(
        "run", "--agent", "codex", "--dataset", QUICKSTART, "--tasks", "word-tally", "--fault", fault, "--skip-probe",
        "--request-retries", "1", "--max-retries", "0", "--timeout-seconds", "60", "--idle-timeout-seconds", "10",
    )  # fmt: skip
    record = place.records()["word-tally"]
    assert (record.outcome.kind, record.outcome.blame) == (kind, blame), record.outcome.detail
    assert record.outcome.detail
    assert done.returncode == (0 if blame is Blame.MODEL else 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    [attempt] = record.attempts
    assert attempt.survivors == 0
    assert alive_with_mark(attempt.id) == []


def test_the_models_commands_reach_the_artifacts_and_loopback_but_not_the_key(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        'schema_version: "1.0"\nname: spy\nscripts:\n  - when: "task_id: word-tally"\n    steps:\n'
        "      - shell: env > ${artifacts_dir}/lld.md\n"
        '      - shell: python3 -c \'import socket; socket.create_server(("127.0.0.1", 0)); print("open")\''
        " > ${artifacts_dir}/review.md\n"
    )
    done = place.run(
        "run", "--agent", "codex", "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario", scenario,
        "--skip-probe",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folder = next(path.parent for path in place.results.rglob("lld.md"))
    names = {line.split("=", 1)[0] for line in (folder / "lld.md").read_text().splitlines()}
    assert "PATH" in names
    assert not [name for name in names if name.startswith("SWETRIALS")]
    assert (folder / "review.md").read_text() == "open\n"
