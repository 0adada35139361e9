"""Hidden files land in the checkout and nowhere else."""

from pathlib import Path

import pytest

from swetrials.judging.hidden import PlacementError, place_hidden_files


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "tests").mkdir(parents=True)
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / "tests" / "test_old.py").write_text("old")
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "hidden"
    (folder / "deep").mkdir(parents=True)
    (folder / "test_new.py").write_text("new")
    (folder / "deep" / "run.sh").write_text("run")
    (folder / "deep" / "run.sh").chmod(0o755)
    return folder


def test_a_folder_is_merged_and_keeps_modes(checkout: Path, source: Path) -> None:
    place_hidden_files(checkout, {"tests": source})
    assert (checkout / "tests" / "test_old.py").read_text() == "old"
    assert (checkout / "tests" / "test_new.py").read_text() == "new"
    assert (checkout / "tests" / "deep" / "run.sh").stat().st_mode & 0o777 == 0o755


def test_a_file_replaces_whatever_has_its_name(checkout: Path, source: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (checkout / "link.py").symlink_to(victim)
    (checkout / "folder.py" / "inner").mkdir(parents=True)
    (checkout / "file").write_text("in the way")
    (checkout / "loop").symlink_to("loop")
    new = source / "test_new.py"
    place_hidden_files(
        checkout,
        {
            "link.py": new,
            "folder.py": new,
            "file/below.py": new,
            "loop/in.py": new,
            "tests/test_old.py": new,
            "a/b/c.py": new,
        },
    )
    for name in ("link.py", "folder.py", "file/below.py", "loop/in.py", "tests/test_old.py", "a/b/c.py"):
        assert (checkout / name).read_text() == "new"
        assert not (checkout / name).is_symlink()
    assert victim.read_text() == "untouched"


def test_a_link_inside_the_checkout_is_followed(checkout: Path, source: Path) -> None:
    (checkout / "spec").symlink_to("tests")
    place_hidden_files(checkout, {"spec/test_new.py": source / "test_new.py"})
    assert (checkout / "tests" / "test_new.py").read_text() == "new"
    assert (checkout / "spec").is_symlink()


@pytest.mark.parametrize("target", ["..", "/etc", ".git/hooks", "../outside/not-there-yet"])
def test_a_link_that_leads_out_or_into_git_is_refused(checkout: Path, source: Path, target: str) -> None:
    (checkout / "spec").symlink_to(target)
    before = sorted(checkout.parent.rglob("*"))
    with pytest.raises(PlacementError, match=r"deep/run\.sh cannot be put in place: spec is a link"):
        place_hidden_files(checkout, {"spec/deep/run.sh": source / "deep" / "run.sh"})
    assert sorted(checkout.parent.rglob("*")) == before


def test_a_missing_source_is_an_os_error(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        place_hidden_files(checkout, {"x.py": tmp_path / "absent"})
