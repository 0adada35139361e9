"""The battery of escapes: every way out is open in a world that the test made, and closed to an attempt in it."""

import os
import secrets
import shlex
from pathlib import Path
from typing import Any

import anyio
import pytest

import swetrials
from environments.escape_world import SOCKETS, Told, told_by
from environments.preparing import Bench, commit, held
from swetrials.environments.bubblewrap import Bubblewrap, probe
from swetrials.environments.sealing import SEALED_PORT

ORDINARY = 60_123
"""A user who is nobody else here."""
WAYS = ("given up", pytest.param("renamed", marks=pytest.mark.slow), "ordinary") if os.geteuid() == 0 else ("ordinary",)
"""Who the harness is: root that is given up inside or called by another number, or an ordinary user."""

ESCAPES = (
    "a service on the host's loopback",
    "a service on the host's loopback, by IPv6",
    "a private address",
    "a link-local address",
    "an address of the world",
    "an address of the world, by IPv6",
    "a name server, by UDP",
    "a name server, by TCP",
    "a name",
    "a raw socket",
    "a socket of packets",
    "an abstract socket",
    "vsock",
    "io_uring",
    "userfaultfd",
    "what other processes are told",
    *(f"the socket {path}" for path in SOCKETS.values()),
    "another trial's meter",
    "the dataset's answers",
    "the dataset's answers, through /proc",
    "the harness's own files",
    "git fetch",
    "git fetch, by address",
    "pip download",
    "npm view",
    "a setuid program",
    "new privileges",
    "the harness, traced",
    "the harness, signalled",
    "a key of the session",
    "namespaces in the sandbox",
    "writing beside the checkout",
)

OWN_ROUTE = "the own route"

OF_ROOT = frozenset({"a raw socket", "a socket of packets", "a setuid program"})
"""Open to root alone, or made by it."""
NOT_EVERYWHERE = frozenset({"vsock", "io_uring", "userfaultfd", "pip download", "npm view", "a key of the session"})
"""Ways that some kernels and machines do not have."""


def told(way: str) -> Told:
    sources = os.pathsep.join(str(Path(str(module.__file__)).parents[1]) for module in (swetrials, anyio))
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"}
    user: dict[str, Any] = {}
    if way == "ordinary" and os.geteuid() == 0:
        user = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []}
    told = told_by(way, {**variables, "MARKER": secrets.token_hex(8), "HOME": "/nonexistent"}, user)
    if told is None:
        pytest.skip("no network and no mounts of its own can be made here")
    return told


@pytest.mark.parametrize("way", WAYS)
def test_every_escape_is_stopped(way: str) -> None:
    found = told(way)
    assert {*found.inside} == {*found.outside} == {*ESCAPES, OWN_ROUTE}
    assert {name: got for name, got in found.inside.items() if got} == {OWN_ROUTE: f"127.0.0.1 {SEALED_PORT}"}
    assert found.sealing == "proven"
    never_open = {name for name, got in found.outside.items() if not got}
    assert never_open <= {OWN_ROUTE} | NOT_EVERYWHERE | (OF_ROOT if way == "ordinary" else set()), "these prove nothing"


ATTACK = """
exec 2> /dev/null
cd deps; chmod -R a+w .; echo evil > one; rm two; echo evil > more; mv a b; ln one hard; touch -d @0 .
for way in /proc/[0-9]*/root /proc/[0-9]*/cwd /proc/self/fd/*; do
    for place in "$way/$0" "$way/../$0" "$way/../../$0" "$0"; do echo evil > "$place/one"; rm -rf "$place/a"; done
done
mount -o remount,rw "$0"
unshare -Urm sh -c 'umount -l "$PWD"; umount -l /tmp; for at in . "$0"; do echo evil > $at/one; rm -rf $at/a; done' "$0"
echo attacked; cat one
"""


@pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here")
def test_what_an_attempt_does_to_a_preparation_is_seen_by_no_later_one(tmp_path: Path) -> None:
    bench = Bench.at(tmp_path)
    head = commit(bench.repo, {"README": "hello\n"})
    setup = "mkdir -p deps/a; echo one > deps/one; echo two > deps/two; echo three > deps/a/three"
    source = bench.source(head, setup=[["sh", "-c", setup]])
    script = "find deps -type f | sort | xargs cat; stat -c %a deps/one"
    first, said, _ = held(bench, source, script)
    assert said.split() == ["three", "one", "two", "644"]
    assert first.stored is not None
    place = first.stored.folder / "checkout" / "deps"
    assert (place / "one").read_text() == "one\n"
    _, attacked, _ = held(bench, source, f"sh -c {shlex.quote(ATTACK)} {place}")
    assert attacked.split() == ["attacked", "evil"]
    second, again, _ = held(bench, source, script)
    assert (again, second.new) == (said, False)
