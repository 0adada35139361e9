"""The states of tests as reports tell them, under limits, whoever has written the report."""

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from swetrials.records.dataset import MOST_OF_A_TEST_ID
from swetrials.records.verification import TestState

MOST_BYTES = 64_000_000
"""Of one report. A test takes some hundred bytes, its output apart."""

MOST_TESTS = 200_000
"""In all reports of a verification together."""

MOST_OF_A_LINE = 1_000_000
"""Bytes in a line of a report that is made of lines."""

_BEST_FIRST: tuple[TestState, ...] = ("passed", "skipped", "missing", "failed", "error")


class ReportFault(Exception):
    """A report cannot be believed; the message says why, as what follows "the report"."""


@dataclass
class States:
    """What became of each test; of one that is told twice the worse counts.

    Attributes:
        by_id: the state by the runner's own id.
        differing: ids that were told twice, with different states.
        told: how often each state was told.
    """

    by_id: dict[str, TestState] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)
    told: Counter[TestState] = field(default_factory=Counter)

    def add(self, test_id: str, state: TestState) -> None:
        """Note what became of a test.

        Raises:
            ReportFault: there are more tests than anybody has.
        """
        name = printable(test_id)
        self.told[state] += 1
        known = self.by_id.get(name)
        if known is None:
            if len(self.by_id) >= MOST_TESTS:
                raise ReportFault(f"tells of more than {MOST_TESTS:,} tests")
            self.by_id[name] = state
        elif known != state:
            self.differing.add(name)
            self.by_id[name] = worse(known, state)

    def without(self, ids: Set[str]) -> "States":
        """Return what is told of all tests but some."""
        if not ids:
            return self
        by_id = {one: state for one, state in self.by_id.items() if one not in ids}
        return States(by_id, self.differing - ids, self.told)


def worse(one: TestState, other: TestState) -> TestState:
    """Return the state that is further from passed."""
    return max(one, other, key=_BEST_FIRST.index)


def printable(test_id: str) -> str:
    """Return an id without control characters, and no longer than the id of a test may be."""
    cut = test_id[:MOST_OF_A_TEST_ID].strip()
    plain = cut if cut.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)
    return plain[:MOST_OF_A_TEST_ID]


def below(root: str, path: str) -> str:
    """Return a path relative to the checkout, whose own path is ``root``, where it lies in it."""
    return path.removeprefix(root.rstrip("/") + "/")


def lines(data: bytes) -> Iterator[bytes]:
    """Yield each line that says something, without its end.

    Raises:
        ReportFault: one is longer than any runner's, or the last one has no end.
    """
    if data and not data.endswith(b"\n"):
        raise ReportFault("is half written: its last line has no end")
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        if end - start > MOST_OF_A_LINE:
            raise ReportFault(f"has a line of more than {MOST_OF_A_LINE:,} bytes")
        if line := data[start:end].rstrip():
            yield line
        start = end + 1
