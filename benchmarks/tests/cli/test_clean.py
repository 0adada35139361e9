"""``clean`` shows before it removes."""

from pathlib import Path

from e2e.harness import Workplace


def trash(place: Workplace) -> Path:
    folder = place.results / ".trash" / "20260101"
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_bytes(b"x" * 2_000_000)
    return folder


def test_without_a_choice_nothing_is_removed(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    folder = trash(place)
    done = place.run("clean")
    assert done.returncode == 0, done.stderr
    assert f"2.0 MB  {folder}" in done.stdout
    assert "say what to remove" in done.stdout
    assert folder.is_dir()


def test_a_dry_run_removes_nothing_and_a_real_one_what_was_asked_for(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    folder = trash(place)
    assert "nothing was removed (--dry-run)" in place.run("clean", "--trash", "--dry-run").stdout
    assert folder.is_dir()
    done = place.run("clean", "--trash")
    assert done.stdout.splitlines()[-1].startswith("freed: 2.0 MB")
    assert not folder.exists() and folder.parent.is_dir()
