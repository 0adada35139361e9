"""The quickstart with the real opencode: the same command, another ``--agent``."""

import json
import pathlib

import pytest

from e2e.harness import QUICKSTART, Workplace, alive_with_mark, needs_agent
from swetrials.records.metrics import PATCH
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.records.usage import Usage
from swetrials.store.documents import load_dataset
from swetrials.wire.rehearsal import FaultKind
from swetrials.workspace.sandbox import bubblewrap

pytestmark = [pytest.mark.slow, needs_agent("opencode")]


def buckets(usage: Usage) -> tuple[int | None, ...]:
    """Return what every witness tells; how long a cache keeps what it stored only some do."""
    return usage.fresh_input, usage.cache_read, usage.cache_write, usage.output


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_the_quickstart_ends_as_with_any_agent_and_every_witness_agrees_to_the_token(
    tmp_path: pathlib.Path, sandbox: str
) -> None:
    if sandbox == "bubblewrap" and bubblewrap() is None:
        pytest.skip("bubblewrap does not work here")
    place = Workplace(tmp_path)
    done = place.run(
        "e2e", "--agent", "opencode", "--dataset", QUICKSTART, "--sandbox", sandbox, "--judge", "tests", "--yes",
        timeout_seconds=300,
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


FAULTS = [
    (FaultKind.STATUS_429, OutcomeKind.RATE_LIMITED, Blame.PROVIDER),
    # It repeats what failed five times within a minute and more, and cannot be told otherwise.
    (FaultKind.STATUS_500, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.CUT, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.STATUS_401, OutcomeKind.AUTH_FAILED, Blame.USER),
    (FaultKind.HTML, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    (FaultKind.HANG_BEFORE_HEADERS, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    (FaultKind.HANG_MID_STREAM, OutcomeKind.IDLE, Blame.AMBIGUOUS),
    (FaultKind.EMPTY, OutcomeKind.EMPTY_SUCCESS, Blame.MODEL),
    (FaultKind.REFUSAL, OutcomeKind.REFUSED, Blame.MODEL),
    (FaultKind.MAX_TOKENS, OutcomeKind.OUTPUT_LIMIT, Blame.MODEL),
]

HANGS = {FaultKind.HANG_BEFORE_HEADERS, FaultKind.HANG_MID_STREAM}


@pytest.mark.parametrize(("fault", "kind", "blame"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_fault(tmp_path: pathlib.Path, fault: FaultKind, kind: OutcomeKind, blame: Blame) -> None:
    place = Workplace(tmp_path)
    silence = "30" if fault in HANGS else "120"
    done = place.run(
        "run", "--agent", "opencode", "--dataset", QUICKSTART, "--tasks", "word-tally", "--fault", fault,
        "--skip-probe", "--max-retries", "0", "--timeout-seconds", "180", "--idle-timeout-seconds", silence,
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


def test_the_prompt_arrives_as_it_is_and_nothing_is_installed(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        'schema_version: "1.0"\nname: spy\nscripts:\n  - when: "task_id: word-tally"\n    steps:\n'
        "      - shell: ls -A $HOME/.config/opencode/node_modules > ${artifacts_dir}/lld.md\n"
        "      - say: done\n"
    )
    done = place.run(
        "run", "--agent", "opencode", "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario", scenario,
        "--skip-probe", "--keep-bodies",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folder = next(path.parent for path in place.results.rglob("lld.md"))
    assert (folder / "lld.md").read_text() == ".keep\n"
    first = min(folder.rglob("*.request"), key=lambda path: int(path.stem))
    text = json.loads(first.read_bytes())["messages"][0]["content"][0]["text"]
    task = next(task for task in load_dataset(QUICKSTART).dataset.tasks if task.id == "word-tally")
    assert f"problem_statement:\n{task.problem_statement.strip()}" in text
    assert not text.startswith('"')
    assert not (folder / PATCH).exists()
