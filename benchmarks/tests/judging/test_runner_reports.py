"""Reading reports: each format's ids and states, and reports that nobody should believe."""

import json
import tracemalloc
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.judging.runner_reports.event_lines import read_lines
from swetrials.judging.runner_reports.go_json import read_go
from swetrials.judging.runner_reports.jest_json import read_jest
from swetrials.judging.runner_reports.junit_xml import read_junit
from swetrials.judging.runner_reports.printed import printed_fault
from swetrials.judging.runner_reports.states import MOST_OF_A_LINE, ReportFault, States
from swetrials.judging.runner_reports.tap import read_tap

Reader = Callable[[bytes, str, States], None]
READERS: Mapping[str, Reader] = {
    "junit": read_junit, "jest": read_jest, "go": read_go, "tap": read_tap, "lines": read_lines,
}  # fmt: skip
ROOT = "/workspace/mine"


def suite(cases: str, **counts: int) -> bytes:
    told = " ".join(f'{name}="{number}"' for name, number in counts.items())
    return f'<testsuites><testsuite name="pytest" {told}>{cases}</testsuite></testsuites>'.encode()


def case(classname: str, name: str, file: str = "", inside: str = "") -> str:
    at = f' file="{file}" line="1"' if file else ""
    return f'<testcase classname="{classname}" name="{name}"{at}>{inside}</testcase>'


JUNIT = suite(
    case("", "tests.test_broken", "tests/test_broken.py", '<error message="collection failure">Import</error>')
    + case("tests.test_a", "test_ok", "tests/test_a.py")
    + case("tests.test_a", "test_p[a/b::c.d]", "tests/test_a.py")
    + case("tests.test_a.TestC.TestD", "test_in", "tests/test_a.py", '<failure message="assert">x</failure>')
    + case("tests.test_a.TestE", "test_inherited", "tests/base.py")
    + case("tests.lone.TestF", "test_inherited", "tests/base.py", '<skipped type="pytest.xfail"/>')
    + case("com.example.CalcTest", "adds")
    + case("", "bare", "", "<system-out>ok</system-out>"),
    tests=8, failures=1, errors=1, skipped=1,
)  # fmt: skip


def jest_case(suites: list[str], title: str, status: str) -> dict[str, object]:
    return {"ancestorTitles": suites, "title": title, "status": status, "duration": 1, "failureMessages": []}


def jest_report(**changes: object) -> bytes:
    cases = [
        jest_case(["suite", "inner"], "works", "passed"),
        jest_case([], "breaks", "failed"),
        jest_case(["suite"], "later", "pending"),
        jest_case(["suite"], "some day", "todo"),
    ]
    files = [
        {"name": f"{ROOT}/src/a.test.js", "status": "failed", "message": "", "assertionResults": cases},
        {"name": f"{ROOT}/src/b.test.js", "status": "failed", "message": "Syntax", "assertionResults": []},
    ]
    counts = {"numTotalTests": 4, "numPassedTests": 1, "numFailedTests": 1, "numPendingTests": 1, "success": False}
    return json.dumps({**counts, "testResults": files, **changes}).encode()


def go(*events: tuple[str, str, str]) -> bytes:
    given = ({"Action": action, "Package": package, "Test": test, "Elapsed": 0} for action, package, test in events)
    return b"".join(json.dumps({k: v for k, v in one.items() if v != ""}).encode() + b"\n" for one in given)


GO = b"# example.com/calc/broken\nbroken.go:3: undefined: x\n" + go(
    ("start", "example.com/calc", ""),
    ("run", "example.com/calc", "TestAdd"),
    ("run", "example.com/calc", "TestAdd/one two"),
    ("output", "example.com/calc", "TestAdd"),
    ("pass", "example.com/calc", "TestAdd/one two"),
    ("pass", "example.com/calc", "TestAdd"),
    ("run", "example.com/calc", "TestSub"),
    ("fail", "example.com/calc", "TestSub"),
    ("skip", "example.com/calc", "TestLater"),
    ("run", "example.com/calc", "TestPanics"),
    ("fail", "example.com/calc", ""),
    ("fail", "example.com/calc/broken", ""),
)
TAP = b"""TAP version 13
# groups
ok 1 - adds
not ok 2 subtracts # of numbers
  ---
  at: calc.js
  ...
ok 3 divides # SKIP no floats
not ok 4 - multiplies # TODO
    ok 1 - an inner one
    1..1
ok 5
1..5
# pass 3
"""
LINES = b"""{"id": "tests.test_a.A.test_b", "state": "passed"}
{"file": "/workspace/mine/test/a.test.js", "names": ["suite", "test"], "state": "failed"}
{"file": "/workspace/mine/test/b.test.js", "names": [], "state": "error"}
{"id": "setUpClass (tests.test_a.B)", "state": "error", "counts": false}
{"ran": 2}
{"ran": 1}
"""
SOUND = {"junit": JUNIT, "jest": jest_report(), "go": GO, "tap": TAP, "lines": LINES}


def told(format_: str, data: bytes) -> dict[str, str]:
    states = States()
    READERS[format_](data, ROOT, states)
    return dict(states.by_id)


def fault(format_: str, data: bytes) -> str:
    with pytest.raises(ReportFault) as caught:
        READERS[format_](data, ROOT, States())
    return str(caught.value)


def test_each_format_tells_ids_as_its_runner_prints_them() -> None:
    assert told("junit", JUNIT) == {
        "tests/test_broken.py": "error",
        "tests/test_a.py::test_ok": "passed",
        "tests/test_a.py::test_p[a/b::c.d]": "passed",
        "tests/test_a.py::TestC::TestD::test_in": "failed",
        "tests/test_a.py::TestE::test_inherited": "passed",
        "tests/lone.py::TestF::test_inherited": "skipped",
        "com.example.CalcTest > adds": "passed",
        "bare": "passed",
    }
    assert told("jest", jest_report()) == {
        "src/a.test.js > suite > inner > works": "passed",
        "src/a.test.js > breaks": "failed",
        "src/a.test.js > suite > later": "skipped",
        "src/a.test.js > suite > some day": "skipped",
        "src/b.test.js": "error",
    }
    assert told("go", GO) == {
        "example.com/calc/TestAdd": "passed",
        "example.com/calc/TestAdd/one two": "passed",
        "example.com/calc/TestSub": "failed",
        "example.com/calc/TestLater": "skipped",
        "example.com/calc/TestPanics": "error",
        "example.com/calc/broken": "error",
    }
    assert told("tap", TAP) == {
        "1 adds": "passed",
        "2 subtracts # of numbers": "failed",
        "3 divides": "skipped",
        "4 multiplies": "skipped",
        "5": "passed",
    }
    assert told("lines", LINES) == {
        "tests.test_a.A.test_b": "passed",
        "test/a.test.js > suite > test": "failed",
        "test/b.test.js": "error",
        "setUpClass (tests.test_a.B)": "error",
    }


@pytest.mark.parametrize("format_", READERS)
def test_a_report_of_another_runner_is_not_believed(format_: str) -> None:
    others = [data for other, data in SOUND.items() if other != format_]
    for data in (*others, b"", b"\n", b"no report\n", b"\0" * 100, b"\xff\xfe<\0", b"[" * 100_000, b"{}\n", b"null\n"):
        assert fault(format_, data)


@pytest.mark.parametrize("format_", READERS)
def test_a_report_that_is_cut_anywhere_is_not_believed(format_: str) -> None:
    whole = SOUND[format_].rstrip(b"\n")
    last = whole.rindex(b"\n1..5") if format_ == "tap" else len(whole) - 1
    for end in range(0, last, 7):
        assert fault(format_, whole[:end])


@given(st.sampled_from(sorted(READERS)), st.binary(max_size=300), st.integers(0, 2000))
def test_no_bytes_crash_a_reader(format_: str, noise: bytes, at: int) -> None:
    sound = SOUND[format_]
    for data in (noise, sound[:at] + noise + sound[at:]):
        try:
            READERS[format_](data, ROOT, States())
        except ReportFault as found:
            assert str(found)


BOMB = b"""<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<testsuites><testsuite><testcase classname="a" name="&b;"/></testsuite></testsuites>"""
OUTSIDE = b"""<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuites/>"""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (BOMB, "document type"),
        (OUTSIDE, "document type"),
        (b"<testsuites>" + b"<a>" * 100_000, "deeper"),
        pytest.param(b"<testsuites>" + b"<a/>" * 3_100_000, "more", marks=pytest.mark.slow),
        (b"<html><body/></html>", "begins with <html>"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuites/>', "no XML"),
        (suite(case("a", "b"), tests=1, failures=1), "counts 1 failures and tells of 0"),
        (suite(case("a", "b"), tests=0), "counts 0 tests and tells of 1"),
        (suite(case("a", "b", "", "<error/>"), errors=0), "counts 0 errors and tells of 1"),
        (suite(case("a", "b"), tests=-1), "counts '-1' tests"),
        (JUNIT + b"<testsuites/>", "no XML to its end"),
    ],
)
def test_hostile_xml_is_refused_with_a_reason_and_little_memory(data: bytes, why: str) -> None:
    tracemalloc.start()
    assert why in fault("junit", data)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("format_", "data", "why"),
    [
        ("jest", jest_report(numPassedTests=2), "counts 2 passed tests and tells of 1"),
        ("go", GO.replace(b'{"Action": "fail", "Package": "example.com/calc", "Elapsed": 0}\n', b""), "has no end"),
        ("tap", TAP.replace(b"1..5", b"1..6"), "plans 6 tests and tells of 5"),
        ("tap", TAP + b"1..5\n", "two plans"),
        ("tap", TAP + b"Bail out! no database\n", "no database"),
        ("lines", LINES.replace(b'"ran": 2', b'"ran": 3'), "tells of 3 tests, and the runner has counted 4"),
        ("lines", LINES.replace(b'{"ran": 2}\n{"ran": 1}\n', b""), "has not ended"),
        ("lines", b"x" * (MOST_OF_A_LINE + 1) + b"\n", "a line of more than"),
    ],
)
def test_counts_that_differ_and_runs_without_end_are_not_believed(format_: str, data: bytes, why: str) -> None:
    assert why in fault(format_, data)


def test_ids_are_printable_and_short_whatever_a_report_calls_them() -> None:
    (name,) = told("junit", suite(case("a", "b&#10;" + "x" * 5000)))
    assert name.startswith("a > b") and len(name) == 1000
    states = States()
    states.add("--rm -rf /; \x1b[31m", "passed")
    states.add("--rm -rf /; \x1b[31m", "failed")
    assert states.by_id == {"--rm -rf /; \\x1b[31m": "failed"}
    assert states.differing == set(states.by_id)


@pytest.mark.parametrize(
    ("output", "passed", "failed", "contradicts"),
    [
        ("....\n\x1b[32m4 passed\x1b[0m in 0.12s\n", 4, 0, False),
        ("== 2 failed, 3 passed, 1 warning, 5 subtests passed in 61.00s (0:01:01) ==\n", 3, 2, False),
        ("4 passed in 0.12s\n2 passed in 0.12s\n", 2, 0, False),
        ("== 1 failed, 1 passed in 0.12s ==\nmake: *** [test] Error 1\n", 2, 0, True),
        ("2 passed in 0.12s\n", 1, 0, True),
        ("1 passed in 0.12s\n", 2, 0, True),
        ("all is well\n", 2, 0, False),
    ],
)
def test_what_pytest_prints_is_held_against_its_report(
    output: str, passed: int, failed: int, contradicts: bool
) -> None:
    states = States()
    for number in range(passed + failed):
        states.add(f"test_{number}", "passed" if number < passed else "failed")
    assert bool(printed_fault("junit", output, states)) is contradicts
    assert not printed_fault("tap", output, states)
