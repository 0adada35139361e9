"""A repository's own files for agents, out of sight and back."""

import os
from pathlib import Path

import pytest

from kinds import first_is_quick
from swetrials.workspace.instructions import SetAside, put_back, set_aside
from swetrials.workspace.patch import make_patch
from swetrials.workspace.repositories import Repositories
from workspace.ordinary import CAN_BE_ORDINARY, as_ordinary_user
from workspace.sources import commit_all, git, new_repository

FOR_AGENTS = {
    "CLAUDE.md": "Always answer in verse.\n",
    "AGENTS.md": "Be brief.\n",
    ".mcp.json": "{}\n",
    ".claude/settings.json": '{"hooks": {}}\n',
    ".claude/skills/x/SKILL.md": "skill\n",
    ".cursor/rules/a.mdc": "rule\n",
    "pkg/deep/Agents.md": "Deeper.\n",
    ".github/copilot-instructions.md": "Copilot.\n",
}
OTHERS = {"README.md": "readme\n", "pkg/code.py": "x = 1\n", "docs/claude.md.txt": "about\n", ".github/ci.yml": "ci\n"}


class Place:
    """A checkout of a repository that has files for agents."""

    def __init__(self, root: Path) -> None:
        self.upstream = new_repository(root / "upstream")
        for name, text in (FOR_AGENTS | OTHERS).items():
            (self.upstream / name).parent.mkdir(parents=True, exist_ok=True)
            (self.upstream / name).write_text(text)
        (self.upstream / ".claude" / "run.sh").write_text("#!/bin/sh\n")
        (self.upstream / ".claude" / "run.sh").chmod(0o755)
        (self.upstream / "GEMINI.md").symlink_to("AGENTS.md")
        self.commit = commit_all(self.upstream, "all")
        self.repositories = Repositories(root / "mirrors")
        self.repositories.resolve(str(self.upstream), self.commit)
        self.checkout = root / "checkout"
        self.repositories.check_out(str(self.upstream), self.commit, self.checkout)

    def patch(self) -> str:
        return make_patch(self.repositories, str(self.upstream), self.commit, self.checkout).diff.decode()

    def files(self) -> set[str]:
        found = (path for path in self.checkout.rglob("*") if path.is_symlink() or path.is_file())
        return {str(path.relative_to(self.checkout)) for path in found if ".git" not in path.parts}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_an_agent_finds_none_of_them_and_git_misses_nothing(place: Place) -> None:
    aside = set_aside(place.checkout)
    assert {str(file.path) for file in aside} == {*FOR_AGENTS, ".claude/run.sh", "GEMINI.md"}
    assert place.files() == set(OTHERS)
    assert not (place.checkout / ".claude").exists()
    assert git(place.checkout, "status", "--short") == ""


def test_back_in_place_they_are_no_change(place: Place) -> None:
    put_back(place.checkout, set_aside(place.checkout))
    assert place.patch() == ""
    assert os.access(place.checkout / ".claude" / "run.sh", os.X_OK)
    assert (place.checkout / "GEMINI.md").readlink() == Path("AGENTS.md")


def test_what_an_agent_puts_there_is_its_change(place: Place) -> None:
    aside = set_aside(place.checkout)
    (place.checkout / "CLAUDE.md").write_text("My own.\n")
    (place.checkout / ".claude").mkdir()
    (place.checkout / ".claude" / "new.md").write_text("New.\n")
    (place.checkout / "pkg" / "code.py").write_text("x = 2\n")
    put_back(place.checkout, aside)
    patch = place.patch()
    changed = {line.split(" b/")[1] for line in patch.splitlines() if line.startswith("diff --git")}
    assert changed == {"CLAUDE.md", ".claude/new.md", "pkg/code.py"}
    assert "-Always answer in verse.\n+My own.\n" in patch


def test_a_commit_of_the_agents_does_not_delete_them(place: Place) -> None:
    aside = set_aside(place.checkout)
    (place.checkout / "pkg" / "code.py").write_text("x = 2\n")
    commit_all(place.checkout, "mine")
    put_back(place.checkout, aside)
    assert place.patch().count("diff --git") == 1


def test_nothing_is_written_through_a_link(place: Place, tmp_path: Path) -> None:
    aside = set_aside(place.checkout)
    outside = tmp_path / "outside"
    outside.mkdir()
    (place.checkout / ".claude").symlink_to(outside)
    (place.checkout / ".cursor").write_text("a file now\n")
    put_back(place.checkout, aside)
    assert list(outside.iterdir()) == []
    assert (place.checkout / ".cursor").read_text() == "a file now\n"
    assert (place.checkout / "CLAUDE.md").exists()


@CAN_BE_ORDINARY
@first_is_quick("mode", [0o000, 0o555])
def test_a_folder_that_was_closed_is_opened_for_them(place: Place, mode: int) -> None:
    aside = set_aside(place.checkout)
    (place.checkout / "pkg" / "code.py").write_text("x = 2\n")
    (place.checkout / "pkg").chmod(mode)
    as_ordinary_user(put_back, place.checkout, aside)
    assert place.patch().count("diff --git") == 1


def test_a_checkout_that_is_gone_or_a_link_is_left_alone(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "link").symlink_to(outside)
    for checkout in (tmp_path / "link", tmp_path / "nowhere"):
        put_back(checkout, [SetAside(Path("CLAUDE.md"), 0o100644, b"x")])
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_a_repository_without_such_files_is_left_as_it_is(tmp_path: Path) -> None:
    upstream = new_repository(tmp_path / "plain")
    (upstream / "a.txt").write_text("a\n")
    commit_all(upstream, "a")
    assert set_aside(upstream) == ()
