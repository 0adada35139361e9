"""What the meter itself answers where the route cannot, in the dialect's own shape."""

import orjson

from swetrials.wire.route import Dialect


def error_body(dialect: Dialect | None, status: int, message: str) -> bytes:
    """Return the body of an error that an agent of the dialect understands."""
    kind = "authentication_error" if status == 401 else "api_error"
    match dialect:
        case "anthropic":
            return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
        case "bedrock":
            return orjson.dumps({"message": message})
        case _:
            return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}})
