"""The summary that a runner prints last, as a check of its report."""

import re

from swetrials.judging.runner_reports.states import States
from swetrials.records.dataset import ReportFormat

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_UNITTEST = re.compile(r"^Ran (\d{1,9}) tests? in [0-9.]+s$", re.MULTILINE)
_PYTEST = re.compile(r"^=*\s*(\d+ [a-z]+(?:, \d+ [a-z ]+)*) in [0-9.]+s(?: \([0-9:, a-z]+\))?\s*=*$", re.MULTILINE)
_COUNT = re.compile(r"(\d{1,9}) ([a-z]+)")


def printed_fault(form: ReportFormat, output: str, told: States) -> str:
    """Return how the last summary in an output contradicts a report, as what follows "the report"; else nothing.

    Nothing printed is no contradiction: a project's options can silence its runner.
    """
    plain = _COLOUR.sub("", output)
    if form == "unittest" and (ran := _UNITTEST.findall(plain)) and int(ran[-1]) > told.told.total():
        return f"tells of {told.told.total()} tests, and the runner has printed {ran[-1]}"
    if form == "junit" and (summaries := _PYTEST.findall(plain)):
        return _pytest_fault({what: int(number) for number, what in _COUNT.findall(summaries[-1])}, told)
    return ""


def _pytest_fault(printed: dict[str, int], told: States) -> str:
    bad = sum(printed.get(what, 0) for what in ("failed", "error", "errors"))
    told_bad = told.told["failed"] + told.told["error"]
    if bool(bad) != bool(told_bad):
        return f"tells of {told_bad} tests that failed, and the runner has printed {bad}"
    passed = printed.get("passed", 0) + printed.get("xpassed", 0)
    # Of a test that passed and whose teardown broke pytest prints both.
    if not told.told["passed"] <= passed <= told.told["passed"] + told.told["error"]:
        return f"tells of {told.told['passed']} tests that passed, and the runner has printed {passed}"
    return ""
