"""The moment that records are dated with."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return this moment as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
