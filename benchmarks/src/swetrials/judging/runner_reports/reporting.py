"""Having a runner report: its reporter, which the harness adds, and a fresh folder for what each command writes."""

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path

from swetrials.environments.base import View
from swetrials.judging.runner_reports.event_lines import read_lines
from swetrials.judging.runner_reports.go_json import read_go
from swetrials.judging.runner_reports.jest_json import read_jest
from swetrials.judging.runner_reports.junit_xml import read_junit
from swetrials.judging.runner_reports.printed import printed_fault
from swetrials.judging.runner_reports.states import MOST_BYTES, ReportFault, States
from swetrials.judging.runner_reports.tap import read_tap
from swetrials.records.dataset import ReportFormat
from swetrials.workspace.safe_read import open_left

REPORT_VARIABLE = "SWETRIALS_REPORT"
"""Names the file that a command writes its report to, where the harness has no reporter for its runner."""

_REPORT = "report"
_PYTEST, _JEST, _VITEST, _MOCHA = "pytest.xml", "jest.json", "vitest.json", "mocha.xml"

_Reader = Callable[[bytes, str, States], None]
_Variables = Callable[[str, str, Mapping[str, str]], dict[str, str]]
# From the folder for reports, that of the reporters, and the variables there are.


def _nothing(reports: str, reporters: str, given: Mapping[str, str]) -> dict[str, str]:
    return {}


def _junit(reports: str, reporters: str, given: Mapping[str, str]) -> dict[str, str]:
    # Without --continue-on-collection-errors one broken file stops all others; xunit1 alone names the file.
    pytest = f"--junitxml={reports}/{_PYTEST} -o junit_family=xunit1 --continue-on-collection-errors"
    node = f"--require={reporters}/node_arguments.cjs"
    return {
        "PYTEST_ADDOPTS": _joined(given, "PYTEST_ADDOPTS", pytest),
        "NODE_OPTIONS": _joined(given, "NODE_OPTIONS", node),
    }


def _unittest(reports: str, reporters: str, given: Mapping[str, str]) -> dict[str, str]:
    there = given.get("PYTHONPATH")
    return {"PYTHONPATH": f"{reporters}{os.pathsep}{there}" if there else reporters}


def _node_test(reports: str, reporters: str, given: Mapping[str, str]) -> dict[str, str]:
    ours = f"--test-reporter={reporters}/node_reporter.mjs --test-reporter-destination=stderr"
    seen = "--test-reporter=spec --test-reporter-destination=stdout"
    return {"NODE_OPTIONS": _joined(given, "NODE_OPTIONS", f"{ours} {seen}")}


def _joined(given: Mapping[str, str], name: str, options: str) -> str:
    return f"{given[name]} {options}" if given.get(name) else options


@dataclass(frozen=True)
class _Format:
    """How a format is asked for, and who reads each file that a command may leave."""

    readers: Mapping[str, _Reader]
    variables: _Variables = _nothing


_FORMATS: Mapping[ReportFormat, _Format] = {
    "junit": _Format(
        {_REPORT: read_junit, _PYTEST: read_junit, _JEST: read_jest, _VITEST: read_jest, _MOCHA: read_junit}, _junit
    ),
    "unittest": _Format({_REPORT: read_lines}, _unittest),
    "node-test": _Format({_REPORT: read_lines}, _node_test),
    "go-json": _Format({_REPORT: read_go}),
    "tap": _Format({_REPORT: read_tap}),
}


@dataclass
class Reporting:
    """The reports of a verification's commands, one after another.

    Attributes:
        form: what the task asks for; with ``exit-code`` there are no reports.
        view: what the commands see. Reports lie in its folder for temporary files, which the commands can write; the
            reporters in its folder for artifacts, which they can read.
        redact: masks secrets in what is kept.
        states: what was told so far.
        faults: why what was told cannot be believed, or is not all.
    """

    form: ReportFormat
    view: View
    redact: Callable[[str], str]
    states: States = field(default_factory=States)
    faults: list[str] = field(default_factory=list)
    _folder: str = ""

    def begin(self) -> dict[str, str]:
        """Make room for the next command's report, and return the variables that have it written.

        Raises:
            OSError: the disk is full, or broken.
        """
        if self.form == "exit-code":
            return {}
        self._folder = f"reports-{secrets.token_hex(8)}"
        with suppress(PermissionError, FileNotFoundError, FileExistsError, NotADirectoryError):
            # An earlier command can have done this to the folders. Then there is no report, which is told at the end.
            (self.view.outside.temporary / self._folder).mkdir(mode=0o700)
            self._hand_out_reporters()
        reports = str(self.view.inside.temporary / self._folder)
        asked = _FORMATS[self.form].variables(
            reports, str(self._reporters(self.view.inside.artifacts)), self.view.variables
        )
        return {**asked, REPORT_VARIABLE: f"{reports}/{_REPORT}"}

    def end(self, command: str, output: str) -> None:
        """Read what the command has left.

        Args:
            command: as a person knows it.
            output: the end of what it printed.
        """
        if self.form == "exit-code":
            return
        folder = self.view.outside.temporary / self._folder
        own, found = States(), False
        try:
            for name, reader in _FORMATS[self.form].readers.items():
                data = _content(folder, name)
                if data is not None:
                    found = True
                    reader(data, str(self.view.inside.checkout), own)
            if not found:
                raise ReportFault("was not written")
            if fault := printed_fault(self.form, output, own):
                raise ReportFault(fault)
        except ReportFault as fault:
            self.faults.append(self.redact(f"`{command}`: the report {fault}"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            for test_id, state in own.by_id.items():
                self.states.add(self.redact(test_id), state)
        except ReportFault as fault:
            self.faults.append(f"the reports together {fault}")
        self.states.differing.update(map(self.redact, own.differing))

    def _reporters(self, artifacts: Path) -> Path:
        return artifacts / "reporters"

    def _hand_out_reporters(self) -> None:
        """Copy the reporters to where the commands find them; whoever they run as may read them."""
        folder = self._reporters(self.view.outside.artifacts)
        if folder.exists():
            return
        with as_file(files(__package__) / "reporters") as source:
            folder.mkdir()
            for file in sorted(source.iterdir()):
                if file.suffix in {".py", ".mjs", ".cjs"} and file.name != "__init__.py":
                    shutil.copyfile(file, folder / file.name)
                    (folder / file.name).chmod(0o644)
        for place in (self.view.outside.artifacts, folder):
            place.chmod(0o755)


def _content(folder: Path, name: str) -> bytes | None:
    """Return what a command has left as its report; ``None``: it left none, or something that is no file."""
    file = open_left(folder, name)
    if file is None:
        with suppress(OSError):
            if (folder / name).is_symlink():
                raise ReportFault("is a link")
        return None
    with file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ReportFault(f"has more than {MOST_BYTES // 1_000_000} MB")
    return data
