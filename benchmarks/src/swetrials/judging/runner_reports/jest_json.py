"""The JSON that jest writes with ``--json``, and vitest with its reporter ``json``, in the same form.

Fields: https://jestjs.io/docs/configuration#testresultsprocessor-string.
"""

from collections import Counter

import msgspec

from swetrials.judging.runner_reports.states import ReportFault, States, below
from swetrials.records.verification import TestState

_STATES: dict[str, TestState] = {
    "passed": "passed",
    "failed": "failed",
    "pending": "skipped",
    "skipped": "skipped",
    "todo": "skipped",
    "disabled": "skipped",
}


class _Case(msgspec.Struct):
    title: str
    status: str
    ancestorTitles: list[str]


class _File(msgspec.Struct):
    name: str
    status: str
    assertionResults: list[_Case]


class _Report(msgspec.Struct):
    numTotalTests: int
    numPassedTests: int
    numFailedTests: int
    testResults: list[_File]


def read_jest(data: bytes, root: str, into: States) -> None:
    """Note the state of each test as ``file > suite > test``, and hold the counts against them.

    A file that did not load has no tests: the file itself is an error.

    Raises:
        ReportFault: it is no such JSON, is cut, or counts something else than it tells.
    """
    try:
        report = msgspec.json.decode(data, type=_Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportFault(f"is not the JSON of jest or vitest: {error}") from None
    counted: Counter[str] = Counter()
    for file in report.testResults:
        name = below(root, file.name)
        for case in file.assertionResults:
            state = _STATES.get(case.status, "missing")
            counted[state] += 1
            into.add(" > ".join((name, *(part for part in case.ancestorTitles if part), case.title)), state)
        if file.status == "failed" and all(case.status != "failed" for case in file.assertionResults):
            into.add(name, "error")
    told = (report.numTotalTests, report.numPassedTests, report.numFailedTests)
    found = (counted.total(), counted["passed"], counted["failed"])
    for what, says, tells in zip(("tests", "passed tests", "failed tests"), told, found, strict=True):
        if says != tells:
            raise ReportFault(f"counts {says} {what} and tells of {tells}")
