"""The results tree: which trials there are, what state each is in, and clearing without losing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runs.written import metrics
from swetrials.records.evaluation import Evaluation
from swetrials.records.metrics import Metrics
from swetrials.store.files import RecordError, write_record
from swetrials.store.results import (
    Scope,
    TrialFolder,
    move_to_trash,
    none_in,
    set_apart,
    state_of,
    subfolders,
    trial_folders,
)


def record_at(path: Path) -> TrialFolder:
    folder = TrialFolder(path)
    write_record(folder.metrics_file, metrics(task=path.name))
    return folder


def names(root: Path) -> list[str]:
    return [str(folder.path.relative_to(root)) for folder in trial_folders(root)]


def test_trials_are_found_in_the_order_of_their_names_and_only_where_they_belong(tmp_path: Path) -> None:
    for name in ("b/x", "a/task-2", "a/task-10", "a/task-2--r2", ".trash/a/task-1", "a/.hidden/task-3"):
        record_at(tmp_path / name)
    record_at(tmp_path / "a" / "task-2" / "attempts" / "inner")
    (tmp_path / "linked").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "metrics.txt").write_text("no trial")
    (tmp_path / "c" / "metrics.json").mkdir(parents=True)
    assert names(tmp_path) == ["a/task-10", "a/task-2", "a/task-2--r2", "b/x"]
    assert names(tmp_path / "a" / "task-2") == ["."]
    assert names(tmp_path / "absent") == []


def test_a_folder_reached_by_a_name_of_ones_own_is_searched(tmp_path: Path) -> None:
    record_at(tmp_path / ".trash" / "x")
    (tmp_path / "link").symlink_to(tmp_path / ".trash")
    assert names(tmp_path / ".trash") == names(tmp_path / "link") == ["x"]


def test_what_is_set_apart_is_searched_when_it_or_something_in_it_is_named(tmp_path: Path) -> None:
    for name in ("example/rehearsal/a/task-1", "example/z/task-2", "model/a/task-3"):
        record_at(tmp_path / name)
    (tmp_path / "example" / ".apart").touch()
    assert names(tmp_path) == ["model/a/task-3"]
    assert names(tmp_path / "example") == ["rehearsal/a/task-1", "z/task-2"]
    assert names(tmp_path / "example" / "rehearsal") == ["a/task-1"]
    assert [folder.name for folder in subfolders(tmp_path)] == ["model"]
    assert set_apart(tmp_path) == [tmp_path / "example"]
    assert set_apart(tmp_path / "absent") == []


def test_a_folder_that_cannot_be_looked_into_is_named_and_the_others_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/task-1", "b/task-2", "c/task-3"):
        record_at(tmp_path / name)
    monkeypatch.chdir(tmp_path)  # relative paths need no right to look into the folders above
    tmp_path.chmod(0o755)
    (tmp_path / "b").chmod(0)
    unreadable: list[OSError] = []
    with without_rights():
        found = [str(folder.path) for folder in trial_folders(Path(), unreadable.append)]
        with pytest.raises(RecordError, match="b: Permission denied"):
            list(trial_folders(Path()))
        assert set_apart(Path("b")) == []
    (tmp_path / "b").chmod(0o755)
    assert found == ["a/task-1", "c/task-3"]
    assert [error.filename for error in unreadable] == ["b/metrics.json"]


@contextmanager
def without_rights() -> Iterator[None]:
    """Nobody forbids the superuser anything, so that a test as such has to be somebody else for a while."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


def test_a_repeat_lies_beside_the_first() -> None:
    scope = Scope.of(Path("out"), model_slug="m", agent_folder="a", skill="s", scope="d")
    assert scope.trial("t", 1).path == Path("out/m/a/s/d/t")
    assert scope.trial("t", 3).path == Path("out/m/a/s/d/t--r3")


def test_the_state_of_a_trial_is_in_its_record(tmp_path: Path) -> None:
    assert state_of(TrialFolder(tmp_path / "absent")) is None
    (tmp_path / "begun" / "attempts").mkdir(parents=True)
    begun = state_of(TrialFolder(tmp_path / "begun"))
    assert isinstance(begun, RecordError)
    assert "metrics.json" in str(begun)
    folder = record_at(tmp_path / "whole")
    state = state_of(folder)
    assert isinstance(state, Metrics)
    assert state.task == "whole"


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_torn_record_is_a_reason_and_no_trial(tmp_path: Path, share: float) -> None:
    folder = record_at(tmp_path / "torn")
    data = folder.metrics_file.read_bytes()
    folder.metrics_file.write_bytes(data[: int(len(data) * share)])
    assert isinstance(state_of(folder), RecordError)


def test_a_record_of_another_program_is_a_reason_too(tmp_path: Path) -> None:
    folder = record_at(tmp_path / "foreign")
    folder.metrics_file.write_text('{"loss": [0.3, 0.2]}')
    assert isinstance(state_of(folder), RecordError)


def test_scores_of_an_earlier_trial_in_the_same_folder_do_not_count(tmp_path: Path) -> None:
    folder = record_at(tmp_path / "task-1")
    record = folder.metrics()
    assert folder.evaluation(record) is None
    write_record(folder.evaluation_file, Evaluation(task="task-1", trial_id="another"))
    assert folder.evaluation(record) is None
    mine = Evaluation(task="task-1", trial_id=record.trial.id)
    write_record(folder.evaluation_file, mine)
    assert folder.evaluation(record) == mine


def test_clearing_moves_and_never_overwrites(tmp_path: Path) -> None:
    places = []
    for number in range(5):
        folder = record_at(tmp_path / "m" / "a" / "task-1")
        (folder.path / "lld.md").write_text(str(number))
        (folder.path / "attempts").mkdir(exist_ok=True)
        new = folder.metrics().model_copy(update={"ref": f"v{number}"})
        places.append(move_to_trash(folder, tmp_path, new, keep=("attempts",)))
        assert [path.name for path in sorted(folder.path.iterdir())] == ["attempts", "metrics.json"]
        assert folder.metrics() == new
    assert len(set(places)) == 5
    assert [(place / "lld.md").read_text() for place in places] == ["0", "1", "2", "3", "4"]
    for place in places:
        assert place.relative_to(tmp_path).parts[0] == ".trash"
        assert place.parts[-3:] == ("m", "a", "task-1")
        assert TrialFolder(place).metrics().task == "task-1"


def test_a_mistyped_folder_is_told_from_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert none_in(tmp_path / "nowhere") == f"{tmp_path}/nowhere: no such folder"
    assert none_in(tmp_path / "file") == f"{tmp_path}/file: is a file; a folder with results is needed"
    assert none_in(tmp_path) == f"{tmp_path}: no trial with a metrics.json to read"
