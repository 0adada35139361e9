"""What costs stand on, told apart by shape and word."""

from swetrials.records.leaderboard import HostingBasis

HOSTINGS: dict[HostingBasis, str] = {
    "metered": "tokens at a price",
    "hardware": "hours of a machine",
    "other": "another basis",
}
SHORT: dict[HostingBasis, str] = {"metered": "tokens", "hardware": "machine", "other": "other"}
"""For narrow columns."""

SHAPES: dict[HostingBasis, str] = {"metered": "circle", "hardware": "square", "other": "triangle-up"}
