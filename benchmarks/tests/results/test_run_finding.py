"""Names of models stand for runs of a tree; what could be several is asked back."""

from pathlib import Path

import pytest

from swetrials.results.run_finding import RunNameError, find_runs


def grow(tree: Path, *runs: str) -> Path:
    for run in runs:
        (tree / run / "task").mkdir(parents=True)
    return tree


def found(first: str, second: str, tree: Path) -> tuple[str, str]:
    one, other = find_runs(first, second, tree)
    return str(one.relative_to(tree)), str(other.relative_to(tree))


def test_a_folder_is_itself_and_a_name_is_looked_up(tmp_path: Path) -> None:
    tree = grow(tmp_path, "a/omp/swe3/s", "claude-opus-5/omp/swe3/s")
    assert found(str(tree / "a/omp/swe3/s"), "us.anthropic.claude-opus-5[1m]", tree) == (
        "a/omp/swe3/s",
        "claude-opus-5/omp/swe3/s",
    )


def test_runs_over_one_scope_and_by_one_agent_belong_together(tmp_path: Path) -> None:
    tree = grow(tmp_path, "a/omp/swe3/s", "a/omp/swe3/other", "a/codex/swe3/s", "b/omp/swe3/s", "b/pi/swe3/third")
    assert found("a", "b", tree) == ("a/omp/swe3/s", "b/omp/swe3/s")


def test_runs_by_other_agents_are_compared_where_nothing_else_could_be_meant(tmp_path: Path) -> None:
    tree = grow(tmp_path, "a/omp/swe3/s", "b/codex/swe3/s")
    assert found("a", "b", tree) == ("a/omp/swe3/s", "b/codex/swe3/s")


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (
            ["a/omp/swe3/s", "a/omp/swe3/t", "b/omp/swe3/s", "b/omp/swe3/t"],
            "could be several of these runs.*a/omp/swe3/s",
        ),
        (["a/omp/swe3/s", ".trash/omp/swe3/s"], r"b is neither .* \(--tree\); there are: a$"),
        ([], "there are: none"),
    ],
)
def test_what_is_not_clear_is_asked_back(tmp_path: Path, runs: list[str], said: str) -> None:
    with pytest.raises(RunNameError, match=said):
        find_runs("a", "b", grow(tmp_path, *runs))


def test_what_is_set_apart_is_no_model(tmp_path: Path) -> None:
    tree = grow(tmp_path, "a/omp/swe3/s", "example/b/omp/swe3/s")
    (tree / "example" / ".apart").touch()
    with pytest.raises(RunNameError, match=r"there are: a$"):
        find_runs("a", "example", tree)
    assert found(str(tree / "example/b/omp/swe3/s"), "a", tree) == ("example/b/omp/swe3/s", "a/omp/swe3/s")


def test_a_name_of_nothing_is_no_model(tmp_path: Path) -> None:
    for nothing, named in (("[1m]", r"\[1m\]"), ("", "''")):
        with pytest.raises(RunNameError, match=f"^{named} is neither the folder of a run nor a model"):
            find_runs(nothing, "a", grow(tmp_path / (nothing or "empty"), "a/omp/swe3/s"))
