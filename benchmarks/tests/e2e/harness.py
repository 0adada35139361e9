"""Running the real command as a person would: its own process, an empty HOME, the machine's certificates."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from swetrials.agents.install import find
from swetrials.agents.packages import PACKAGES
from swetrials.records.metrics import Metrics
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.project import find_project
from swetrials.store.results import TrialFolder, trial_folders

BENCHMARKS = Path(__file__).parents[2]
_PROGRAM = str(Path(sys.executable).with_name("swetrials"))
QUICKSTART = BENCHMARKS / "dataset" / "quickstart.yaml"
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def needs_agent(name: str) -> pytest.MarkDecorator:
    """Skip, saying why, where an agent CLI is not installed."""
    missing = find(PACKAGES[name], find_project().tools) is None
    return pytest.mark.skipif(missing, reason=f"{name} is not installed (swetrials agents install {name})")


@dataclass(frozen=True)
class Workplace:
    """A person's corner of the machine: home, results, working folder."""

    root: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    skill: str = "swe3"

    @property
    def home(self) -> Path:
        """The person's home."""
        return self.root / "home"

    @property
    def results(self) -> Path:
        """Root of the results tree."""
        return self.root / "results"

    @property
    def work(self) -> Path:
        """Mirrors, checkouts and homes of attempts."""
        return self.root / "work"

    @property
    def scope(self) -> Path:
        """Where the quickstart runs of Claude Code go."""
        return self.results / "rehearsal" / "claude-code" / self.skill / "quickstart"

    def environ(self) -> dict[str, str]:
        """Return the environment of a clean login."""
        self.home.mkdir(parents=True, exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", *_CERTIFICATES) if name in os.environ}
        return {**kept, "HOME": str(self.home), **self.environment}

    def words(self, *arguments: str | Path) -> list[str]:
        """Return the command line of ``swetrials`` with this place's folders."""
        command, *rest = map(str, arguments)
        folders = ["--output-dir", str(self.results), "--clone-dir", str(self.work)]
        return [
            _PROGRAM,
            command,
            *rest,
            *(folders if command != "judge" else []),
        ]

    def run(self, *arguments: str | Path, timeout_seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run ``swetrials`` to its end, with this place's folders."""
        return self._to_its_end(self.words(*arguments), timeout_seconds)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ``swetrials`` that takes no folders."""
        return self._to_its_end([_PROGRAM, *arguments], timeout_seconds=60)

    def _to_its_end(self, words: list[str], timeout_seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=BENCHMARKS,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )

    def trial(self, name: str) -> TrialFolder:
        """Return a quickstart trial's folder."""
        return TrialFolder(self.scope / name)

    def records(self) -> dict[str, Metrics]:
        """Return every record of the results tree by the name of its folder."""
        return {folder.path.name: folder.metrics() for folder in trial_folders(self.results)}


def check_witness(report: UsageReport | None, truth: Usage) -> None:
    """A whole report knows all four buckets, and nothing that is not so.

    How much of the output was reasoning, and how long cache writes are kept, not every dialect tells.
    """
    assert report is not None and report.completeness == "complete"
    told = report.usage.model_dump(exclude_none=True)
    assert {"fresh_input", "cache_read", "cache_write", "output"} <= set(told)
    assert told == {name: getattr(truth, name) for name in told}


def check_lower_bound(record: Metrics) -> None:
    """An attempt that was cut says so, and counts no less than what the server had sent by then.

    Of the prompts the meter knows no less than the agent; what was generated of a cut response, Claude Code
    estimates and no wire tells.
    """
    headline, served, metered, reported = (
        record.usage.headline, record.usage.served, record.usage.metered, record.usage.reported
    )  # fmt: skip
    assert served is not None and metered is not None and reported is not None
    assert headline.completeness == served.completeness == metered.completeness == "lower_bound"
    assert served.usage.total
    for bucket in served.usage.known:
        assert getattr(headline.usage, bucket) >= getattr(served.usage, bucket)
    assert (metered.usage.input or 0) >= (reported.usage.input or 0) > 0


def alive_with_mark(*attempt_ids: str) -> list[psutil.Process]:
    """Return the processes that still carry one of these attempts' marks."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("ATTEMPT_ID") in attempt_ids and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found
