"""What a script learns from the opening of a conversation."""

import pytest

from swetrials.rehearsal.parameters import fill, parameter, working_directory

SKILL = """\
<command-args>task_id: t-1
artifacts_dir: "/a b/out"</command-args>
- `checkout`: the repository; artifacts_dir=/other
model=m-1, ref=v1.2 ${ref}: no
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [("task_id", "t-1"), ("artifacts_dir", "/a b/out"), ("checkout", None), ("model", "m-1"), ("ref", "v1.2")],
)
def test_a_parameter_is_a_name_and_a_word(name: str, value: str | None) -> None:
    assert parameter(SKILL, name) == value


def test_a_name_inside_another_is_not_found() -> None:
    assert parameter("my_dir: /x my-dir: /x x.dir=/y\ndir:\n/z", "dir") is None


def test_unknown_placeholders_stay() -> None:
    assert fill("${task_id} ${nope} $task_id ${}", SKILL) == "t-1 ${nope} $task_id ${}"


@pytest.mark.parametrize(
    ("opening", "directory"),
    [
        ("checkout: /c\n - Primary working directory: /p q", "/c"),
        ("checkout: relative\n - Primary working directory: /p q\n", "/p q"),
        ("the working directory: here\n<cwd>/w x</cwd>", "/w x"),
        ("  Working directory: /o\n", "/o"),
        ("the working directory is /nowhere", None),
    ],
)
def test_the_working_directory_is_what_the_prompt_says(opening: str, directory: str | None) -> None:
    assert working_directory(opening) == directory
