"""The scripts: what they install on a bare machine, what they say when they cannot, and that the doors open."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from swetrials.store.project import find_project

ROOT = find_project().root
UV_VERSION = "0.13.9"
NEEDED_PROGRAMS = ("cat", "dirname", "env", "grep", "mkdir", "mktemp", "mv", "rm", "sh", "tail")


def run(command: Sequence[str | Path], cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Make a project that holds uv.sh alone, and a PATH with a shell's usual programs, no uv and an old Python."""
    scripts = tmp_path / "project" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "uv.sh", scripts)
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "home").mkdir()
    for name in NEEDED_PROGRAMS:
        found = shutil.which(name, path=os.defpath)
        assert found, name
        (programs / name).symlink_to(found)
    write_program(programs / "python3", "exit 1")
    return tmp_path


def uv_sh(bare: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {
        "PATH": str(bare / "programs"),
        "HOME": str(bare / "home"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": (bare / "index").as_uri(),
        "PIP_RETRIES": "0",
    }
    return run([bare / "project" / "scripts" / "uv.sh", "hello"], bare, {**clean, **environment})


def add_python(bare: Path) -> None:
    pytest.importorskip("ensurepip", reason="this Python can make no environment with pip")
    write_program(bare / "programs" / "python3.12", f'exec "{sys.executable}" "$@"')


def add_uv_to_index(bare: Path) -> None:
    """Put a wheel of uv's name and version, with a program that repeats its arguments, into the index."""
    folder = bare / "index" / "uv"
    folder.mkdir(parents=True)
    name = f"uv-{UV_VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        program = zipfile.ZipInfo(f"uv-{UV_VERSION}.data/scripts/uv")
        program.external_attr = 0o100755 << 16
        wheel.writestr(program, '#!/bin/sh\necho "uv says: $*"\n')
        info = f"uv-{UV_VERSION}.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: uv\nVersion: {UV_VERSION}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    (folder / "index.html").write_text(f'<a href="{name}">{name}</a>')


def test_without_a_new_enough_python_one_line_says_so(bare: Path) -> None:
    done = uv_sh(bare)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "setup: Python 3.11 or newer is needed and was not found on PATH\n"
    assert not (bare / "project" / ".tools").exists()


@pytest.mark.slow
def test_uv_is_installed_once_whatever_pip_is_set_to(bare: Path) -> None:
    add_python(bare)
    add_uv_to_index(bare)
    hostile = {
        "PIP_USER": "1",
        "PIP_REQUIRE_VIRTUALENV": "1",
        "PIP_TARGET": str(bare / "target"),
        "PIP_NO_BINARY": ":all:",
    }

    first, second = uv_sh(bare, **hostile), uv_sh(bare, **hostile)

    assert (first.returncode, first.stdout) == (0, "uv says: hello\n"), first.stderr
    assert first.stderr.count("\n") == 1
    assert f"installing uv {UV_VERSION}" in first.stderr
    assert (second.returncode, second.stdout, second.stderr) == (0, "uv says: hello\n", "")
    assert sorted(path.name for path in (bare / "project" / ".tools").iterdir() if path.name != "cache") == ["uv"]
    assert list((bare / "home").iterdir()) == []
    assert not (bare / "target").exists()


def test_a_uv_on_path_is_used(bare: Path) -> None:
    write_program(bare / "programs" / "uv", 'echo "mine: $UV_PYTHON_DOWNLOADS $*"')
    done = uv_sh(bare)
    assert done.stdout == "mine: never hello\n"
    assert not (bare / "project" / ".tools").exists()


@pytest.mark.slow
def test_an_index_without_uv_is_told_in_one_line_and_leaves_nothing(bare: Path) -> None:
    add_python(bare)
    (bare / "index").mkdir()

    done = uv_sh(bare)

    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == [
        f"setup: pip could not install uv {UV_VERSION}, and no uv is on PATH: "
        f"ERROR: No matching distribution found for uv=={UV_VERSION}"
    ]
    assert [path.name for path in (bare / "project" / ".tools").glob("uv*")] == ["uv"]
    assert not (bare / "project" / ".tools" / "uv" / "bin" / "uv").exists()


@pytest.mark.slow
def test_setup_is_silent_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    done = run([ROOT / "scripts" / "setup.sh"], tmp_path, os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("run-swe-headless.py", "run"),
        ("dataset_loader.py", "dataset validate"),
        ("codex_judge.py", "judge"),
        ("summarize_run.py", "summarize"),
        ("run-swe-router-headless.py", "router inputs"),
        ("eval_swe_router.py", "router evaluate"),
    ],
)
def test_a_documented_name_opens_its_command(script: str, command: str, tmp_path: Path) -> None:
    done = run([sys.executable, ROOT / "scripts" / script, "--help"], tmp_path, os.environ)
    assert done.returncode == 0, done.stderr
    assert f"swetrials {command}" in done.stdout


def test_the_whole_flow_opens_from_any_folder(tmp_path: Path) -> None:
    done = run([ROOT / "scripts" / "run-e2e-benchmark.sh", "--help"], tmp_path, os.environ)
    assert done.returncode == 0, done.stderr
    assert "swetrials e2e" in done.stdout
    assert list(tmp_path.iterdir()) == []


HARMFUL = 'a "b" $(touch harmed); touch harmed #'


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], []),
        (["rehearsal"], ["--provider=rehearsal"]),
        (["bedrock", "opus-5[1m]"], ["--provider=bedrock", "--model=opus-5[1m]"]),
        (
            ["vllm", "m", "my tasks.yaml", "--yes", "--tasks", "a"],
            ["--provider=vllm", "--model=m", "--dataset=my tasks.yaml", "--yes", "--tasks", "a"],
        ),
        (["vllm", "--model", "m", "x.yaml"], ["--provider=vllm", "--model", "m", "x.yaml"]),
        (["--provider", "vllm", "--yes"], ["--provider", "vllm", "--yes"]),
        (["vllm", "m", "d.yaml", "more"], ["--provider=vllm", "--model=m", "--dataset=d.yaml", "more"]),
        (["vllm", HARMFUL], ["--provider=vllm", f"--model={HARMFUL}"]),
    ],
)
def test_the_first_words_of_the_whole_flow_may_be_given_by_position(
    bare: Path, given: list[str], passed: list[str]
) -> None:
    shutil.copy(ROOT / "scripts" / "run-e2e-benchmark.sh", bare / "project" / "scripts")
    write_program(bare / "programs" / "uv", 'printf "%s\\n" "$@"')
    environment = {"PATH": str(bare / "programs"), "HOME": str(bare / "home")}
    done = run([bare / "project" / "scripts" / "run-e2e-benchmark.sh", *given], bare, environment)
    words = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert words[words.index("swetrials") :] == ["swetrials", "e2e", *passed]
    assert not (bare / "harmed").exists()
