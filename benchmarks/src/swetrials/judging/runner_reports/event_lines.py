"""The lines that our own reporters write: one for each test, and one when a run has ended.

``{"id": ..., "state": ...}`` is a test, ``{"file": ..., "names": [...], "state": ...}`` one of Node's, and
``{"ran": n}`` says how many tests the runner itself has counted.
"""

import msgspec

from swetrials.judging.runner_reports.states import ReportFault, States, below, lines
from swetrials.records.verification import TestState


class _Line(msgspec.Struct):
    id: str | None = None
    file: str | None = None
    names: list[str] = []
    state: TestState | None = None
    counts: bool = True
    ran: int | None = None


def read_lines(data: bytes, root: str, into: States) -> None:
    """Note the state of each test, and hold the runner's own count against them.

    Raises:
        ReportFault: a line is something else, no run has ended, or one counted something else than was told.
    """
    told, ran = 0, None
    for line in lines(data):
        try:
            event = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ReportFault(f"is not that of the harness's own reporter: {error}") from None
        if event.ran is not None:
            ran = (ran or 0) + event.ran
        elif event.state is not None and (event.id or event.file):
            told += event.counts
            into.add(event.id or " > ".join((below(root, event.file or ""), *event.names)), event.state)
    if ran is None:
        raise ReportFault("is half written: the run has not ended")
    if ran != told:
        raise ReportFault(f"tells of {told} tests, and the runner has counted {ran}")
