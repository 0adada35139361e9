"""The command line as a stranger meets it: help, bad input, exit codes."""

import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest
import typer
from typer.main import get_command

from e2e.harness import Workplace
from kinds import first_is_quick
from swetrials.cli.app import app
from swetrials.cli.options import CONFIG_KEYS, JUDGE_KEYS
from swetrials.records.config import RunnerConfig
from swetrials.store.project import find_project

GOOD = """schema_version: "1.0"
name: one
tasks:
  - id: task-1
    repo: repo
    ref: main
    complexity: low
    problem_statement: Do it.
"""


def commands(group: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    found: dict[tuple[str, ...], object] = {}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            found |= commands(command, (*path, name))
        else:
            found[(*path, name)] = command
    return found


@pytest.fixture
def place(tmp_path: pathlib.Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.mark.parametrize("command", commands(get_command(app)).values(), ids=lambda c: c.name)
def test_every_command_shows_an_example(command: typer.core.TyperCommand) -> None:
    assert (command.epilog or "").startswith("Example: swetrials ")
    assert command.help


def test_every_key_of_the_configuration_is_a_long_flag_and_nothing_else() -> None:
    assert list(CONFIG_KEYS) == list(RunnerConfig.model_fields)


def test_help_answers_at_once() -> None:
    best = min(_help_seconds() for _ in range(4))
    assert best < 0.3


def _help_seconds() -> float:
    # The process's own CPU time: what other tests do to the machine meanwhile is not the command's doing.
    before = os.times()
    subprocess.run([pathlib.Path(sys.executable).with_name("swetrials"), "--help"], check=True, capture_output=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def test_a_known_error_is_a_line_and_no_traceback(place: Workplace) -> None:
    done = place.run("run", "--dataset", "no-such-file.yaml")
    assert done.returncode == 2
    assert "no-such-file.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@first_is_quick(
    ("old", "new", "line", "field"),
    [
        ("id: task-1", "id: ../x", 4, "tasks[0].id"),
        ("ref: main", "ref: --upload-pack=touch PWNED", 6, "tasks[0].ref"),
        ("repo: repo", "repo: ext::sh -c id", 5, "tasks[0].repo"),
        ("complexity: low", "complexity: hihg", 7, "tasks[0].complexity"),
        ("complexity: low", "complexity: [low]", 7, "tasks[0].complexity"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_hostile_or_mistyped_dataset_is_named_by_file_line_and_field_and_nothing_runs(
    place: Workplace, old: str, new: str, line: int, field: str, command: str
) -> None:
    file = place.root / "x.yaml"
    file.write_text(GOOD.replace(old, new.replace("PWNED", str(place.root / "pwned"))))
    words = ["dataset", "validate", str(file)] if command == "validate" else ["run", "--dataset", str(file)]
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("swetrials")), *words,
         *([] if command == "validate" else ["--output-dir", str(place.results), "--clone-dir", str(place.work)])],
        env=place.environ(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    (message,) = done.stderr.strip().splitlines()
    assert message.startswith(f"{file}:{line}: {field}: ")
    assert not place.results.exists()
    assert not place.work.exists()
    assert not (place.root / "pwned").exists()


@first_is_quick(
    ("words", "said"),
    [
        (["run", "--agent", "cluade"], "agent: 'cluade' is not one of claude"),
        (["run", "--provider", "moon"], "provider: 'moon' is not one of"),
        (["run", "--tasks", "word-taly"], "did you mean 'word-tally'"),
        (["run", "--skill", "swe9"], "swe3"),
        (["run", "--max-turns", "0"], "--max-turns"),
        (["run", "--permission-mode", "bypassPermissions"], "bypassPermissions"),
        (["run", "--fault", "gremlins", "--skip-probe"], "status_429"),
        (["run", "--provider", "endpoint"], "endpoint"),
        (["run", "--no-such-flag"], "--no-such-flag"),
        (["run", "--tasks", ""], "--tasks: names no task"),
        (["run", "--output-dir", "pyproject.toml"], "output_dir: pyproject.toml"),
        (["run", "--output-dir", "/", "--sandbox", "bubblewrap"], "cannot hide /"),
        (["summarize", "--folder", "nowhere"], "nowhere"),
        (["judge", "--folder", "nowhere"], "nowhere"),
        (["judge", "--folder", "nowhere", "--judge", ""], "--judge: name at least one"),
        (["stream", "nowhere.jsonl"], "nowhere.jsonl"),
        (["stream", "pyproject.toml"], "nothing in it is an event of claude"),
    ],
)
def test_bad_usage_says_what_is_wrong_and_exits_2(place: Workplace, words: list[str], said: str) -> None:
    command, *rest = words
    line = [str(pathlib.Path(sys.executable).with_name("swetrials")), command, *rest]
    if command == "run" and "--output-dir" not in rest:
        line = place.words(command, *rest)
    benchmarks = pathlib.Path(__file__).parents[2]
    done = subprocess.run(
        line, cwd=benchmarks, env=place.environ(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@first_is_quick(
    ("words", "said"),
    [
        (["--scenario", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["--fault", "typhoon"], "fault: 'typhoon' is not one of "),
    ],
)
def test_a_dry_run_refuses_what_the_run_would_refuse(place: Workplace, words: list[str], said: str) -> None:
    done = place.run("run", "--dry-run", *words)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr, done.stdout + done.stderr


@pytest.mark.slow
def test_a_word_that_is_not_utf8_is_called_so(place: Workplace) -> None:
    done = place.command("run", "--dry-run", "--output-dir", "caf\udce9")
    assert done.returncode == 2 and "--output-dir: expected UTF-8 text, got " in done.stderr, done.stderr


def test_a_dry_run_shows_everything_and_does_nothing(place: Workplace) -> None:
    place = Workplace(place.root, {"SWETRIALS_API_KEY": "key-0123456789"})
    done = place.run(
        "run",
        "--provider",
        "endpoint",
        "--endpoint",
        "http://127.0.0.1:9",
        "--model",
        "m-1",
        "--dry-run",
        "--dataset",
        "dataset/quickstart.yaml",
    )
    assert done.returncode == 0, done.stderr
    assert "== word-tally" in done.stdout
    assert "stream-json" in done.stdout
    assert "ANTHROPIC_API_KEY=[redacted]" in done.stdout
    assert "key-0123456789" not in done.stdout
    assert "settings.json" in done.stdout
    assert "ground_truth" not in done.stdout
    assert not place.results.exists()


@pytest.mark.slow
def test_e2e_and_batch_show_in_a_dry_run_what_run_shows(place: Workplace) -> None:
    words = ["--dataset", "dataset/quickstart.yaml", "--provider", "endpoint", "--endpoint", "http://127.0.0.1:9"]
    shown = {
        command: place.run(command, *models, "--dry-run", "--skill", "swe2", *words)
        for command, models in {"run": ["--model", "m-1"], "e2e": ["--model", "m-1"], "batch": ["m-1", "m-2"]}.items()
    }
    assert {command: done.returncode for command, done in shown.items()} == dict.fromkeys(shown, 0), shown
    alone, batch = shown["run"].stdout, shown["batch"].stdout
    assert shown["e2e"].stdout == alone
    assert batch.startswith(alone.rstrip())
    assert batch.count("== word-tally") == 2 and batch.count("nothing is run") == 2
    assert not place.results.exists()


def test_a_stream_is_read_from_anywhere(place: Workplace) -> None:
    recorded = pathlib.Path(__file__).parents[1] / "conformance" / "claude" / "hangterm.jsonl"
    words = [str(pathlib.Path(sys.executable).with_name("swetrials")), "stream", str(recorded), "--agent", "claude"]
    done = subprocess.run(
        [*words, "--json"], env=place.environ(), capture_output=True, text=True, check=True, timeout=60
    )
    assert '"kind": "unfinished"' in done.stdout
    assert '"completeness": "unknown"' in done.stdout  # it was stopped before an answer told anything
    readable = subprocess.run(words, env=place.environ(), capture_output=True, text=True, check=True, timeout=60)
    assert readable.stdout.splitlines()[-1].startswith("unfinished, blame ambiguous")


def swetrials(*words: str | pathlib.Path) -> list[str]:
    return [str(pathlib.Path(sys.executable).with_name("swetrials")), *map(str, words)]


def test_a_port_in_use_is_bad_usage(place: Workplace) -> None:
    scenario = pathlib.Path(__file__).parents[2] / "dataset" / "quickstart" / "scenario.yaml"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = subprocess.run(
            swetrials("rehearse", scenario, "--port", port),
            env=place.environ(), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("--port: ")


@first_is_quick("words", [["agents", "list"], ["stream", "{recorded}"], ["run", "--dry-run"]])
def test_a_reader_that_has_seen_enough_is_no_error(place: Workplace, words: list[str]) -> None:
    recorded = pathlib.Path(__file__).parents[1] / "conformance" / "claude" / "ok.jsonl"
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            swetrials(*(word.format(recorded=recorded) for word in words)),
            cwd=pathlib.Path(__file__).parents[2], env=place.environ(), stdout=write_end, stderr=subprocess.PIPE,
            text=True, check=False, timeout=60,
        )  # fmt: skip
    finally:
        os.close(write_end)
    assert done.stderr == ""
    assert done.returncode in {0, 1}


def test_a_full_disk_behind_the_output_is_told_in_a_line(place: Workplace) -> None:
    with pathlib.Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            swetrials("agents", "list"), env=place.environ(), stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "cannot write the output: No space left on device\n"


@first_is_quick("home", ["/", "", "/nonexistent", None])
def test_a_home_that_is_none_is_no_obstacle(place: Workplace, home: str | None) -> None:
    environment = {name: value for name, value in place.environ().items() if name != "HOME"}
    if home is not None:
        environment["HOME"] = home
    done = subprocess.run(
        place.words("run", "--dry-run"), cwd=pathlib.Path(__file__).parents[2], env=environment,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "== word-tally" in done.stdout


def test_a_locale_without_utf_8_is_no_obstacle(place: Workplace) -> None:
    recorded = pathlib.Path(__file__).parents[1] / "conformance" / "claude" / "ok.jsonl"
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        swetrials("stream", recorded), env={**place.environ(), **ascii_only}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("session ")


@pytest.mark.slow
def test_a_path_with_a_space_is_one_word_for_the_agent(tmp_path: pathlib.Path) -> None:
    done = Workplace(tmp_path / "a b").run("run", "--dry-run", "--tasks", "word-tally", "--environment", "host")
    assert done.returncode == 0, done.stderr
    assert f'artifacts_dir: "{tmp_path}/a b/work/word-tally-1-ID/artifacts"' in done.stdout


DOCUMENTED = re.findall(
    r"SWETRIALS_[A-Z_]*[A-Z]\b",
    "\n".join(
        page.read_text(encoding="utf-8")
        for folder in (find_project().metrics.parent, find_project().root / "docs", find_project().private)
        for page in folder.glob("*.md")
    ),
)
VALUES = {"SWETRIALS_API_KEY": "k", "SWETRIALS_JUDGE_API_KEY": "k", "SWETRIALS_ENDPOINT": "http://127.0.0.1:9"}
READS_KEYS = [
    ["run", "--dry-run"],
    ["e2e", "--dry-run"],
    ["doctor"],
    ["batch", "nobody-knows-this-model"],
    ["judge", "--folder", "/nowhere"],
    ["router", "inputs", "--agent", "nobody"],
]


@first_is_quick("words", READS_KEYS, ids=lambda words: words[0])
def test_a_variable_that_is_documented_for_one_command_is_taken_by_each(place: Workplace, words: list[str]) -> None:
    variables = {name: VALUES.get(name, "1") for name in {*DOCUMENTED, *(f"SWETRIALS_{k.upper()}" for k in JUDGE_KEYS)}}
    variables |= {
        "SWETRIALS_HOME": str(find_project().root),
        "SWETRIALS_JUDGE_PROVIDER": "endpoint",
        "SWETRIALS_JUDGE_ENDPOINT": "http://127.0.0.1:9",
        "SWETRIALS_MODEL": "rehearsal",
    }
    assert {"SWETRIALS_JUDGE_API_KEY", "SWETRIALS_API_KEY", "SWETRIALS_MAX_TURNS"} <= set(variables)
    done = Workplace(place.root, variables).command(*words)
    assert "variable" not in done.stderr and "SWETRIALS_" not in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


@first_is_quick(
    ("words", "said"),
    [
        (["run", "--provider", "bedrock", "--dataset", "dataset/quickstart.yaml"], "has no default model"),
        (["e2e", "--provider", "bedrock", "--model", "m"], "has no default dataset"),
        (["doctor", "--provider", "litellm"], "has no default model"),
        (["router", "inputs", "--provider", "bedrock"], "has no default model"),
        (["judge", "--folder", "/nowhere", "--judge-provider", "moon"], "--judge-provider: "),
        (["judge", "--folder", "/nowhere", "--endpoint", "moon"], "--judge-endpoint: 'moon' is not an http"),
        (["judge", "--folder", "/nowhere", "--timeout-seconds", "0"], "--judge-timeout-seconds: must be "),
        (["run", "--concurrency", "0"], "--concurrency: must be "),
        (
            ["e2e", "--judge-effort", "high", "--judge-timeout-seconds", "soon"],
            "--judge-timeout-seconds: expected a number greater than 0, got 'soon'",
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_a_paid_model_needs_is_asked_for(place: Workplace, words: list[str], said: str) -> None:
    done = place.command(*words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_benchmark_of_several_models_is_the_default_of_the_commands_that_are_about_one(place: Workplace) -> None:
    paid = ["--provider", "endpoint", "--endpoint", "http://127.0.0.1:9", "--sandbox", "none"]
    done = place.run("batch", "m-1", *paid, "--skip-judge", "--no-detach")
    assert "mcp-gateway-registry.yaml: 21 trials" in done.stdout, done.stdout + done.stderr
    assert (done.returncode, "m-1: http://127.0.0.1:9/v1/models does not answer" in done.stdout) == (3, True)
