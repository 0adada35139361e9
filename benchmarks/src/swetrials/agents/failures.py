"""Naming a failure from what an API or a CLI said of it."""

import re

from swetrials.records.outcome import Outcome, OutcomeKind

# Wordings of a request that does not fit the window. The endpoints behind the three dialects give no
# structured code for it that survives the way through proxies and CLIs.
_CONTEXT = re.compile(
    r"prompt is too long|maximum context length|context[ _]length[ _]exceeded|context window|"
    r"input is too long|exceed(?:s|ed)? (?:the )?(?:model'?s )?(?:max|context)",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"\b(?:status(?: code)?|API Error|rejected|HTTP(?:/\d(?:\.\d)?)?(?: error)?)[\s:=(]{1,3}(\d{3})\b", re.IGNORECASE
)
_RATE = re.compile(r"rate.?limit|too many requests", re.IGNORECASE)
_AUTH = re.compile(r"invalid (?:x-)?api.?key|unauthori[sz]ed|authenticat|not logged in|run /login", re.IGNORECASE)
# Anthropic refuses an account without credit with 400, OpenAI one beyond its quota with 429 and this code.
_UNPAID = re.compile(
    r"credit balance is too low|insufficient_quota|exceeded your current quota|payment required|billing[ _]"
    r"(?:error|hard limit)",
    re.IGNORECASE,
)

_REFUSED_AS_ASKED = frozenset({None, 400, 413, 422})
# What a request that does not fit is answered with. Any other status says by itself what was wrong.
_MAYBE_UNPAID = frozenset({None, 400, 402, 403, 429})


def failure(status: int | None, text: str) -> Outcome:
    """Return the outcome of a failed API request: the status decides first, the wording last.

    | status | outcome |
    |---|---|
    | 402, and 400, 403 or 429 that tell of an account without credit | ``auth_failed``: the user's |
    | 401, 403 | ``auth_failed``: the user's |
    | 429 | ``rate_limited``: the provider's |
    | 400, 413, 422 that tell of a window that is too small | ``context_overflow``: the model's |
    | any other | ``provider_error``: the provider's, whatever the wording |
    | none told | by the wording, in the same order |

    Args:
        status: HTTP status of the last response, when the agent tells it.
        text: what the agent printed about it; kept as the detail.
    """
    detail = text.strip()[:500]
    if status is None and (found := _STATUS.search(text)):
        status = int(found[1])
    if status == 402 or (status in _MAYBE_UNPAID and _UNPAID.search(text)):
        return Outcome.of(OutcomeKind.AUTH_FAILED, detail)
    if status in _REFUSED_AS_ASKED and _CONTEXT.search(text):
        return Outcome.of(OutcomeKind.CONTEXT_OVERFLOW, detail)
    if status == 429 or (status is None and _RATE.search(text)):
        return Outcome.of(OutcomeKind.RATE_LIMITED, detail)
    if status in {401, 403} or (status is None and _AUTH.search(text)):
        return Outcome.of(OutcomeKind.AUTH_FAILED, detail)
    return Outcome.of(OutcomeKind.PROVIDER_ERROR, detail)
