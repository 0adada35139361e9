"""What a dataset may hold: addresses, refs, ids and commands that can only be understood in one way."""

from collections.abc import Mapping

import pytest
from pydantic import TypeAdapter, ValidationError

from swetrials.records.argv import Argv
from swetrials.records.dataset import Dataset, Verify, git_ref, is_local_address, repository_address, repository_name
from swetrials.records.record import relative_file

TASK = {"id": "a", "repo": "a.bundle", "ref": "v1", "complexity": "low", "problem_statement": "Do it."}
HEADER = {"schema_version": "1.0", "name": "mine"}


def dataset(*tasks: Mapping[str, object], **header: object) -> Dataset:
    return Dataset.model_validate({**HEADER, **header, "tasks": list(tasks)})


REMOTE = [
    "https://github.com/octocat/Hello-World.git",
    "https://user@dev.azure.com/org/project/_git/repo",
    "ssh://git@example.com:2222/x.git",
    "file:///srv/x.git",
    "git@github.com:octocat/Hello-World.git",
]
LOCAL = ["quickstart/word-tally.bundle", "../repos/x", "/srv/x", "x y/repo", "."]


@pytest.mark.parametrize("address", [*REMOTE, *LOCAL])
def test_addresses_of_repositories(address: str) -> None:
    assert repository_address(address) == address
    assert is_local_address(address) is (address in LOCAL)


@pytest.mark.parametrize(
    "address",
    [
        "",
        " x",
        "ext::sh -c id",
        "fd::17",
        "gopher://x/y",
        "--upload-pack=touch /tmp/pwned",
        "-x",
        "ssh://-oProxyCommand=id/x",
        "ssh://git@-oProxyCommand=id/x",
        "git@-oProxyCommand:x",
        "https://",
        "https://host",
        "https:///x",
        "https://user:password@example.com/x",
        "x\ny",
        "x\x7fy",
        "host:x y",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ValueError):
        repository_address(address)


def test_a_password_is_not_repeated_in_the_message() -> None:
    with pytest.raises(ValueError) as refused:
        repository_address("https://user:hunter2@example.com/x")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "ref", ["main", "v1.0.0", "1.24.3", "release/2026-09", "@scope/pkg@1.0.0", "7fd1a60b01f9", "café", "a+b", "HEAD"]
)
def test_refs(ref: str) -> None:
    assert git_ref(ref) == ref


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "--upload-pack=touch /tmp/pwned",
        "-x",
        "+main",
        "a..b",
        "a:b",
        "a b",
        "a~1",
        "a^",
        "HEAD@{1}",
        "@",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "a*",
        "a\n",
        "a\\b",
    ],
)
def test_refs_that_are_none(ref: str) -> None:
    with pytest.raises(ValueError, match="not a tag, a branch or a commit"):
        git_ref(ref)


@pytest.mark.parametrize("id_", ["../x", "a/b", "", ".hidden", "-x", "a b", "a\n", "x" * 101, "a--r2", "å"])
def test_ids_that_are_no_folder_of_their_own(id_: str) -> None:
    with pytest.raises(ValidationError):
        dataset({**TASK, "id": id_})


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../../x", "-x", ".git/hooks/x", "a/.GIT/x", "a\\b", "a//b"]
)
def test_hidden_files_stay_inside_the_repository(path: str) -> None:
    with pytest.raises(ValueError):
        relative_file(path)


_argv = TypeAdapter(Argv)


def test_a_command_is_split_as_a_shell_would() -> None:
    assert _argv.validate_python("python3 -m pytest -k 'a b'") == ("python3", "-m", "pytest", "-k", "a b")
    assert _argv.validate_python(["sh", "-c", "a && b | c"]) == ("sh", "-c", "a && b | c")
    assert _argv.validate_python("grep '|' 'a | b' \\; file") == ("grep", "|", "a | b", ";", "file")


@pytest.mark.parametrize("command", ["", "a 'b", "cd x && make", "a | b", "a > b", "FOO=1 make", []])
def test_a_command_that_only_a_shell_would_understand_is_refused(command: object) -> None:
    with pytest.raises(ValidationError):
        _argv.validate_python(command)


def test_the_default_ref_fills_in_for_tasks_without_one() -> None:
    without = {key: value for key, value in TASK.items() if key != "ref"}
    refs = [task.ref for task in dataset(without, {**TASK, "id": "b"}, default_ref="1.29.0").tasks]
    assert refs == ["1.29.0", "v1"]


def test_a_bad_default_ref_is_reported_once() -> None:
    without = {key: value for key, value in TASK.items() if key != "ref"}
    with pytest.raises(ValidationError) as refused:
        dataset(without, {**without, "id": "b"}, default_ref="--x")
    assert [error["loc"] for error in refused.value.errors()] == [("default_ref",)]


def test_ids_that_differ_in_case_alone_would_share_a_folder() -> None:
    with pytest.raises(ValidationError, match="used twice"):
        dataset(TASK, {**TASK, "id": "A"})


def test_a_task_needs_a_problem() -> None:
    with pytest.raises(ValidationError, match="problem_statement or a problem_issue_url"):
        dataset({**TASK, "problem_statement": " \n"})
    assert dataset({**TASK, "problem_statement": "", "problem_issue_url": "https://example.com/1"}).tasks


def test_a_complexity_outside_the_declared_levels_is_refused() -> None:
    with pytest.raises(ValidationError, match="complexity_levels"):
        dataset(TASK, complexity_levels=["trivial", "high"])


@pytest.mark.parametrize(
    ("repo", "name"),
    [
        ("https://github.com/octocat/Hello-World.git", "Hello-World"),
        ("git@github.com:octocat/Hello-World", "Hello-World"),
        ("quickstart/word-tally.bundle", "word-tally"),
        ("/srv/project/.git", "project"),
        ("/srv/project/", "project"),
        ("../my repo", "my-repo"),
        (".", "repository"),
    ],
)
def test_the_scope_without_output_scope_is_the_repository(repo: str, name: str) -> None:
    assert repository_name(repo) == name
    mine = dataset({**TASK, "repo": repo})
    assert mine.scope_of(mine.tasks[0]) == name
    assert mine.model_copy(update={"output_scope": "own"}).scope_of(mine.tasks[0]) == "own"


VERIFY = {"commands": ["true"], "report": "junit"}


@pytest.mark.parametrize(
    ("keys", "at", "said"),
    [
        ({"report": "exit-code", "fail_to_pass": ["a"]}, "fail_to_pass", "needs to know each test"),
        ({"report": "exit-code", "pass_to_pass": ["a"]}, "pass_to_pass", "needs to know each test"),
        ({"fail_to_pass": ["a", "a"]}, "fail_to_pass", "named twice"),
        ({"fail_to_pass": ["a"], "pass_to_pass": ["b", "a"]}, "pass_to_pass", "in fail_to_pass and in pass_to_pass"),
        ({"pass_to_pass": []}, "pass_to_pass", "no test is named"),
        ({"fail_to_pass": ["--rm"]}, "fail_to_pass", "cannot be the id of a test"),
        ({"fail_to_pass": [" a"]}, "fail_to_pass", "cannot be the id of a test"),
        ({"fail_to_pass": [""]}, "fail_to_pass", "cannot be the id of a test"),
        ({"fail_to_pass": ["a\nb"]}, "fail_to_pass", "cannot be the id of a test"),
        ({"pass_to_pass": ["a\x1b[1m"]}, "pass_to_pass", "cannot be the id of a test"),
        ({"fail_to_pass": ["x" * 1001]}, "fail_to_pass", "at most 1000 characters"),
        ({"report": "xml"}, "report", "exit-code"),
    ],
)
def test_tests_that_nobody_could_tell_apart_are_refused(keys: Mapping[str, object], at: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        dataset({**TASK, "verify": {**VERIFY, **keys}})
    error = next(error for error in caught.value.errors() if "verify" in error["loc"])
    assert said in error["msg"]
    assert at in (*error["loc"], *error.get("ctx", {}).get("at", ()))


def test_ids_are_what_runners_print() -> None:
    ids = [
        "tests/test_a.py::test_b[x y-é]",
        'src/a.test.ts > suite > says "hi"',
        "example.com/calc/TestA/sub",
        "1 adds",
    ]
    verify = Verify.model_validate({**VERIFY, "fail_to_pass": ids, "pass_to_pass": []})
    assert verify.fail_to_pass == tuple(ids)
    assert Verify.model_validate(verify.model_dump(mode="json")) == verify


def test_a_task_without_these_keys_is_dumped_as_before_they_were_there() -> None:
    before = {"setup": [], "commands": [["true"]], "hidden_files": {}, "timeout_seconds": 300.0}
    assert Verify.model_validate({"commands": ["true"]}).model_dump(mode="json") == before
    assert (
        Verify.model_validate({**before, "report": "exit-code", "pass_to_pass": "all"}).model_dump(mode="json")
        == before
    )
