"""The Test Anything Protocol: ``1..N`` and a line for each test (https://testanything.org/tap-version-14-specification.html)."""

import re

from swetrials.judging.runner_reports.states import ReportFault, States, lines

_PLAN = re.compile(r"1\.\.(\d{1,9})\b")
_POINT = re.compile(r"(not )?ok\b(?: +(\d{1,9}))?(?: *-)? *(.*)")
_DIRECTIVE = re.compile(r"(?<!\\)# *(skip|todo)\b", re.IGNORECASE)


def read_tap(data: bytes, root: str, into: States) -> None:
    """Note the state of each test as ``number name``; what is indented belongs to the test that follows it.

    Raises:
        ReportFault: it has no plan or another one than it tells, or the tests were given up.
    """
    plan: int | None = None
    told: set[int] = set()
    for line in lines(data):
        raw = line.decode(errors="replace")
        if raw.startswith("Bail out!"):
            raise ReportFault(f"says {raw[:200]}")
        if match := _PLAN.match(raw):
            if plan is not None:
                raise ReportFault("has two plans")
            plan = int(match[1])
        elif match := _POINT.match(raw):
            number = int(match[2]) if match[2] else len(told) + 1
            directive = _DIRECTIVE.search(match[3])
            name = match[3][: directive.start()] if directive else match[3]
            told.add(number)
            into.add(f"{number} {name.strip()}", "skipped" if directive else "failed" if match[1] else "passed")
    if plan is None:
        raise ReportFault("is no TAP to its end: it has no plan (1..N)")
    if len(told) != plan or any(not 1 <= number <= plan for number in told):
        raise ReportFault(f"plans {plan} tests and tells of {len(told)}")
