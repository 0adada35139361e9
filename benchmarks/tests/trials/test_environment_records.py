"""What the records of attempts and trials say of environment, sealing and memory."""

import sys
from pathlib import Path

import pytest

from environments.memory_group import GREEDY, memory_group
from results.trees import attempt
from swetrials.agents.events import Tally
from swetrials.records.metrics import AttemptRecord
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.records.requests import BilledPart, PriceTerms, RequestsBlock
from swetrials.records.sealing import Canary, NetworkAllowed, Sealing, SealState
from swetrials.trials.outcome_classification import decide
from swetrials.trials.sealing_record import sealing_of, sealing_with_bill, server_tool_doubts
from trials.stand_in import WHOLE, Yard
from trials.test_outcome_classification import SUCCESS, ended

HELD = Sealing.of("model", [Canary(name="route answers", held=True)])
BROKEN = Sealing.of("model", [Canary(name="host loopback refused", held=False, detail="it answered")])


def sealed(state: SealState, network: NetworkAllowed = "model") -> Sealing:
    return Sealing(state=state, network=network)


def made(number: int, sealing: Sealing | None, kind: OutcomeKind = OutcomeKind.COMPLETED) -> AttemptRecord:
    return attempt(number, kind).model_copy(update={"sealing": sealing})


def test_a_trial_says_what_it_ran_in_and_that_it_was_not_sealed(tmp_path: Path) -> None:
    metrics = Yard(tmp_path).run(WHOLE)
    assert metrics.environment is not None and metrics.environment == metrics.attempts[0].environment
    assert (metrics.environment.kind, metrics.environment.engine) == ("host", None)
    assert metrics.environment.cores and metrics.environment.memory_gb
    assert metrics.provenance.sandbox == "none"
    assert metrics.sealing is not None and metrics.sealing == metrics.attempts[0].sealing
    assert (metrics.sealing.state, metrics.sealing.why) == (
        "open",
        "on the host nothing keeps a program from the network",
    )


def test_an_agent_that_the_kernel_killed_for_want_of_memory_is_the_environments_account(tmp_path: Path) -> None:
    with memory_group() as group:
        metrics = Yard(tmp_path).run(f"echo $$ > {group}/cgroup.procs; exec {sys.executable} -c '{GREEDY}'\n")
    assert (metrics.outcome.kind, metrics.outcome.blame) == (OutcomeKind.OUT_OF_MEMORY, Blame.ENVIRONMENT)
    assert metrics.attempts[0].exit_code == -9
    assert not metrics.outcome.valid


def test_an_agent_that_somebody_else_killed_has_crashed(tmp_path: Path) -> None:
    metrics = Yard(tmp_path).run("kill -9 $$\n")
    assert (metrics.outcome.kind, metrics.attempts[0].exit_code) == (OutcomeKind.AGENT_CRASHED, -9)


@pytest.mark.parametrize(
    ("exit_code", "counted", "kind"),
    [
        (-9, True, OutcomeKind.OUT_OF_MEMORY),
        (137, True, OutcomeKind.OUT_OF_MEMORY),
        (137, False, OutcomeKind.AGENT_CRASHED),
        (1, True, OutcomeKind.AGENT_CRASHED),
        (-15, True, OutcomeKind.AGENT_CRASHED),
    ],
)
def test_a_kill_is_for_want_of_memory_where_the_kernel_counted_one(
    exit_code: int, counted: bool, kind: OutcomeKind
) -> None:
    assert decide(Tally(), ended("exited", exit_code), (), None, "", ran_out_of_memory=counted).kind is kind


def test_neither_the_harness_own_kill_nor_a_last_word_is_a_want_of_memory() -> None:
    stopped = decide(Tally(), ended("wall_limit", -9), (), None, "", ran_out_of_memory=True)
    assert stopped.kind is OutcomeKind.TIMED_OUT
    said = Tally()
    said.add([SUCCESS])
    assert decide(said, ended("exited", 137), (), None, "", ran_out_of_memory=True).kind is not (
        OutcomeKind.OUT_OF_MEMORY
    )


@pytest.mark.parametrize(
    ("attempts", "of_trial"),
    [
        ([], None),
        ([made(1, None)], None),
        ([made(1, HELD)], HELD),
        ([made(1, HELD), made(2, sealed("declared"))], sealed("declared")),
        ([made(1, sealed("open")), made(2, HELD)], sealed("open")),
        ([made(1, sealed("proven", "registries")), made(2, HELD)], sealed("proven", "registries")),
        ([made(1, None), made(2, HELD)], None),
        ([made(1, BROKEN, OutcomeKind.NOT_SEALED), made(2, HELD)], HELD),
        ([made(1, BROKEN, OutcomeKind.NOT_SEALED)], BROKEN),
    ],
)
def test_a_trial_is_as_sealed_as_the_weakest_of_its_attempts(
    attempts: list[AttemptRecord], of_trial: Sealing | None
) -> None:
    assert sealing_of(attempts) == of_trial


def test_what_the_server_fetched_came_past_the_seal() -> None:
    bill = RequestsBlock(
        parts=(
            BilledPart(model="m", calls=1, terms=PriceTerms(server_tools={"web_search_requests": 2})),
            BilledPart(model="m", calls=1, terms=PriceTerms(speed="fast", server_tools={"web_search_requests": 1})),
        )
    )
    found = sealing_with_bill(HELD, bill)
    assert found is not None and (found.state, found.canaries) == ("open", HELD.canaries)
    assert found.why == "the endpoint's server ran tools for the model (web_search_requests 3)"
    assert [(doubt.code, doubt.severity) for doubt in server_tool_doubts(bill)] == [("server_tools", "warning")]
    assert sealing_with_bill(None, bill) is None


@pytest.mark.parametrize("requests", [None, RequestsBlock(), RequestsBlock(parts=(BilledPart(model="m", calls=1),))])
def test_a_bill_without_server_tools_leaves_the_seal(requests: RequestsBlock | None) -> None:
    assert sealing_with_bill(HELD, requests) == HELD
    assert server_tool_doubts(requests) == []


@pytest.mark.parametrize(
    ("sealing", "required", "why"),
    [
        (HELD, True, ""),
        (BROKEN, False, "host loopback refused: it answered"),
        (BROKEN, True, "host loopback refused: it answered"),
        (sealed("open"), False, ""),
        (sealed("declared"), True, "declared, network: model"),
        (sealed("proven", "registries"), True, "proven, network: registries"),
        (Sealing.of("model", []), True, "no canary was tried"),
    ],
)
def test_what_is_not_started(sealing: Sealing, required: bool, why: str) -> None:
    assert sealing.refused(require_sealed=required) == why
