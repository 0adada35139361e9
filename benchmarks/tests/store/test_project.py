"""Finding the project's own folders."""

from pathlib import Path

import pytest

from swetrials.store.project import ProjectError, find_project


def test_the_source_lies_in_the_project() -> None:
    project = find_project({})
    assert (project.root / "src" / "swetrials" / "store" / "project.py").is_file()
    assert project.tools.parent == project.root
    assert project.skills.parent.parent == project.root.parent


def test_a_variable_names_another_clone(tmp_path: Path) -> None:
    (tmp_path / "src" / "swetrials").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    assert find_project({"SWETRIALS_HOME": str(tmp_path)}).root == tmp_path.resolve()


def test_a_variable_that_names_no_clone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"^SWETRIALS_HOME=.* is not the benchmarks/ folder of a swetrials clone$"):
        find_project({"SWETRIALS_HOME": str(tmp_path)})
