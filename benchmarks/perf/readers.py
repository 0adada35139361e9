"""What reading an agent's stream costs: a gigabyte, beside a loop that does nothing but parse each line.

The streams are recorded ones over and over, each time with ids of their own, so that no response is a repetition.
"""

import multiprocessing
import multiprocessing.connection
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import orjson
import psutil
from figures import Figure
from processes import forget_peak, peak_megabytes, processor_seconds

from swetrials.agents import AGENTS
from swetrials.agents.events import Tally

STREAM_BYTES = 1_000_000_000
ROUNDS = 2
CHUNK_BYTES = 1 << 20
MOST_SECONDS = STREAM_BYTES / 150e6
"""Of one processor: 150 MB/s."""

MOST_RATIO = 1.6
MOST_MEGABYTES = 80.0

RECORDED = Path(__file__).parents[1] / "tests" / "conformance"
STREAMS = {"claude": "partial"}
"""Of the others the stream is called ``ok``."""

OUTPUT = rb"  File \"src/package/module.py\", line 42, in function_name\n" * 500
"""Some 30 kB, as of a test run or a file that was read: these make a stream of a gigabyte, not the number of turns."""

SAID = (
    rb"I have read the module and its tests. The function decides too late, so I move the check before the loop. " * 4
)

LIFELIKE = {
    b'"made_by_bash_0.txt"': b'"%s"' % OUTPUT,
    rb'"def f():\n    return 1\n': b'"%s' % OUTPUT,
    rb'"AGENTS.md\nx.py\n"': b'"%s"' % OUTPUT,
    rb'"x.py\n': b'"%s' % OUTPUT,
    b'"I will use a tool."': b'"%s"' % SAID,
    b'"I read."': b'"%s"' % SAID,
    b'"I will read the code."': b'"%s"' % SAID,
    b'"Two at once."': b'"%s"' % SAID,
    b'"Now the change."': b'"%s"' % SAID,
}
"""What tools print and agents say in a rehearsal is a word or two: here it has the length that it has in earnest."""

_ID = re.compile(rb"(?:msg|toolu_call|prt|item|call)_[0-9A-Za-z]{8,}")


def measure() -> list[Figure]:
    """Read a gigabyte of each agent's stream."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for agent in AGENTS:
            file = Path(folder) / f"{agent}.jsonl"
            _write(file, agent)
            parsed, read = _best(parse, file, agent), _best(consume, file, agent)
            file.unlink()
            figures += [
                Figure(f"{agent}: 1 GB, processor time", "s", parsed[0], read[0], read[0], "s", MOST_SECONDS),
                Figure(f"{agent}: to parsing alone", "s", parsed[0], read[0], read[0] / parsed[0], "x", MOST_RATIO),
                Figure(f"{agent}: peak memory", "MB", parsed[1], read[1], read[1], "MB", MOST_MEGABYTES),
            ]
    return figures


def parse(file: Path, agent: str) -> None:
    """Do the least that any reader has to do."""
    with file.open("rb") as stream:
        for line in stream:
            orjson.loads(line)


def consume(file: Path, agent: str) -> None:
    """Read a stream as a trial does."""
    reader, tally = AGENTS[agent].reader(), Tally()
    with file.open("rb") as stream:
        while data := stream.read(CHUNK_BYTES):
            tally.add(reader.feed(data))
    tally.add(reader.finish())
    assert tally.end is not None


def _write(file: Path, agent: str) -> None:
    *body, end = (RECORDED / agent / f"{STREAMS.get(agent, 'ok')}.jsonl").read_bytes().splitlines(keepends=True)
    once = b"".join(body)
    for short, lifelike in LIFELIKE.items():
        once = once.replace(short, lifelike)
    with file.open("wb") as stream:
        for again in _again(once):
            stream.write(again)
            if stream.tell() > STREAM_BYTES:
                break
        stream.write(end)


def _again(once: bytes) -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        yield _ID.sub(partial(_renumbered, b"%08d" % number), once)


def _renumbered(number: bytes, found: re.Match[bytes]) -> bytes:
    return found[0][: -len(number)] + number


def _best(work: Callable[[Path, str], None], file: Path, agent: str) -> tuple[float, float]:
    """Return processor seconds and peak megabytes of the best of some runs, each in a process of its own."""
    runs = []
    for _ in range(ROUNDS):
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(target=_run, args=(there, work, file, agent))
        process.start()
        runs.append(here.recv())
        process.join()
    return min(run[0] for run in runs), min(run[1] for run in runs)


def _run(
    there: multiprocessing.connection.Connection, work: Callable[[Path, str], None], file: Path, agent: str
) -> None:
    process = psutil.Process()
    forget_peak(process)
    began = processor_seconds(process)
    work(file, agent)
    there.send((processor_seconds(process) - began, peak_megabytes(process)))
