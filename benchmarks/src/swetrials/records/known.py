"""Adding up what is known."""

from collections.abc import Iterable
from typing import TypeVar

N = TypeVar("N", int, float)

_DIGITS = 12
# Far below a cent, and few enough to make sums of floats independent of their order.


def known_sum(values: Iterable[N | None], digits: int = _DIGITS) -> N | None:
    """Return the sum of the values that are known, to so many decimals; ``None`` when none is."""
    known = [value for value in values if value is not None]
    return round(sum(known), digits) if known else None
