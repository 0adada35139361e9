"""What the command loads before it does anything, and what becomes of a start that is interrupted."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import swetrials
from kinds import first_is_quick
from swetrials.cli.app import app


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401  Typer's own
    """Yield the words of every command."""
    for name, child in group.commands.items():
        if hasattr(child, "commands"):
            yield from commands(child, (*path, name))
        else:
            yield (*path, name)


HEAVY = {"anyio", "asyncio", "duckdb", "httpx", "jinja2", "numpy", "pydantic", "pydantic_core", "rich", "yaml"}
LOADED = (
    "import atexit, sys; atexit.register(lambda: print(chr(10), *{name.split(chr(46))[0] for name in sys.modules}))"
)
COMMANDS = list(commands(typer.main.get_command(app)))
RUN = "from swetrials.cli.start import main; main({words!r})"


@pytest.mark.parametrize(
    "words",
    ["--version", "--help", "run --help", "e2e --help", "results --help", "serve --help", "serve start --help",
     "dataset validate --help", "router --help", "router build --help", "agents list --help", "no-such-command"],
)  # fmt: skip
def test_what_only_speaks_of_itself_loads_nothing_heavy(words: str) -> None:
    code = f"{LOADED}; {RUN.format(words=words.split())}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "typer" in loaded, done.stderr
    assert not loaded & HEAVY


def test_the_help_of_every_command_loads_nothing_heavy() -> None:
    # One process for all: what one of them loaded would be seen after it.
    shown = [" ".join(words) for words in COMMANDS if words[0] != "batch"]  # whose help ends with the catalogue
    code = f"""
import contextlib, io, sys
from swetrials.cli.app import app
for words in {shown!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        app([*words.split(), "--help"], prog_name="swetrials")
    print(words, *{{name.split(".")[0] for name in sys.modules}} & {HEAVY!r}, sep=": ")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == shown, done.stderr


@first_is_quick("words", ["results {}", "cost {}", "report {}", "answer {}"])
def test_what_reads_results_loads_nothing_that_makes_them(words: str, tmp_path: Path) -> None:
    there_is_none = words.format(tmp_path / "none").split()
    code = f"{LOADED.replace('split(chr(46))[0]', 'strip()')}; {RUN.format(words=there_is_none)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert str(tmp_path / "none") in done.stderr
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "swetrials.store.results" in loaded
    assert not loaded & {"httpx", "swetrials.agents", "swetrials.hosting", "swetrials.runs.prepared_run"}


def test_interrupted_while_it_loads_it_ends_as_interrupted(tmp_path: Path) -> None:
    # Stands in for a slow disk: the first thing that the command line loads is interrupted.
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # what is begun in the background ignores it
    (tmp_path / "typer.py").write_text(f"import signal; {heard}; signal.raise_signal(signal.SIGINT)\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {RUN.format(words=['--version'])}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted; nothing was begun\n")


def test_setup_compiles_the_projects_own_code_where_nothing_else_does(tmp_path: Path) -> None:
    package = Path(swetrials.__file__).parent
    clone = tmp_path / "benchmarks"
    shutil.copytree(package, clone / "src" / "swetrials", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(package.parents[1] / "scripts", clone / "scripts")
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / ".compiled").touch()
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    for name in (clone / ".venv" / "bin" / "swetrials", tmp_path / "bin" / "uv"):
        name.parent.mkdir(exist_ok=True)
        name.write_text("#!/bin/sh\n")  # there is nothing for these two to install
        name.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.defpath}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [str(clone / "scripts" / "setup.sh")], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    sources = {path.stem for path in clone.rglob("src/**/*.py")}
    compiled = {path.name.split(".")[0] for path in clone.rglob("src/**/__pycache__/*.pyc")}
    assert compiled == sources
