"""The meter: a pass-through proxy between an agent and its route that counts what passes."""

from swetrials.wire.meter.block import requests_block
from swetrials.wire.meter.meter import Meter, metered
from swetrials.wire.meter.signing import CannotSign

__all__ = ["CannotSign", "Meter", "metered", "requests_block"]
