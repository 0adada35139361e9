"""The meter: a pass-through proxy between an agent and its route that counts what passes.

Its HTTP is its own, over llhttp (by way of httptools): ``messages`` reads, ``peer`` is one end of a connection,
``relay`` joins two. aiohttp 3.14 was tried in their place, its server and its client, and is no fit for a proxy that
must not change what passes. Seven tests of ``tests/wire/meter/test_passing.py`` fail with it, for reasons in its parser
and protocols that no setting changes:

- A response without a length that the endpoint resets ends as if it were whole. The meter would count it as complete.
- What precedes a broken chunk in the same read is lost, head and usage included.
- A response that states a length beside its chunks is turned down.
- The client swallows informational responses (1xx).
- The server turns down a request of HTTP/1.1 without ``Host`` (here one that offers an upgrade), answers in HTTP/1.0
  what is no HTTP, and serves the second of two requests in one piece, which is left to the agent to repeat here.

With it a request took 4.2 ms longer than with this code (medians of 800 each, in turns: 24.4 and 20.2 ms, 18.1 ms
without a meter), on two cores with a load of 7, where times say little. The meter's processor time, which says more,
was 2.9 against 1.9 ms a request. A stream of 100 MB took about the same, and no more memory.
"""

from swetrials.wire.meter.block import requests_block
from swetrials.wire.meter.canary import CANARY_PATH
from swetrials.wire.meter.listening import open_meters
from swetrials.wire.meter.meter import Meter, metered
from swetrials.wire.meter.registry_way import RegistryWay, registry_way
from swetrials.wire.meter.signing import CannotSign

__all__ = [
    "CANARY_PATH",
    "CannotSign",
    "Meter",
    "RegistryWay",
    "metered",
    "open_meters",
    "registry_way",
    "requests_block",
]
