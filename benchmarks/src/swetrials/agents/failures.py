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


def failure(status: int | None, text: str) -> Outcome:
    """Return the outcome of a failed API request: the status decides first, the wording last.

    Args:
        status: HTTP status of the last response, when the agent tells it.
        text: what the agent printed about it; kept as the detail.
    """
    detail = text.strip()[:500]
    if _CONTEXT.search(text):
        return Outcome.of(OutcomeKind.CONTEXT_OVERFLOW, detail)
    if status is None and (found := _STATUS.search(text)):
        status = int(found[1])
    if status == 429 or (status is None and _RATE.search(text)):
        return Outcome.of(OutcomeKind.RATE_LIMITED, detail)
    if status in {401, 403} or (status is None and _AUTH.search(text)):
        return Outcome.of(OutcomeKind.AUTH_FAILED, detail)
    return Outcome.of(OutcomeKind.PROVIDER_ERROR, detail)
