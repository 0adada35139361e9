"""What costs stand on, told apart by shape and word."""

from swetrials.records.leaderboard import HostingBasis

HOSTINGS: dict[HostingBasis, str] = {
    "metered": "tokens at a price",
    "hardware": "hours of a machine",
    "other": "another basis",
}
SHAPES: dict[HostingBasis, str] = {"metered": "circle", "hardware": "square", "other": "triangle-up"}
