"""Who answers for an outcome, and whether the trial counts."""

import pytest

from swetrials.records.outcome import USUAL_BLAME, Blame, Outcome, OutcomeKind


def test_every_kind_but_completed_has_somebody_to_blame() -> None:
    assert set(USUAL_BLAME) == set(OutcomeKind) - {OutcomeKind.COMPLETED}


@pytest.mark.parametrize(
    ("kind", "valid"),
    [
        (OutcomeKind.COMPLETED, True),
        (OutcomeKind.INCOMPLETE_ARTIFACTS, True),
        (OutcomeKind.TURN_LIMIT, True),
        (OutcomeKind.AGENT_CRASHED, True),
        (OutcomeKind.RATE_LIMITED, False),
        (OutcomeKind.PROVIDER_ERROR, False),
        (OutcomeKind.AUTH_FAILED, False),
        (OutcomeKind.ROUTE_NOT_USED, False),
        (OutcomeKind.CHECKOUT_FAILED, False),
        (OutcomeKind.INTERRUPTED, False),
        (OutcomeKind.UNFINISHED, False),
    ],
)
def test_only_what_model_or_agent_did_belongs_in_the_mean(kind: OutcomeKind, valid: bool) -> None:
    assert Outcome.of(kind).valid is valid


def test_a_known_culprit_replaces_the_usual_one() -> None:
    outcome = Outcome.of(OutcomeKind.TIMED_OUT, "the server hung", Blame.PROVIDER)
    assert (outcome.blame, outcome.valid, outcome.detail) == (Blame.PROVIDER, False, "the server hung")
