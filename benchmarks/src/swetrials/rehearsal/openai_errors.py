"""The error response that both OpenAI dialects share."""

from swetrials.rehearsal.speaker import Refusal, retry_after

_TYPES = {
    400: ("invalid_request_error", "invalid_request"),
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


def refusal(status: int, message: str) -> Refusal:
    """Return an error object."""
    kind, code = _TYPES.get(status, ("server_error", "server_error"))
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Refusal(status, {"error": error}, retry_after(status))
