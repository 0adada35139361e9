"""Reading what people write: every fault is one line with its file, line and field, and nothing is a traceback."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field
from ruamel.yaml import YAML

from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Dataset, Verify
from swetrials.records.record import Record
from swetrials.store.documents import DocumentError, LoadedDataset, load_config, load_dataset, load_document
from swetrials.store.project import find_project

TASK = """\
schema_version: "1.0"
name: mine
tasks:
  - id: first
    repo: https://example.com/x.git
    ref: main
    complexity: low
    problem_statement: Do it.
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write text to ``x.yaml`` in an empty current directory; problems then name it by that."""
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> Path:
        Path("x.yaml").write_text(text, encoding="utf-8")
        return Path("x.yaml")

    return written


def problems_of(path: Path) -> list[str]:
    with pytest.raises(DocumentError) as refused:
        load_dataset(path)
    assert str(refused.value).splitlines() == [str(problem) for problem in refused.value.problems]
    return [str(problem) for problem in refused.value.problems]


def test_a_dataset_is_read(write: Write) -> None:
    loaded = load_dataset(write(TASK + "created: 2026-08-25\n"))
    assert loaded.dataset.created == "2026-08-25"
    assert [task.id for task in loaded.dataset.tasks] == ["first"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "complexity: low",
            "complexity: hihg",
            "x.yaml:7: tasks[0].complexity: 'hihg' is not one of trivial, low, medium, high; did you mean 'high'?",
        ),
        ("id: first", "id: ../x", "x.yaml:4: tasks[0].id: '../x' is not a safe folder name"),
        ("id: first", "id: Run-Summary.json", "x.yaml:4: tasks[0].id: 'Run-Summary.json' is the name of a file beside"),
        (
            "ref: main",
            'ref: "--upload-pack=touch /tmp/pwned"',
            "x.yaml:6: tasks[0].ref: '--upload-pack=touch /tmp/pwned' is not a tag, a branch or a commit",
        ),
        (
            "repo: https://example.com/x.git",
            "repo: ext::sh -c id",
            "x.yaml:5: tasks[0].repo: 'ext::sh -c id' uses a transport that is not allowed",
        ),
        (
            "ref: main",
            "ref: 1.10",
            'x.yaml:6: tasks[0].ref: expected text, got the number 1.10; write it in quotes: "1.10"',
        ),
        (
            "Do it.",
            "true",
            'x.yaml:8: tasks[0].problem_statement: expected text, got true; write it in quotes: "true"',
        ),
        ('"1.0"', "1.0", 'x.yaml:1: schema_version: 1.0 is not text; write it in quotes: "1.0"'),
        ("    ref: main\n", "", "x.yaml:4: tasks[0].ref: the key is required and missing"),
        ("name: mine\n", "", "x.yaml:1: name: the key is required and missing"),
        ("ref: main", "reff: main\n    ref: v1", "x.yaml:6: tasks[0].reff: unknown key; did you mean 'ref'?"),
        ("ref: main", "qqq: 1\n    ref: v1", "x.yaml:6: tasks[0].qqq: unknown key"),
        ("name: mine", "name: mine\nname: yours", "x.yaml:3: name: the key is used twice, first on line 2"),
        ("ref: main", "ref: main\n    tags: foo", "x.yaml:7: tasks[0].tags: expected a list, got the text 'foo'"),
        (
            "ref: main",
            "ref: main\n    tags:\n      - a\n      -",
            "x.yaml:9: tasks[0].tags[1]: expected text, got nothing",
        ),
        ("  - id", "  -\n  - id", "x.yaml:4: tasks[0]: expected keys with values, got nothing"),
        (
            "ref: main",
            "ref: main\n    verify:\n      commands: []",
            "x.yaml:8: tasks[0].verify.commands: must not be empty",
        ),
        (
            "ref: main",
            "ref: main\n    verify: {}",
            "x.yaml:7: tasks[0].verify.commands: the key is required and missing",
        ),
        (
            "ref: main",
            "ref: main\n    verify: {commands: [make], timeout_second: 3}",
            "x.yaml:7: tasks[0].verify.timeout_second: unknown key; did you mean 'timeout_seconds'?",
        ),
        (
            "ref: main",
            "ref: main\n    verify:\n      commands: [make]\n      timeout_seconds: 0",
            "x.yaml:9: tasks[0].verify.timeout_seconds: must be greater than 0, not 0",
        ),
        (
            "ref: main",
            "ref: main\n    verify:\n      commands: [make]\n      timeout_seconds: true",
            "x.yaml:9: tasks[0].verify.timeout_seconds: expected a number, got true or false",
        ),
        (
            "ref: main",
            "ref: main\n    verify:\n      commands: [make]\n      timeout_seconds: soon",
            "x.yaml:9: tasks[0].verify.timeout_seconds: expected a number, got the text 'soon'",
        ),
        (
            "ref: main",
            "ref: main\n    verify:\n      commands:\n        - cd x && make",
            "x.yaml:9: tasks[0].verify.commands[0]: no shell reads '&&'",
        ),
        ("Do it.", '"a\\0b"', "x.yaml:8: tasks[0].problem_statement: holds a character that no program accepts"),
        ("Do it.", '"\\ud800"', "x.yaml:8: tasks[0].problem_statement: holds a character that no program accepts"),
        ("Do it.", "!!int x", "x.yaml:8: tasks[0].problem_statement: 'x' is not of the type that it is tagged with"),
        (
            "Do it.",
            "!!python/object:os.system x",
            "x.yaml:8: tasks[0].problem_statement: the tag 'tag:yaml.org,2002:python/object:os.system'",
        ),
        (
            "Do it.",
            "&a [*a]",
            "x.yaml:8: tasks[0].problem_statement[0]: the alias refers to a value that it is part of",
        ),
        ("name: mine", "? [a]\n: b\nname: mine", "x.yaml:2: a key must be plain text"),
    ],
)
def test_a_fault_is_named_with_its_line_and_field(write: Write, old: str, new: str, problem: str) -> None:
    assert TASK.count(old) == 1
    found = problems_of(write(TASK.replace(old, new)))
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_two_tasks_of_one_id_are_named_at_the_second(write: Write) -> None:
    second = TASK.split("tasks:\n")[1].replace("first", "FIRST")
    assert problems_of(write(TASK + second))[0].startswith("x.yaml:9: tasks[1].id: task id 'FIRST' is used twice")


def test_all_faults_are_told_at_once_in_the_order_of_the_file(write: Write) -> None:
    text = TASK.replace("low", "hard").replace("main", "-x").replace("name: mine", "name: ../mine")
    assert [problem.split(":")[1] for problem in problems_of(write(text))] == ["2", "6", "7"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "x.yaml: the file is empty"),
        ("# only a comment\n", "x.yaml: the file is empty"),
        ("- a\n", "x.yaml:1: expected keys with values, got a list"),
        ("just words\n", "x.yaml:1: expected keys with values, got the text 'just words'"),
        ("null\n", "x.yaml:1: expected keys with values, got nothing"),
        (
            "name: mine\ntasks:\n\t- a\n",
            "x.yaml:3: not well-formed YAML: a tab cannot be used for indentation; use spaces",
        ),
        ("name: 'mine\n", "x.yaml:1: not well-formed YAML: a quote that is never closed begins here"),
        ("a: b: c\n", "x.yaml:1: not well-formed YAML: the value holds ': ', which begins another key"),
        ("a: *b\n", "x.yaml:1: not well-formed YAML: a value that begins with * is an alias"),
        ("a: 1\n---\nb: 1\n", "x.yaml:2: not well-formed YAML: a second document begins here (---)"),
        ("a: 1\nb: \x07\n", "x.yaml:2: holds the control character '\\x07'"),
        ('a: "\\U99999999"\n', "x.yaml: not well-formed YAML"),
        ("[" * 3000, "x.yaml: lists and mappings are nested too deeply"),
        ("a: " + "9" * 5000, "x.yaml:1: a: '999"),
    ],
)
def test_a_file_that_is_no_dataset_at_all(write: Write, text: str, problem: str) -> None:
    found = problems_of(write(text))
    assert found[0].startswith(problem)


def test_tasks_that_are_no_list(write: Write) -> None:
    text = 'schema_version: "1.0"\nname: mine\ntasks: 3\n'
    assert problems_of(write(text)) == ["x.yaml:3: tasks: expected a list, got the number 3"]


def test_aliases_of_aliases_do_not_fill_the_memory(write: Write) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert problems_of(write("\n".join(lines))) == [
        "x.yaml: holds more than 100000 values, counting what aliases repeat"
    ]


def test_an_alias_repeats_a_value(write: Write) -> None:
    text = TASK.replace("Do it.", "&it Do it.") + "    clarifying_answers: *it\n"
    assert load_dataset(write(text)).dataset.tasks[0].clarifying_answers == "Do it."


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none.yaml") == [f"{tmp_path}/none.yaml: no such file"]
    assert problems_of(tmp_path) == [f"{tmp_path}: is a folder, not a file"]
    assert problems_of(Path("/dev/zero")) == ["/dev/zero: cannot be read: is a device or a socket, not a file"]
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    assert problems_of(tmp_path / "large.yaml") == [f"{tmp_path}/large.yaml: is larger than 16 MiB"]
    assert problems_of(Path("a\0b"))[0].endswith("cannot be read: embedded null byte")
    (tmp_path / "long").write_text("")
    assert problems_of(tmp_path / "long" / "x.yaml")[0].endswith("cannot be read: Not a directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(write: Write) -> None:
    path = write(TASK)
    path.chmod(0)
    assert problems_of(path) == ["x.yaml: cannot be read: Permission denied"]


def test_text_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(TASK.replace("Do it.", "Tu dois l'écrire.").encode("latin-1"))
    assert problems_of(path) == [f"{path}:8: is not UTF-8 text; save it as UTF-8"]


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + TASK.replace("\n", "\r\n").encode())
    assert load_dataset(path).dataset.name == "mine"


def test_a_problem_is_one_line_whatever_the_value(write: Write) -> None:
    text = TASK.replace("complexity: low", 'complexity: "a\\nb' + "x" * 5000 + '"').replace(
        "ref: main", '"re\\nf": main'
    )
    for problem in problems_of(write(text)):
        assert "\n" not in problem
        assert len(problem) < 600


# Hidden files, addresses and fingerprints

HIDDEN = (
    TASK
    + """\
    verify:
      commands: [make]
      hidden_files:
        tests/test_x.py: {source}
"""
)


def test_hidden_files_are_found_beside_the_dataset(write: Write, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    loaded = load_dataset(write(HIDDEN.format(source="hidden")))
    assert loaded.hidden_files(loaded.dataset.tasks[0]) == {"tests/test_x.py": tmp_path.resolve() / "hidden"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.py", "does not exist beside the dataset"),
        ("../x.py", "lies outside the dataset's folder"),
        ("/etc/passwd", "lies outside the dataset's folder"),
        ("link", "lies outside the dataset's folder"),
        ("loop", "cannot be followed"),
    ],
)
def test_hidden_files_that_are_not_there(write: Write, source: str, message: str) -> None:
    Path("link").symlink_to("/etc/passwd")
    Path("loop").symlink_to("loop")
    field = "tasks[0].verify.hidden_files.tests/test_x.py"
    assert problems_of(write(HIDDEN.format(source=source))) == [f"x.yaml:12: {field}: '{source}' {message}"]


def test_a_task_without_verify_has_no_hidden_files(write: Write) -> None:
    loaded = load_dataset(write(TASK))
    assert loaded.hidden_files(loaded.dataset.tasks[0]) == {}


@pytest.mark.parametrize("repo", ["https://example.com/x.git", "git@example.com:x.git", "file:///srv/x", "/srv/x.git"])
def test_an_address_that_means_the_same_everywhere_stays(write: Write, repo: str) -> None:
    loaded = load_dataset(write(TASK.replace("https://example.com/x.git", repo)))
    assert loaded.repo_address(loaded.dataset.tasks[0]) == repo


def test_a_path_counts_from_the_dataset_and_not_from_the_current_directory(tmp_path: Path) -> None:
    path = tmp_path / "data" / "x.yaml"
    path.parent.mkdir()
    path.write_text(TASK.replace("https://example.com/x.git", "../x.bundle"))
    loaded = load_dataset(path)
    assert loaded.repo_address(loaded.dataset.tasks[0]) == str(tmp_path.resolve() / "x.bundle")


def test_fingerprints_change_with_what_they_stand_for(write: Write) -> None:
    def fingerprints(text: str) -> tuple[str, str]:
        loaded = load_dataset(write(text))
        return loaded.sha256, loaded.task_sha256(loaded.dataset.tasks[0])

    file, task = fingerprints(TASK)
    commented, same_task = fingerprints(TASK + "# a comment\n")
    assert (commented != file, same_task == task) == (True, True)
    assert fingerprints(TASK + "    ground_truth: {approach: Think.}\n")[1] != task


def test_the_hashes_of_tasks_are_those_of_records_written_before_there_were_environments() -> None:
    # From tests/corpus, whose trials ran on this dataset, before it told of single tests.
    loaded = load_dataset(find_project().dataset / "quickstart.yaml")
    task = next(task for task in loaded.dataset.tasks if task.id == "slugify-unicode")
    assert task.verify is not None
    verify = task.verify.model_dump(exclude={"report", "fail_to_pass", "pass_to_pass", "solution"})
    task = task.model_copy(update={"verify": Verify.model_validate(verify)})
    assert loaded.task_sha256(task) == "e615cff66529335684b50c06ce62f364e3b45ffa4c018c1d02aa9c6ceb4f7cfd"
    assert loaded.dataset.environment_of(task).sha256 is None


def test_an_environment_has_a_hash_of_its_own(write: Write) -> None:
    def hashes(text: str) -> tuple[str, str | None]:
        loaded = load_dataset(write(text))
        return loaded.task_sha256(loaded.dataset.tasks[0]), loaded.dataset.environment_of(
            loaded.dataset.tasks[0]
        ).sha256

    task, nothing = hashes(TASK)
    assert nothing is None
    assert hashes(TASK + "    environment: {}\n") == (task, None)
    same_task, asked = hashes(TASK + '    environment: {python: "3.12", setup: [make deps]}\n')
    assert same_task == task and asked is not None
    assert hashes('environment: {setup: [make deps], python: "3.12"}\n' + TASK) == (task, asked)
    assert hashes(TASK + '    environment: {python: "3.13", setup: [make deps]}\n')[1] not in (asked, None)
    header = 'environment: {python: "3.13"}\n'
    assert hashes(header + TASK + '    environment: {python: "3.12", setup: [make deps]}\n') == (task, asked)


# Other documents


class Leaf(Record):
    """A leaf."""

    size: int = Field(ge=1)


class Tree(Record):
    """A model with a choice in it, as scenarios have."""

    leaves: tuple[Leaf | str, ...] = ()
    named: dict[str, Leaf] = {}


def test_any_model_can_be_read(write: Write) -> None:
    tree = load_document(write("leaves: [{size: 2}, oak]\nnamed: {a: {size: 1}}\n"), Tree)
    assert tree == Tree(leaves=(Leaf(size=2), "oak"), named={"a": Leaf(size=1)})


def test_faults_below_a_choice_are_at_their_own_line(write: Write) -> None:
    with pytest.raises(DocumentError) as refused:
        load_document(write("leaves:\n  - oak\n  - sise: 2\nnamed:\n  a: {size: 0}\n"), Tree)
    assert [(problem.line, problem.field) for problem in refused.value.problems] == [
        (3, "leaves[1].size"),
        (3, "leaves[1].sise"),
        (3, "leaves[1]"),
        (5, "named.a.size"),
    ]


# Configuration


def test_flag_beats_environment_beats_file_beats_default(write: Write) -> None:
    path = write("max_turns: 1\nmax_retries: 1\nrepeats: 2\n")
    environment = {"SWETRIALS_MAX_TURNS": "2", "SWETRIALS_MAX_RETRIES": "2", "SWETRIALS_ENDPOINT": ""}
    config = load_config(path, environment, {"max_turns": 3, "model": None, "tasks": []})
    assert (config.max_turns, config.max_retries, config.repeats, config.concurrency) == (3, 2, 2, 1)
    assert (config.endpoint, config.model) == (None, "rehearsal")


def test_lists_are_separated_by_commas() -> None:
    config = load_config(None, {"SWETRIALS_TASKS": "a, b,"}, {"allowed_tools": ["Read,Write", "Bash"]})
    assert (config.tasks, config.allowed_tools) == (("a", "b"), ("Read", "Write", "Bash"))


def test_a_path_may_be_given_as_one() -> None:
    assert load_config(None, {}, {"dataset": Path("x") / "y.yaml"}).dataset == "x/y.yaml"


def test_a_problem_names_where_the_value_came_from(write: Write) -> None:
    path = write("agent: claude\nconcurrency: 0\nmax_turn: 3\nrepeats: 0\n")
    with pytest.raises(DocumentError) as refused:
        load_config(path, {"SWETRIALS_MAX_RETRIES": "x", "SWETRIALS_MAX_TURN": "3"}, {"max_turns": 0, "repeats": 1})
    assert [str(problem) for problem in refused.value.problems] == [
        "SWETRIALS_MAX_TURN: unknown variable; did you mean 'SWETRIALS_MAX_TURNS'?",
        "--max-turns: must be at least 1, not 0",
        "SWETRIALS_MAX_RETRIES: expected a whole number, got the text 'x'",
        "x.yaml:2: concurrency: must be at least 1, not 0",
        "x.yaml:3: max_turn: unknown key; did you mean 'max_turns'?",
    ]


def test_variables_that_are_nobodys_business_are_left_alone() -> None:
    assert load_config(None, {"SWETRIALS_HOME": "/x", "SWETRIALS_FOO": "1", "PATH": "/bin"}, {}) == RunnerConfig()


def test_a_configuration_that_is_no_mapping(write: Write) -> None:
    with pytest.raises(DocumentError, match=r"^x\.yaml:1: expected keys with values, got a list$"):
        load_config(write("- a\n"), {}, {})


@pytest.mark.parametrize(
    "text", ["api_key: 314159265", "api_key: [hunter2]", "endpoint: https://me:hunter2@example.com"]
)
def test_a_secret_is_not_repeated_in_a_problem(write: Write, text: str) -> None:
    with pytest.raises(DocumentError) as refused:
        load_config(write(text), {}, {})
    assert "314159265" not in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_combination_of_sources_is_blamed_on_the_one_to_change(write: Write) -> None:
    with pytest.raises(DocumentError, match=r"^--permission-mode: bypassPermissions needs environment"):
        load_config(write("sandbox: none\n"), {}, {"permission_mode": "bypassPermissions"})


def test_the_example_names_every_key_with_its_default_and_a_comment() -> None:
    example = Path(__file__).parents[2] / "config" / "runner.example.yaml"
    assert load_config(example, {}, {}) == RunnerConfig()
    lines = [line for line in example.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert sorted(line.split(":")[0] for line in lines) == sorted(RunnerConfig.model_fields)
    assert all("  # " in line for line in lines)


# Properties

_words = st.sampled_from(["1.0", "x", "../x", "low", "main", "--x", "", "true", "a\0", "é", "a b", "&&", "https://h/x"])
_keys = st.sampled_from(sorted({*Dataset.model_fields, "id", "repo", "ref", "complexity", "verify", "commands", "x"}))
_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _words, st.text(max_size=8))
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4), max_leaves=12
)
_text = st.text(st.characters(exclude_characters="\0\r\x85\u2028\u2029", exclude_categories=["Cs", "Cc"]), min_size=1)
_tasks = st.fixed_dictionaries(
    {
        "repo": st.sampled_from(["https://h/x.git", "../x.bundle", "git@h:x"]),
        "ref": st.sampled_from(["main", "v1.0", "1.10", "0123456", "1e5", "@s/p@1.0"]),
        "complexity": st.sampled_from(["trivial", "low", "medium", "high"]),
        "problem_statement": _text.map("Do ".__add__),
    },
    optional={
        "tags": st.lists(_text, max_size=2),
        "clarifying_answers": _text,
        "ground_truth": st.fixed_dictionaries({"approach": _text, "expectations": st.lists(_text, max_size=2)}),
        "verify": st.fixed_dictionaries(
            {"commands": st.lists(st.lists(_text, min_size=1, max_size=3), min_size=1, max_size=2)},
            optional={"timeout_seconds": st.floats(0.5, 1e6)},
        ),
    },
)
_datasets = st.builds(
    lambda name, tasks: {
        "schema_version": "1.0",
        "name": name,
        "tasks": [{"id": f"t{index}", **task} for index, task in enumerate(tasks)],
    },
    st.sampled_from(["mine", "1.10", "null", "true", "2026-08-25"]),
    st.lists(_tasks, min_size=1, max_size=3),
)


def dump(value: object) -> str:
    stream = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False  # in flow style ruamel.yaml reads "?x", which it wrote, as a key
    yaml.dump(value, stream)
    return stream.getvalue()


def read(folder: Path, text: str | bytes) -> LoadedDataset | DocumentError:
    path = folder / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    try:
        return load_dataset(path)
    except DocumentError as error:
        assert error.problems
        assert all("\n" not in str(problem) for problem in error.problems)
        return error


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


@settings(deadline=None)
@given(value=_values)
def test_any_value_ends_in_a_dataset_or_in_problems(folder: Path, value: object) -> None:
    read(folder, dump(value))


@settings(deadline=None)
@given(text=st.one_of(st.binary(max_size=60), st.text("ab:-[]{}&*!|>'\"#%@,?~ \t\n01.", max_size=60)))
def test_any_bytes_end_in_a_dataset_or_in_problems(folder: Path, text: str | bytes) -> None:
    read(folder, text)


@settings(deadline=None)
@given(dataset=_datasets, extra=_values, key=_keys)
def test_a_broken_dataset_ends_in_problems_or_is_none(
    folder: Path, dataset: dict[str, object], extra: object, key: str
) -> None:
    read(folder, dump({**dataset, key: extra}))


@settings(deadline=None)
@given(value=_datasets)
def test_a_dataset_survives_being_written_and_read(folder: Path, value: dict[str, object]) -> None:
    dataset = Dataset.model_validate(value)
    loaded = read(folder, dump(dataset.model_dump(mode="json")))
    assert isinstance(loaded, LoadedDataset)
    assert loaded.dataset == dataset
