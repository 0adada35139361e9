"""JUnit XML, as pytest writes it (``junit_family=xunit1``, which alone names the file) and most other runners.

Read with expat alone, which makes no tree of it. A document type is refused, and so are all entities that explode or
lead elsewhere: they can be declared nowhere else (XML 1.0, 4.2). junitparser reads the whole tree, with entities.
The whole text goes to expat at once: before 2.6 it scanned a long token from its start again for each further piece.
"""

from collections import Counter
from collections.abc import Mapping
from xml.parsers import expat

from swetrials.judging.runner_reports.states import ReportFault, States, worse
from swetrials.records.verification import TestState

_DEEPEST = 50
_MOST_ELEMENTS = 3_000_000
_STATE_OF: Mapping[str, TestState] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_ATTRIBUTE_OF = {"failure": "failures", "error": "errors", "skipped": "skipped"}
_PYTEST_FILE = ".py"


def read_junit(data: bytes, root: str, into: States) -> None:
    """Note the state of each test case, and hold the counts of the suites against them.

    Args:
        data: the report.
        root: not used: no JUnit report names a file by where it lies.
        into: where states are noted.

    Raises:
        ReportFault: it is no JUnit XML, is cut, or counts something else than it tells.
    """
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        cut = reading.counted["testcase"] or reading.depth
        raise ReportFault(f"is no XML{' to its end' if cut else ''}: {error}") from None
    except (ValueError, LookupError) as error:
        raise ReportFault(f"is no XML: {error}") from None
    finally:
        reading.note(into)
    reading.check_counts()


def _refuse_doctype(*_: object) -> None:
    raise ReportFault("has a document type, which no runner writes")


class _Reading:
    """One report on its way through expat."""

    def __init__(self) -> None:
        self.depth = 0
        self.counted: Counter[str] = Counter()
        self._elements = 0
        self._told: Counter[str] = Counter()
        self._untold: set[str] = set()
        self._marks: Counter[str] = Counter()
        self._suites = 0
        self._case: dict[str, str] | None = None
        self._case_depth = 0
        self._found: Counter[str] = Counter()
        self._cases: list[tuple[str, str, str, TestState]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self._elements += 1
        if self.depth > _DEEPEST or self._elements > _MOST_ELEMENTS:
            raise ReportFault("has more or deeper elements than any runner writes")
        if self.depth == 1 and name not in {"testsuites", "testsuite"}:
            raise ReportFault(f"is no JUnit XML: it begins with <{name[:40]}>")
        if name == "testsuite":
            self._suites += 1
            if self._suites == 1:
                self._tell(attributes)
        elif name == "testcase" and self._case is None:
            self._case, self._case_depth, self._found = attributes, self.depth, Counter()
        elif name in _STATE_OF and self._case is not None and self.depth == self._case_depth + 1:
            self._found[name] += 1

    def end(self, name: str) -> None:
        if name == "testsuite":
            self._suites -= 1
        elif name == "testcase" and self._case is not None and self.depth == self._case_depth:
            state: TestState = "passed"
            for mark in self._found:
                state = worse(state, _STATE_OF[mark])
                self.counted[mark] += 1
            self.counted["testcase"] += 1
            self._marks += self._found
            case, self._case = self._case, None
            self._cases.append((case.get("file", ""), case.get("classname", ""), case.get("name", ""), state))
        self.depth -= 1

    def _tell(self, attributes: dict[str, str]) -> None:
        for attribute in ("tests", *_ATTRIBUTE_OF.values()):
            number = attributes.get(attribute)
            if number is None:
                self._untold.add(attribute)
            elif number.isascii() and number.isdecimal() and len(number) < 10:
                self._told[attribute] += int(number)
            else:
                raise ReportFault(f"counts {number[:40]!r} {attribute}")

    def note(self, into: States) -> None:
        """Note what was read, under the runner's own ids."""
        modules = {_module(file) for file, *_ in self._cases if file.endswith(_PYTEST_FILE)}
        for file, classname, name, state in self._cases:
            if file.endswith(_PYTEST_FILE):
                into.add(_node_id(file, classname, name, modules), state)
            else:
                into.add(" > ".join(part for part in (classname, name) if part), state)

    def check_counts(self) -> None:
        """Hold the suites' own counts against what was told.

        A test may have several failures, which some runners count and others do not; pytest counts the subtests and the
        teardown of a test as tests.
        """
        for mark, attribute in _ATTRIBUTE_OF.items():
            told = self._told[attribute]
            if attribute not in self._untold and not self.counted[mark] <= told <= self._marks[mark]:
                raise ReportFault(f"counts {told} {attribute} and tells of {self.counted[mark]}")
        if "tests" not in self._untold and self._told["tests"] < self.counted["testcase"]:
            raise ReportFault(f"counts {self._told['tests']} tests and tells of {self.counted['testcase']}")


def _module(file: str) -> str:
    return file.removesuffix(_PYTEST_FILE).replace("/", ".")


def _node_id(file: str, classname: str, name: str, modules: set[str]) -> str:
    """Return pytest's node id, whose path and classes pytest has joined with dots for ``classname``.

    ``file`` is where the test is written, which is another file where a class has inherited it.
    """
    module = _module(file)
    if not classname and name == module:
        return file  # a file that could not be collected
    if classname != module and not classname.startswith(f"{module}."):
        parts = classname.split(".")
        ways = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        by_case = ".".join(parts[: next((n for n, part in enumerate(parts) if part[:1].isupper()), len(parts))])
        module = next((way for way in ways if way in modules), by_case)
        file = module.replace(".", "/") + _PYTEST_FILE
    classes = [part for part in classname.removeprefix(module).split(".") if part]
    return "::".join((file, *classes, name))
