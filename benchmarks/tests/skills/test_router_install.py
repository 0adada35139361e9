"""install.sh: copying the router's skill into another repository."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures.route_file import SKILL

FILES = {"SKILL.md", "route.py", "models.json", "model-aliases.json", "allowed-models.txt"}


def install(*arguments: object, script: Path = SKILL / "install.sh") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def installed(target: Path) -> Path:
    return target / ".claude" / "skills" / "swe-router"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Make a folder the name of which would do harm if a shell read it a second time."""
    folder = tmp_path / "a b; touch harm; $(touch harm) '*"
    folder.mkdir()
    return folder


def test_the_skill_is_copied_whole_and_works_there(target: Path) -> None:
    done = install(target)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in installed(target).iterdir()} == FILES
    for name in FILES:
        assert (installed(target) / name).read_bytes() == (SKILL / name).read_bytes()
    asked = subprocess.run([installed(target) / "route.py", "--tier", "low", "--floor", "55"], capture_output=True)
    assert asked.returncode == 0
    assert not list(target.parent.rglob("harm"))


def test_a_second_time_changes_nothing(target: Path) -> None:
    assert install(target).returncode == install(target).returncode == 0
    assert {path.name for path in installed(target).iterdir()} == FILES


def test_a_changed_file_stays_and_nothing_is_copied(target: Path) -> None:
    install(target)
    (installed(target) / "allowed-models.txt").write_text("claude-opus-5\n")
    (installed(target) / "route.py").unlink()
    done = install(target)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "files that differ: allowed-models.txt; nothing was copied" in done.stderr
    assert (installed(target) / "allowed-models.txt").read_text() == "claude-opus-5\n"
    assert not (installed(target) / "route.py").exists()


@pytest.mark.parametrize("order", [0, 1])
def test_by_force_a_changed_file_is_replaced_and_kept_beside(target: Path, order: int) -> None:
    install(target)
    (installed(target) / "allowed-models.txt").write_text("claude-opus-5\n")
    done = install(*[target, "--force"][:: -1 if order else 1])
    assert done.returncode == 0
    assert {path.name for path in installed(target).iterdir()} == FILES | {"allowed-models.txt.before"}
    assert (installed(target) / "allowed-models.txt.before").read_text() == "claude-opus-5\n"
    assert (installed(target) / "allowed-models.txt").read_bytes() == (SKILL / "allowed-models.txt").read_bytes()


def test_a_link_is_replaced_and_not_written_through(target: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("mine\n")
    installed(target).mkdir(parents=True)
    (installed(target) / "models.json").symlink_to(elsewhere)
    assert install(target).returncode == 2
    assert install(target, "--force").returncode == 0
    assert not (installed(target) / "models.json").is_symlink()
    assert elsewhere.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "which repository?"),
        (("nowhere",), "there is no folder nowhere"),
        (("a", "b"), "one target at a time"),
        (("--fast", "a"), "unknown option --fast"),
        ((str(SKILL.parents[2]),), "already"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    done = install(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_copy_that_is_not_whole_installs_nothing(target: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(SKILL, copy)
    (copy / "route.py").unlink()
    done = install(target, script=copy / "install.sh")
    assert done.returncode == 2
    assert "route.py is missing" in done.stderr
    assert not installed(target).exists()


def test_a_name_in_the_way_is_one_line(target: Path) -> None:
    (target / ".claude").write_text("")
    done = install(target)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be made: something else has that name" in done.stderr
