"""The lines of ``go test -json``: one event each, of a test or of its package (``go doc test2json``)."""

import msgspec

from swetrials.judging.runner_reports.states import ReportFault, States, lines
from swetrials.records.verification import TestState

_STATES: dict[str, TestState] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class _Event(msgspec.Struct):
    Action: str
    Package: str = ""
    Test: str = ""


def read_go(data: bytes, root: str, into: States) -> None:
    """Note the state of each test as ``package/Test/sub``.

    A test that began and did not end is an error, and so is a package that failed without a test that did. What is no
    JSON between the events is a compiler's.

    Raises:
        ReportFault: there is no event, one is no JSON, or a package has not ended.
    """
    begun: dict[str, str] = {}
    packages: dict[str, bool] = {}
    failed: set[str] = set()
    for line in lines(data):
        if not line.startswith(b"{"):
            continue
        try:
            event = msgspec.json.decode(line, type=_Event)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ReportFault(f"is not that of go test -json: {error}") from None
        if not event.Package:
            continue
        packages.setdefault(event.Package, False)
        name = f"{event.Package}/{event.Test}"
        state = _STATES.get(event.Action)
        if event.Test and event.Action == "run":
            begun[name] = event.Package
        elif event.Test and state:
            begun.pop(name, None)
            into.add(name, state)
            failed.update({event.Package} if state == "failed" else ())
        elif state:
            packages[event.Package] = True
            if state == "failed" and event.Package not in failed and event.Package not in begun.values():
                into.add(event.Package, "error")
    for name in begun:
        into.add(name, "error")
    if not packages:
        raise ReportFault("is not that of go test -json: it tells of no package")
    if unended := [package for package, ended in packages.items() if not ended]:
        raise ReportFault(f"is half written: {unended[0]} has no end")
