"""Naming a failed request: the status decides, and words only where there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.agents.failures import failure
from swetrials.records.outcome import Blame, OutcomeKind

K = OutcomeKind


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "slow down", K.RATE_LIMITED),
        (401, "no", K.AUTH_FAILED),
        (403, "no", K.AUTH_FAILED),
        (500, "oops", K.PROVIDER_ERROR),
        (529, "overloaded", K.PROVIDER_ERROR),
        (404, "no such model", K.PROVIDER_ERROR),
        (500, "rate limit of the backend reached", K.PROVIDER_ERROR),
        (500, "authentication service is down", K.PROVIDER_ERROR),
        (None, "API Error: 429 {...}", K.RATE_LIMITED),
        (None, "unexpected status 401 Unauthorized", K.AUTH_FAILED),
        (None, "HTTP error 429", K.RATE_LIMITED),
        (None, "HTTP/1.1 401 no", K.AUTH_FAILED),
        (None, "status code: 429", K.RATE_LIMITED),
        (None, "request was rejected (401)", K.AUTH_FAILED),
        (None, "status=503, rate limit of the backend", K.PROVIDER_ERROR),
        (None, "Too Many Requests", K.RATE_LIMITED),
        (None, "rate_limit_error: try later", K.RATE_LIMITED),
        (None, "rate-limited", K.RATE_LIMITED),
        (None, "Invalid API key · Please run /login", K.AUTH_FAILED),
        (None, "invalid x-api-key", K.AUTH_FAILED),
        (None, "Not logged in", K.AUTH_FAILED),
        (None, "unauthorised", K.AUTH_FAILED),
        (None, "connection reset by peer", K.PROVIDER_ERROR),
        (None, "", K.PROVIDER_ERROR),
    ],
)
def test_kinds(status: int | None, text: str, kind: OutcomeKind) -> None:
    assert failure(status, text).kind is kind


@pytest.mark.parametrize("status", [None, 400, 413, 422])
@pytest.mark.parametrize(
    "text",
    [
        "API Error: 400 prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 32768 tokens. However, you requested 40000",
        "context_length_exceeded",
        "Your input exceeds the context window of this model",
        "Input is too long for requested model.",
        "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000",
    ],
)
def test_a_request_that_does_not_fit_is_the_models_affair(status: int | None, text: str) -> None:
    outcome = failure(status, text)
    assert (outcome.kind, outcome.blame) == (K.CONTEXT_OVERFLOW, Blame.MODEL)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, K.AUTH_FAILED), (403, K.AUTH_FAILED), (429, K.RATE_LIMITED), (500, K.PROVIDER_ERROR),
     (503, K.PROVIDER_ERROR), (529, K.PROVIDER_ERROR), (404, K.PROVIDER_ERROR)],
)  # fmt: skip
@pytest.mark.parametrize("told", [True, False], ids=["by the agent", "in the text"])
def test_a_status_says_what_it_says_whatever_the_words(status: int, kind: OutcomeKind, told: bool) -> None:
    text = "tokens per minute of the context window are used up: the prompt is too long"
    assert failure(status if told else None, text if told else f"API Error: {status} {text}").kind is kind


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (402, "context window"),
        (402, ""),
        (None, "API Error: 402 Payment Required"),
        (400, "Your credit balance is too low to access the API. Please go to Plans & Billing."),
        (None, "Credit balance is too low"),
        (429, "insufficient_quota: You exceeded your current quota, please check your plan and billing details."),
    ],
)
def test_an_account_without_credit_is_the_users(status: int | None, text: str) -> None:
    outcome = failure(status, text)
    assert (outcome.kind, outcome.blame) == (K.AUTH_FAILED, Blame.USER)


@pytest.mark.parametrize(
    "text", ["took 429 seconds", "in file status.py line 401", "port 4290 is closed", "session 429429"]
)
def test_a_number_alone_is_no_status(text: str) -> None:
    assert failure(None, text).kind is K.PROVIDER_ERROR


@given(st.none() | st.integers(400, 599), st.text(max_size=2000))
def test_the_detail_is_what_was_said_and_never_endless(status: int | None, text: str) -> None:
    outcome = failure(status, text)
    assert outcome.detail == text.strip()[:500]
    assert outcome.blame is not None
