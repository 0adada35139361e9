"""route.py as other people's repositories run it: alone, with whatever Python 3.8 or newer they have."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures.route_file import SKILL


def route(*arguments: str | Path, python: str | Path = sys.executable, script: Path = SKILL / "route.py") -> Any:  # noqa: ANN401
    """Run route.py without site packages, environment or the current folder on its path."""
    command = [python, "-S", "-I", "-B", script, *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def refused(*arguments: str | Path, script: Path = SKILL / "route.py") -> str:
    """Return the one line that a call ends with that cannot be answered."""
    done = route(*arguments, script=script)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("route.py: ")
    return str(done.stderr)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the skill, so that its files can be spoilt, and return its route.py."""
    shutil.copytree(SKILL, tmp_path / "swe-router")
    return tmp_path / "swe-router" / "route.py"


def test_the_syntax_is_that_of_python_3_8() -> None:
    ast.parse((SKILL / "route.py").read_text(encoding="utf-8"), feature_version=(3, 8))


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse((SKILL / "route.py").read_text(encoding="utf-8"))
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert names <= sys.stdlib_module_names


def old_pythons() -> list[Path]:
    """Return the Pythons 3.8 of this machine that start."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [Path(path) for path in [shutil.which("python3.8")] if path]
    found += sorted(root.glob("versions/3.8.*/bin/python3.8"))
    return [
        path for path in found if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
    ]


def test_a_real_python_3_8_gives_the_same_answer() -> None:
    pythons = old_pythons()
    if not pythons:
        pytest.skip("there is no Python 3.8 here")
    arguments = ("--tier", "medium", "--floor", "75", "--available", "opus-5,claude-sonnet-5,qwen3.8-27b")
    old, new = route(*arguments, python=pythons[0]), route(*arguments)
    assert (old.returncode, old.stderr) == (0, "")
    assert json.loads(old.stdout)["status"] == "ok"
    assert old.stdout == new.stdout


def test_an_answer_from_the_files_that_come_with_it() -> None:
    done = route("--tier", "low", "--floor", "70")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["status"]) == (0, "ok")
    assert answer["recommended"] == answer["cleared_floor"][0]
    assert answer["provenance"]["scope"] == "mcp-gateway-registry-v2"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("--floor", "100"), "nothing_clears_floor"), (("--floor", "70", "--available", "nobody"), "no_candidates")],
)
def test_no_recommendation_is_an_answer_and_no_error(arguments: tuple[str, ...], status: str) -> None:
    done = route("--tier", "high", *arguments)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, status)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--tier"),
        (("--tier", "hard", "--floor", "70"), "invalid choice: 'hard'"),
        (("--tier", "low", "--floor", "much"), "--floor: invalid float value: 'much'"),
        (("--tier", "low", "--floor", "101"), "floor 101.0 is not between 0 and 100"),
        (("--tier", "low", "--floor", "70", "--available", " ,"), "--available: names no model"),
        (("--tier", "low", "--floor", "70", "--no-allow-list", "--allowed-file", "x"), "not allowed with"),
        (("--tier", "low", "--floor", "70", "--tie-band", "-1"), "tie band -1.0"),
        (("--tier", "low", "--floor", "70", "--models", "nowhere.json"), "nowhere.json: No such file"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments)


def test_the_allow_list_decides_and_is_left_out_on_request(copy: Path) -> None:
    (copy.parent / "allowed-models.txt").write_text("# policy\n\n  us.anthropic.claude-opus-5[1m]  # the best\n")
    listed, free = (
        route("--tier", "low", "--floor", "55", script=copy),
        route("--tier", "low", "--floor", "55", "--no-allow-list", script=copy),
    )
    assert json.loads(listed.stdout)["recommended"]["model"] == "claude-opus-5"
    assert json.loads(free.stdout)["recommended"]["model"] != "claude-opus-5"


def test_an_allow_list_of_nobody_is_an_error_and_not_everybody(copy: Path) -> None:
    (copy.parent / "allowed-models.txt").write_text("# nothing yet\n\n")
    assert "names no model" in refused("--tier", "low", "--floor", "55", script=copy)


def test_a_missing_allow_list_is_an_error_that_names_the_way_out(copy: Path) -> None:
    (copy.parent / "allowed-models.txt").unlink()
    assert "use --no-allow-list" in refused("--tier", "low", "--floor", "55", script=copy)
    assert route("--tier", "low", "--floor", "55", "--no-allow-list", script=copy).returncode == 0


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ('{"schema_version": "2.0", "models": [{"model": "a"}]}', "schema_version '2.0' is not understood"),
        ('{"schema_version": "1.0", "models": []}', "at least one model"),
        ('{"schema_version": "1.0", "models": [{"name": "a"}]}', "models[0] has no model name"),
        ('{"schema_version": "1.0", "models": [{"model": "a"}, {"model": "A"}]}', "models[1]: A is there twice"),
        ('{"schema_version": "1.0", "models": [{"model": "a", "mean_score": "90"}]}', "mean_score: '90' is no such"),
        (
            '{"schema_version": "1.0", "models": [{"model": "a", "mean_cost_usd": NaN}]}',
            "mean_cost_usd: nan is no such",
        ),
        ('{"schema_version": "1.0", "models": [{"model": "a", "mean_cost_usd": -1}]}', "mean_cost_usd: -1 is no such"),
        (
            '{"schema_version": "1.0", "models": [{"model": "a", "tiers": {"low": {"mean_score": 101}}}]}',
            "models[0].tiers.low.mean_score: 101 is no such",
        ),
        ('{"schema_version": "1.0", "models": [{"model": "a", "tiers": []}]}', "tiers is not figures by tier"),
        (
            f'{{"schema_version": "1.0", "models": [{{"model": "a", "mean_cost_usd": {"9" * 400}}}]}}',
            "is no such figure",
        ),
        ('{"schema_version": "1.0", "models": [{"model": "a", "mean_cost_usd": 1e308}]}', "1e+308 is no such figure"),
        (
            '{"schema_version": "1.0", "models": [{"model": "a", "trials": 2, "completed": 3}]}',
            "models[0]: more trials were completed than there were",
        ),
        ('{"schema_version": "1.0", "provenance": 1e999, "models": [{"model": "a"}]}', "JSON has neither"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"models', "is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_spoilt_models_file_is_one_line(copy: Path, spoilt: str | bytes, said: str) -> None:
    (copy.parent / "models.json").write_bytes(spoilt if isinstance(spoilt, bytes) else spoilt.encode())
    assert said in refused("--tier", "low", "--floor", "55", script=copy)


@pytest.mark.parametrize("spoilt", ["{}", '{"aliases": {"a": "b"}}', '{"aliases": {"a": [""]}}'])
def test_a_spoilt_alias_file_is_one_line(copy: Path, spoilt: str) -> None:
    (copy.parent / "model-aliases.json").write_text(spoilt)
    assert "model-aliases.json: aliases" in refused("--tier", "low", "--floor", "55", script=copy)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk, as Linux has one to try")
def test_an_answer_that_cannot_be_written_is_one_line_and_one_that_nobody_reads_is_none() -> None:
    question = (sys.executable, "-S", "-I", "-B", SKILL / "route.py", "--tier", "low", "--floor", "55")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(question, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "route.py: cannot write the answer: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as unread:
        done = subprocess.run(question, stdout=unread, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_figures_of_a_rehearsal_are_said_to_be_so(copy: Path) -> None:
    models = copy.parent / "models.json"
    models.write_text(json.dumps({**json.loads(models.read_text()), "rehearsal": True}))
    answer = json.loads(route("--tier", "low", "--floor", "55", script=copy).stdout)
    assert answer["notes"][0] == "the figures are of a rehearsal: they say nothing about real models"
