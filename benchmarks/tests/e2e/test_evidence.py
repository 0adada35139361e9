"""What an agent says of its tokens and of its end is held against the wire, with the real agents."""

import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from e2e.agents import AGENTS_UNDER_TEST, CLAUDE, CODEX, OMP, OPENCODE, PI, AgentUnderTest, each
from e2e.harness import QUICKSTART, Workplace
from swetrials.records.metrics import EXPECTED_ARTIFACTS, Metrics
from swetrials.records.outcome import Blame, Outcome, OutcomeKind
from swetrials.records.usage import Usage, UsageReport
from swetrials.rehearsal import FaultKind
from swetrials.store.results import trial_folders

pytestmark = pytest.mark.slow

DOCUMENTS = {name: f"# {name}\n" for name in EXPECTED_ARTIFACTS if name != "patch.diff"}
WRITE = "; ".join([*(f"echo '# x' > '${{artifacts_dir}}/{name}'" for name in DOCUMENTS), "echo '# x' >> README.md"])
FIRST: dict[str, object] = {"say": "The documents and the change.", "shell": WRITE}
LOOK: dict[str, object] = {"say": "A second look at what is there now.", "shell": "git status --short"}
LAST: dict[str, object] = {"say": "All done."}

FRESH, READ, WRITTEN = 1200, 900, 300
"""What each answer that tells of itself says of its prompt."""

OUTPUTS = (57, 23)
"""What the two answers of a short conversation say of their output."""


@dataclass(frozen=True)
class Case:
    """A server's behaviour, by a fault or by what the steps tell, and the further words of the command."""

    fault: dict[str, object] | None = None
    steps: Sequence[dict[str, object]] = (FIRST, LOOK, LAST)
    words: tuple[str, ...] = ()


def run(place: Workplace, agent: AgentUnderTest, case: Case) -> Metrics:
    script: dict[str, object] = {"when": "task_id: word-tally", "steps": list(case.steps)}
    if case.fault is not None:
        script["fault"] = case.fault
    scenario = {"schema_version": "1.0", "name": "evidence", "scripts": [script]}
    place.root.mkdir(parents=True, exist_ok=True)
    (place.root / "scenario.yaml").write_text(json.dumps(scenario))  # JSON is YAML
    done = place.run(
        "run", "--agent", agent.name, "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario",
        place.root / "scenario.yaml", "--skip-probe", "--max-retries", "0", *case.words, timeout_seconds=240,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    [folder] = trial_folders(place.results)
    return folder.metrics()


def told(agent: AgentUnderTest, output: int) -> dict[str, object]:
    """Return the usage that an answer tells, in the dialect of the agent."""
    if agent is not CODEX:
        prompt = {
            "input_tokens": FRESH, "cache_read_input_tokens": READ, "cache_creation_input_tokens": WRITTEN,
        }  # fmt: skip
        return {"usage_as": {**prompt, "output_tokens": output}}
    details = {"input_tokens_details": {"cached_tokens": READ}, "output_tokens_details": {"reasoning_tokens": 0}}
    sent = FRESH + READ
    return {
        "usage_as": {"input_tokens": sent, "output_tokens": output, "total_tokens": sent + output, **details},
    }


def short(agent: AgentUnderTest) -> list[dict[str, object]]:
    """Return a conversation of two answers, which does all that is asked."""
    first, last = OUTPUTS
    return [{**FIRST, **told(agent, first)}, {**LAST, **told(agent, last)}]


def answers(agent: AgentUnderTest, *outputs: int) -> Usage:
    """Return what answers come to that tell these outputs."""
    many = len(outputs)
    written = 0 if agent is CODEX else many * WRITTEN
    return Usage(fresh_input=many * FRESH, cache_read=many * READ, cache_write=written, output=sum(outputs))


def buckets(report: UsageReport | None) -> tuple[int | None, ...]:
    assert report is not None
    usage = report.usage
    return usage.fresh_input, usage.cache_read, usage.cache_write, usage.output


def codes(record: Metrics) -> set[str]:
    return {finding.code for finding in record.findings}


@each(*AGENTS_UNDER_TEST)
def test_an_answer_that_broke_off_makes_a_lower_bound_and_a_finding(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    record = run(Workplace(tmp_path), agent, Case({"kind": FaultKind.CUT_MID_EVENT, "times": 1, "at_step": 1}))
    headline, metered, served = record.usage.headline, record.usage.metered, record.usage.served
    # omp never asks again for an answer of which it has shown a text.
    expected = OutcomeKind.PROVIDER_ERROR if agent is OMP else OutcomeKind.COMPLETED
    assert record.outcome.kind is expected
    assert metered is not None and served is not None
    assert headline.completeness == metered.completeness == "lower_bound"
    for bucket in metered.usage.known:
        assert getattr(served.usage, bucket) >= getattr(headline.usage, bucket) >= getattr(metered.usage, bucket)
    assert "usage_incomplete" in codes(record)


@each(CLAUDE, OPENCODE, PI, OMP)
def test_an_answer_that_is_cut_behind_its_usage_counts_whole_and_never_as_complete(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    fault = {"kind": FaultKind.CUT_AFTER_USAGE, "times": 1, "at_step": 1}
    record = run(Workplace(tmp_path), agent, Case(fault, short(agent)))
    [attempt] = record.attempts
    assert attempt.requests is not None
    first, last = OUTPUTS
    # The answer that was cut, and the same again where the agent asked for it.
    asked_again = attempt.requests.count == 3
    expected = answers(agent, first, last, last) if asked_again else answers(agent, first, last)
    if agent in {OPENCODE, PI}:
        assert expected.output == 103
    assert buckets(record.usage.headline) == buckets(record.usage.metered) == buckets(UsageReport.of(expected))
    assert record.usage.headline.completeness == "lower_bound"
    assert "usage_incomplete" in codes(record)
    assert record.num_turns == attempt.requests.count - 1


UNREADABLE = [
    pytest.param(agent, fault, id=f"{agent.name}-{fault}")
    for agent in AGENTS_UNDER_TEST
    for fault in (FaultKind.HTML, FaultKind.GARBAGE)
    if fault is FaultKind.HTML or agent in {CLAUDE, OMP}
]


@pytest.mark.parametrize(("agent", "fault"), UNREADABLE)
def test_an_answer_that_nobody_can_read_is_no_turn_and_takes_completeness_away(
    tmp_path: pathlib.Path, agent: AgentUnderTest, fault: FaultKind
) -> None:
    case = Case({"kind": fault, "times": 1, "at_step": 1}, short(agent))
    record = run(Workplace(tmp_path), agent, case)
    ends = agent is PI  # which takes it for the end; the others ask again
    ending = Outcome.of(OutcomeKind.PROVIDER_ERROR if ends else OutcomeKind.COMPLETED)
    outputs = OUTPUTS[:1] if ends else OUTPUTS
    assert (record.outcome.kind, record.outcome.blame) == (ending.kind, ending.blame), record.outcome.detail
    assert buckets(record.usage.metered) == buckets(UsageReport.of(answers(agent, *outputs)))
    assert record.usage.headline.completeness == "lower_bound"
    told_and_seen = zip(buckets(record.usage.headline), buckets(record.usage.metered), strict=True)
    assert all((ours or 0) >= (seen or 0) for ours, seen in told_and_seen)
    assert record.num_turns == len(outputs)
    assert "usage_incomplete" in codes(record)


@each(CLAUDE, OPENCODE, PI, OMP)
def test_answers_of_one_id_are_as_many_as_there_were(tmp_path: pathlib.Path, agent: AgentUnderTest) -> None:
    looks = [{**LOOK, "say": f"Look number {number}.", **told(agent, 10)} for number in range(5)]
    first, last = short(agent)
    steps = [{**step, "id_as": "msg_of_a_gateway"} for step in (first, *looks, last)]
    words = ("--max-turns", "7") if agent is CLAUDE else ()
    record = run(Workplace(tmp_path), agent, Case(steps=steps, words=words))
    first_output, last_output = OUTPUTS
    kind = OutcomeKind.COMPLETED
    if agent is CLAUDE:  # sends answers of one id back as one, so that each is followed by the same look
        kind, last_output = OutcomeKind.TURN_LIMIT, 10
    assert record.outcome.kind is kind, record.outcome.detail
    assert record.num_turns == 7
    expected = buckets(UsageReport.of(answers(agent, first_output, *[10] * 5, last_output)))
    for report in (record.usage.headline, record.usage.reported, record.usage.metered):
        assert report is not None
        assert (buckets(report), report.completeness, report.requests) == (expected, "complete", 7)
    assert "turns_disagree" not in codes(record)


@each(OMP)
def test_empty_answers_that_the_agent_does_not_tell_of_are_turns(tmp_path: pathlib.Path, agent: AgentUnderTest) -> None:
    record = run(Workplace(tmp_path), agent, Case({"kind": FaultKind.EMPTY}))
    assert (record.outcome.kind, record.outcome.blame) == (OutcomeKind.EMPTY_SUCCESS, Blame.MODEL)
    reported, served = record.usage.reported, record.usage.served
    assert reported is not None and served is not None
    assert (reported.requests, served.requests, record.num_turns) == (4, 12, 12)
    assert record.usage.headline == record.usage.metered
    assert buckets(record.usage.headline) == buckets(served)
    assert {"turns_disagree", "usage_disagrees"} <= codes(record)


@each(*AGENTS_UNDER_TEST)
def test_calls_that_are_all_reset_are_unknown_and_the_providers_account(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    words = ("--request-retries", "1", "--timeout-seconds", "60")
    record = run(Workplace(tmp_path), agent, Case({"kind": FaultKind.RESET_BEFORE_ANSWER}, words=words))
    assert (record.outcome.kind, record.outcome.blame) == (OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER)
    for report in (record.usage.headline, record.usage.reported, record.usage.metered):
        assert report is not None
        assert (report.usage.known, report.completeness) == ((), "unknown")
    assert (record.input_tokens, record.output_tokens, record.num_turns) == (None, None, 0)
    assert "usage_incomplete" in codes(record)


@each(CLAUDE, CODEX)
def test_tokens_that_nobody_tells_are_unknown_and_the_trial_is_good(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    steps = [{**step, "usage_as": None} for step in (FIRST, LOOK, LAST)]
    record = run(Workplace(tmp_path), agent, Case(steps=steps))
    assert (record.outcome.kind, record.num_turns) == (OutcomeKind.COMPLETED, len(steps))
    for report in (record.usage.reported, record.usage.metered):
        assert report is not None
        assert (report.usage.total, report.completeness) == (None, "unknown")
    assert record.usage.headline.completeness != "complete"


GIVES_NOTHING: dict[str, tuple[dict[str, object], OutcomeKind, Blame]] = {
    "429": (
        {"kind": FaultKind.STATUS_429, "message": "the context window is full", "retry_after_seconds": 60},
        OutcomeKind.RATE_LIMITED, Blame.PROVIDER,
    ),
    "hang": ({"kind": FaultKind.HANG_BEFORE_HEADERS}, OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER),
    "402": ({"kind": FaultKind.STATUS_402}, OutcomeKind.AUTH_FAILED, Blame.USER),
    "500": (
        {"kind": FaultKind.STATUS_500, "message": "the context window is full"},
        OutcomeKind.PROVIDER_ERROR, Blame.PROVIDER,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        *((agent, name) for agent in (CLAUDE, OPENCODE) for name in ("429", "hang", "402")),
        (OPENCODE, "500"),
        *((agent, name) for agent in (PI, OMP) for name in ("429", "hang")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_provider_that_gives_nothing_is_not_the_models_fault(
    tmp_path: pathlib.Path, agent: AgentUnderTest, name: str
) -> None:
    fault, kind, blame = GIVES_NOTHING[name]
    record = run(Workplace(tmp_path), agent, Case(fault, words=("--timeout-seconds", "28")))
    assert (record.outcome.kind, record.outcome.blame) == (kind, blame), record.outcome.detail
    assert not record.outcome.valid
    assert record.num_turns == 0
    if kind is OutcomeKind.RATE_LIMITED and agent in {CLAUDE, OPENCODE}:
        assert (record.time.waiting_seconds or 0) > 5
