"""What careless hands write: each mistake is named at its line, with what mends it, and nothing is read half."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from swetrials.store.configuration import load_config
from swetrials.store.documents import load_dataset
from swetrials.store.problems import DocumentError
from swetrials.store.project import find_project

GOOD = """\
schema_version: "1.0"
name: mine
tasks:
  - id: first
    repo: ./x
    ref: v1
    complexity: low
    problem_statement: do it
    verify:
      setup: [make]
      commands: [make test]
"""
YAML = "not well-formed YAML: "
DEPTH = "this line is indented differently from the lines that it belongs to: give them all the same number of spaces"
QUOTES = "put the whole value in quotes"
ITEMS = "put each item in quotes as a whole, or write one a line, each after '- '"

CARELESS = {
    "an extra in a list": ("[make]", "[pip install -e \".[tests]\"]", 10, "a quote that is never closed begins here"),
    "a bracket in a list": ("[make]", "[pip install -e .[tests]]", 10, ITEMS),
    "a list that is not closed": ("[make]", "[make", 11, "what begins on line 10 is not closed with ]"),
    "a colon in a list": ("[make test]", "[pytest -k a: b]", 11, "text that holds ': ' has to be in quotes"),
    "a ref before another": ("ref: v1", "ref: c2c410c~1", 6, "this tells: git rev-parse 'c2c410c~1'"),
    "a parent": ("ref: v1", "ref: HEAD^", 6, "this tells: git rev-parse 'HEAD^'"),
    "no ref": ("    ref: v1\n", "", 4, "give the task a tag, a branch or a commit, or the header a default_ref"),
    "too deep": ("    ref", "     ref", 6, YAML + DEPTH),
    "not deep enough": ("    ref", "   ref", 6, YAML + DEPTH),
    "a header at another depth": ("name: mine", " name: mine", 2, YAML + DEPTH),
    "a colon in text": ("do it", "fix: it", 8, f"{YAML}the value holds ': ', which begins another key: {QUOTES}"),
    "two colons in text": ("do it", "Error: a: b", 8, f"{YAML}the value holds ': ', which begins another key: "),
    "a tab": ("    ref", "\tref", 6, f"{YAML}a tab cannot be used for indentation; use spaces"),
    "a key twice": ("ref: v1", "ref: v1\n    ref: v2", 7, "the key is used twice, first on line 6"),
    "a version": ("ref: v1", "ref: 3.10", 6, 'got the number 3.10; write it in quotes: "3.10"'),
    "a version of the schema": ('"1.0"', "1.0", 1, '1.0 is not text; write it in quotes: "1.0"'),
    "an exponent": ("ref: v1", "ref: 1e5", 6, 'got the number 1e5; write it in quotes: "1e5"'),
    "an alias of nothing": ("ref: v1", "ref: *r", 6, "begins with * is an alias, and nothing has that name"),
    "bold text": ("do it", "*bold* is broken", 8, f"nothing has that name: {QUOTES}"),
    "a mention": ("do it", "@team do it", 8, f"{YAML}a value cannot begin with '@': {QUOTES}"),
    "code": ("do it", "`x` is broken", 8, f"{YAML}a value cannot begin with '`': {QUOTES}"),
    "an exclamation": ("do it", "!now", 8, "text that begins with ! has to be in quotes"),
    "a brace": ("do it", "{x} is broken", 8, f"{YAML}text goes on after a closing quote or bracket: {QUOTES}"),
    "a quote": ("do it", '"x" is broken', 8, f"{YAML}text goes on after a closing quote or bracket: {QUOTES}"),
    "a quote that is not closed": ("do it", '"never', 8, f"{YAML}a quote that is never closed begins here"),
    "text after a bar": ("do it", "| do it", 8, f"{YAML}no text may follow | or > on its line"),
    "a dash": ("do it", "- do it", 8, f"{YAML}a value cannot begin with '- ': {QUOTES}"),
    "a question": ("do it", "? what", 8, f"{YAML}a value cannot begin with '? ': {QUOTES}"),
    "no space after a colon": ("ref: v1", "ref:v1", 6, f"{YAML}a space is missing after the colon"),
    "no space after a dash": ("  - id", "  -id", 4, f"{YAML}a space is missing after the dash"),
    "a path of Windows": ("do it", '"C:\\dir"', 8, f"{YAML}in double quotes a backslash begins an escape"),
    "an item that is a part of the one above": ("[make]", "\n        - make\n          - b", 12,
                                                "is indented as a part of the text above: align it"),
    "tasks by their ids": ("  - id: first", "  first:\n    id: first", 4, "each item of a list begins with '- '"),
    "one command": ("[make test]", "make test", 11, "got the text 'make test'; write it as a list: [make test]"),
    "a merge": ("    ref: v1", "    <<: {ref: v1}", 6, "the merge key << is not supported: write the keys out"),
    "no value": ("id: first", "id:", 4, "expected text, got nothing"),
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        (tmp_path / "x.yaml").write_bytes(content)
        return tmp_path / "x.yaml"

    return write


@pytest.mark.parametrize(("old", "new", "line", "said"), CARELESS.values(), ids=CARELESS)
def test_a_careless_dataset_is_told_what_to_mend(
    write: Callable[[bytes], Path], old: str, new: str, line: int, said: str
) -> None:
    assert GOOD.count(old) == 1, old
    file = write(GOOD.replace(old, new).encode())
    with pytest.raises(DocumentError) as raised:
        load_dataset(file)
    told = str(raised.value)
    assert any(problem.line == line and said in str(problem) for problem in raised.value.problems), told
    assert not re.search(r"block end|scalar|flow sequence|mapping values|collection", told), told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("do it", "yes"),
        ("ref: v1", "ref: no"),
        ("name: mine", "name: mine\ncreated: 2026-01-01"),
        ("ref: v1", "ref: &r v1"),
        ("\n", "\r\n"),
        ("schema", "\ufeffschema"),
        ("[make]", "['pip install -e \".[tests]\"']"),
        ("[make]", '\n        - pip install -e ".[tests]"'),
        ("do it", "|\n      a list:\n      - one\n      - two: three"),
    ],
)
def test_what_is_harmless_is_read(write: Callable[[bytes], Path], old: str, new: str) -> None:
    [task] = load_dataset(write(GOOD.replace(old, new).encode())).dataset.tasks
    assert task.verify is not None
    assert task.verify.commands == (("make", "test"),)
    assert task.ref in {"v1", "no"}
    assert task.verify.setup in {(("make",),), (("pip", "install", "-e", ".[tests]"),)}


def test_the_dataset_of_the_front_page_can_be_read(write: Callable[[bytes], Path]) -> None:
    page = (find_project().root.parent / "README.md").read_text(encoding="utf-8")
    [shown] = [block for block in re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL) if "tasks:" in block]
    beside = write(shown.encode()).parent
    for file in ("hidden/test_orders.py", "solutions/paginate-orders.patch"):
        (beside / file).parent.mkdir()
        (beside / file).touch()
    [task] = load_dataset(write(shown.encode())).dataset.tasks
    assert task.verify is not None
    assert task.verify.commands == (("python", "-m", "pytest", "tests/test_orders.py"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agent_max_time_seconds: 1800", "not a key here: write timeout_seconds, the wall time of one attempt"),
        ("api_key_env: KEY", "not a key here: leave it out, and give the key itself: export SWETRIALS_API_KEY=..."),
        ("kiro_dollars_per_credit: 0.04", "not a key here: leave it out"),
        ("tasks: first", "expected a list, got the text 'first'; write it as a list: [first]"),
        ("max-turns: 3", "unknown key; did you mean 'max_turns'?"),
        ("context_window: -1", "must be at least 1, not -1"),
        ("context_window: true", "expected a number, got true or false"),
        ("precision: 8", 'got the number 8; write it in quotes: "8"'),
        ("timeout_seconds: 1:30", "expected a number, got the text '1:30'"),
    ],
)
def test_a_key_of_another_harness_is_named_with_what_to_write(
    write: Callable[[bytes], Path], text: str, said: str
) -> None:
    with pytest.raises(DocumentError) as raised:
        load_config(write(f"{text}\n".encode()), {}, {})
    assert str(raised.value).startswith(f"{write(text.encode())}:1: {text.partition(':')[0]}: ")
    assert said in str(raised.value)


def test_a_key_that_is_not_one_yet_is_named_in_a_record_of_a_record(write: Callable[[bytes], Path]) -> None:
    file = write(GOOD.replace("tasks:", "environment: {image: python}\ntasks:", 1).encode())
    with pytest.raises(
        DocumentError, match=r": environment\.image: not a key here: leave it out: there are no contain"
    ):
        load_dataset(file)


def test_the_keys_of_another_harness_that_mean_the_same_are_taken(write: Callable[[bytes], Path]) -> None:
    text = b"context_window: 0\ninstance_type: g6e.12xlarge\ntensor_parallel_size: 8\nprecision: FP8\n"
    config = load_config(write(text), {}, {})
    assert (config.context_window, config.instance_type) == (None, "g6e.12xlarge")
    assert (config.tensor_parallel_size, config.precision) == (8, "FP8")
    assert load_config(None, {"SWETRIALS_CONTEXT_WINDOW": "0"}, {}).context_window is None
    assert load_config(None, {}, {"context_window": 0}).context_window is None
