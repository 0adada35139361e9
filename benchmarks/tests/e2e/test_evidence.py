"""What an agent says of its tokens and of its end is held against the wire, with the real agents."""

import json
import pathlib
from dataclasses import dataclass

import pytest

from e2e.agents import CLAUDE, CODEX, OPENCODE, PI, AgentUnderTest, each
from e2e.harness import QUICKSTART, Workplace
from swetrials.records.metrics import EXPECTED_ARTIFACTS, Metrics
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.store.results import trial_folders
from swetrials.wire.rehearsal import FaultKind

pytestmark = pytest.mark.slow

DOCUMENTS = {name: f"# {name}\n" for name in EXPECTED_ARTIFACTS if name != "patch.diff"}
WRITE = "; ".join([*(f"echo '# x' > '${{artifacts_dir}}/{name}'" for name in DOCUMENTS), "echo '# x' >> README.md"])
STEPS: list[dict[str, object]] = [
    {"say": "The documents and the change.", "shell": WRITE},
    {"say": "A second look at what is there now.", "shell": "git status --short"},
    {"say": "All done."},
]


@dataclass(frozen=True)
class Case:
    """A server's behaviour, by a fault or by what the steps tell, and what has to be in the record."""

    name: str
    fault: dict[str, object] | None = None
    told: dict[str, object] | None = None
    words: tuple[str, ...] = ()


def run(place: Workplace, agent: AgentUnderTest, case: Case, *words: str) -> Metrics:
    script: dict[str, object] = {
        "when": "task_id: word-tally",
        "steps": [{**step, **(case.told or {})} for step in STEPS],
    }
    if case.fault is not None:
        script["fault"] = case.fault
    scenario = {"schema_version": "1.0", "name": "evidence", "scripts": [script]}
    place.root.mkdir(parents=True, exist_ok=True)
    (place.root / "scenario.yaml").write_text(json.dumps(scenario))  # JSON is YAML
    done = place.run(
        "run", "--agent", agent.name, "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario",
        place.root / "scenario.yaml", "--skip-probe", "--max-retries", "0", *case.words, *words, timeout_seconds=240,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    [folder] = trial_folders(place.results)
    return folder.metrics()


@each(CLAUDE, CODEX, OPENCODE, PI)
def test_an_answer_that_broke_off_makes_a_lower_bound_and_a_finding(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    record = run(Workplace(tmp_path), agent, Case("cut", {"kind": FaultKind.CUT_MID_EVENT, "times": 1, "at_step": 1}))
    headline, metered, served = record.usage.headline, record.usage.metered, record.usage.served
    assert record.outcome.kind is OutcomeKind.COMPLETED
    assert metered is not None and served is not None
    assert headline.completeness == metered.completeness == "lower_bound"
    for bucket in metered.usage.known:
        assert getattr(served.usage, bucket) >= getattr(headline.usage, bucket) >= getattr(metered.usage, bucket)
    assert "usage_incomplete" in {finding.code for finding in record.findings}


@each(CLAUDE, CODEX)
def test_tokens_that_nobody_tells_are_unknown_and_the_trial_is_good(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    record = run(Workplace(tmp_path), agent, Case("null", told={"usage_as": None}))
    assert (record.outcome.kind, record.num_turns) == (OutcomeKind.COMPLETED, len(STEPS))
    for report in (record.usage.reported, record.usage.metered):
        assert report is not None
        assert (report.usage.total, report.completeness) == (None, "unknown")
    assert record.usage.headline.completeness != "complete"


@each(CLAUDE, OPENCODE)
@pytest.mark.parametrize(
    ("fault", "kind", "blame"),
    [
        ({"kind": FaultKind.STATUS_429, "message": "the context window is full", "retry_after_seconds": 60},
         OutcomeKind.RATE_LIMITED, Blame.PROVIDER),
        ({"kind": FaultKind.HANG_BEFORE_HEADERS}, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
        ({"kind": FaultKind.STATUS_402}, OutcomeKind.AUTH_FAILED, Blame.USER),
    ],
    ids=["429", "hang", "402"],
)  # fmt: skip
def test_a_provider_that_gives_nothing_is_not_the_models_fault(
    tmp_path: pathlib.Path, agent: AgentUnderTest, fault: dict[str, object], kind: OutcomeKind, blame: Blame
) -> None:
    record = run(Workplace(tmp_path), agent, Case("nothing", fault, words=("--timeout-seconds", "40")))
    assert (record.outcome.kind, record.outcome.blame) == (kind, blame), record.outcome.detail
    assert not record.outcome.valid
    assert record.num_turns == 0
    if kind is OutcomeKind.RATE_LIMITED:
        assert (record.time.waiting_seconds or 0) > 5
