"""Notes what becomes of each test of unittest; every Python that has this folder on PYTHONPATH runs it at its start.

It has to run in any Python from 3.6 on that a repository is tested with, and to leave alone all programs that test
nothing: it waits for ``unittest.result`` to be imported. It runs in the tests' own process, which can forge what it
writes.
"""

import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

_MODULE = "unittest.result"
_VARIABLE = "SWETRIALS_REPORT"
_STATES = {
    "addSuccess": "passed",
    "addFailure": "failed",
    "addError": "error",
    "addSkip": "skipped",
    "addExpectedFailure": "skipped",
    "addUnexpectedSuccess": "failed",
}
_BEST_FIRST = ["passed", "skipped", "missing", "failed", "error"]


class _Notes:
    """What a process writes: of the result that begins first, and of none that a test makes for itself meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.owner: Any = None
        self.test: Any = None
        self.states: list[str] = []

    def begin(self, result: Any, test: Any) -> None:  # noqa: ANN401 - whatever a suite is made of
        os.environ.pop(_VARIABLE, None)  # a program that a test starts has no report of its own
        if self.owner is None:
            self.owner, self.test, self.states = result, test, []

    def note(self, result: Any, test: Any, state: str) -> None:  # noqa: ANN401
        if self.owner is result:
            self.states.append(state)
        elif self.owner is None and state in ("failed", "error"):
            # What is set up for a class or a module; it is counted as no test.
            self.write({"id": test.id(), "state": state, "counts": False})

    def end(self, result: Any) -> None:  # noqa: ANN401
        if self.owner is result:
            state = max(self.states or ["missing"], key=_BEST_FIRST.index)
            self.write({"id": self.test.id(), "state": state})
            self.owner = None

    def end_run(self, result: Any) -> None:  # noqa: ANN401
        if self.owner is None:
            self.write({"ran": result.testsRun})

    def write(self, line: "dict[str, Any]") -> None:
        place = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(place, json.dumps(line).encode("ascii") + b"\n")
        finally:
            os.close(place)


def _watch(result: "type[Any]", notes: _Notes) -> None:
    """Have a class of results tell what it is told."""

    def replace(name: str, after: Any) -> None:  # noqa: ANN401
        original = getattr(result, name)

        def replaced(self: Any, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            after(self, *arguments)
            return original(self, *arguments, **named)

        setattr(result, name, replaced)

    def subtest(self: Any, test: Any, subtest: Any, error: Any = None) -> None:  # noqa: ANN401
        if error is not None:
            notes.note(self, test, "failed" if issubclass(error[0], test.failureException) else "error")

    for name, state in _STATES.items():
        replace(name, lambda self, test, *_, state=state: notes.note(self, test, state))
    replace("addSubTest", subtest)
    replace("startTest", notes.begin)
    replace("stopTest", lambda self, *_: notes.end(self))
    replace("stopTestRun", lambda self: notes.end_run(self))


class _Waiting:
    """Finds ``unittest.result`` as it would be found, and watches it once it is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> "ModuleSpec | None":  # noqa: ANN401
        if name != _MODULE:
            return None
        found = PathFinder.find_spec(name, path)
        if found is None or found.loader is None:
            return None
        loader: Any = found.loader
        load = loader.exec_module

        def load_and_watch(module: Any) -> None:  # noqa: ANN401
            load(module)
            report = os.environ.get(_VARIABLE)
            if report:
                _watch(module.TestResult, _Notes(report))

        loader.exec_module = load_and_watch
        return found


def _run_the_next() -> None:
    """Run the ``sitecustomize`` that this one stands in front of."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - started with every Python
    others = [folder for folder in sys.path if os.path.abspath(folder) != here]  # noqa: PTH100
    found = PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if __name__ == "sitecustomize":
    if os.environ.get(_VARIABLE):
        sys.meta_path.insert(0, _Waiting())
    _run_the_next()
