"""The commands that the page on importing shows, run as they stand, on a small tree of another harness."""

from pathlib import Path

import pytest

from results import foreign
from swetrials.cli.app import app
from swetrials.cli.errors import guarded
from test_documented_commands import REPOSITORY, SHOWN

PAGE = "docs/importing.md"


def test_the_commands_of_the_page_work_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    old = foreign.write_tree(tmp_path / "old-results")
    run = foreign.summary(foreign.row(), agent="omp")
    foreign.put(old / "claude-haiku-4-5" / "omp" / "swe3" / "shop" / "run-summary.json", run)
    foreign.put(old / "judged-inputs.json", foreign.judged_inputs())
    (tmp_path / "docs").symlink_to(REPOSITORY / "docs")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    commands = [shown for shown in SHOWN if shown.where.startswith(f"{PAGE}:")]
    for command in commands:
        assert guarded(app, command.words) == 0, (command, capfd.readouterr().err)
    assert len(commands) == 6
    assert {path.name for path in Path().iterdir()} >= {"imported-results", "one-run", "inputs", "published-results"}
