"""What of the invoker's environment reaches an attempt."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from swetrials.workspace import variables as variables_module
from swetrials.workspace.variables import allowed_environment, search_path, toolchain_roots

HOME = Path("/private/home")
TEMPORARY = Path("/private/tmp")


def allowed(**base: str) -> dict[str, str]:
    return allowed_environment(HOME, TEMPORARY, base={"PATH": "/usr/bin"} | base)


def test_of_an_empty_environment_comes_what_every_program_needs() -> None:
    assert allowed_environment(HOME, TEMPORARY, base={}) == {
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": "/private/home",
        "NO_PROXY": "127.0.0.1,localhost,::1",
        "PATH": os.defpath,
        "TEMP": "/private/tmp",
        "TMP": "/private/tmp",
        "TMPDIR": "/private/tmp",
        "XDG_CACHE_HOME": "/private/home/.cache",
        "XDG_CONFIG_HOME": "/private/home/.config",
        "XDG_DATA_HOME": "/private/home/.local/share",
        "XDG_STATE_HOME": "/private/home/.local/state",
        "no_proxy": "127.0.0.1,localhost,::1",
    }


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "AWS_SECRET_ACCESS_KEY",
        "CARGO_HOME",
        "CLAUDE_CODE_USE_BEDROCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "DOCKER_HOST",
        "GIT_CONFIG_GLOBAL",
        "GIT_DIR",
        "GITHUB_TOKEN",
        "KUBECONFIG",
        "LC_API_KEY",
        "LC_SECRET",
        "LD_PRELOAD",
        "NODE_OPTIONS",
        "OPENAI_API_KEY",
        "PYTHONPATH",
        "SSH_AUTH_SOCK",
        "SWETRIALS_API_KEY",
        "SWETRIALS_MODEL",
        "VIRTUAL_ENV",
        "XDG_RUNTIME_DIR",
    ],
)
def test_the_rest_stays_behind(name: str) -> None:
    assert name not in allowed(**{name: "value"})


@pytest.mark.parametrize(
    "name",
    [
        "HTTPS_PROXY",
        "JAVA_HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "NODE_EXTRA_CA_CERTS",
        "PIP_INDEX_URL",
        "RUSTUP_HOME",
        "SHELL",
        "SSL_CERT_FILE",
        "TERM",
        "TZ",
        "USER",
        "all_proxy",
        "http_proxy",
    ],
)
def test_what_is_harmless_and_needed_comes_through(name: str) -> None:
    assert allowed(**{name: "value"})[name] == "value"


def test_home_and_temporary_folders_are_the_attempts_own() -> None:
    environment = allowed(HOME="/me", TMPDIR="/mine", XDG_CONFIG_HOME="/me/.config", GIT_TERMINAL_PROMPT="1")
    assert environment["HOME"] == "/private/home"
    assert environment["TMPDIR"] == "/private/tmp"
    assert environment["XDG_CONFIG_HOME"] == "/private/home/.config"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("https_proxy", "http://me:pass@proxy.invalid:3128"),
        ("HTTP_PROXY", "http://token@proxy.invalid"),
        ("PIP_INDEX_URL", "https://me:pass@mirror.invalid/simple"),
        ("GOPROXY", "direct,https://me:pass@mirror.invalid"),
    ],
)
def test_a_url_with_credentials_is_a_secret(name: str, value: str) -> None:
    environment = allowed(**{name: value})
    assert name not in environment
    assert not any("pass" in kept or "token" in kept for kept in environment.values())


def test_loopback_is_added_to_both_lists_of_exceptions() -> None:
    environment = allowed(NO_PROXY="corp.invalid, 127.0.0.1", no_proxy="other.invalid")
    assert environment["NO_PROXY"] == environment["no_proxy"]
    assert environment["NO_PROXY"].split(",") == ["corp.invalid", "127.0.0.1", "other.invalid", "localhost", "::1"]


def test_extra_variables_win() -> None:
    extra = {"ANTHROPIC_API_KEY": "given on purpose", "LANG": "C", "HOME": "/other"}
    environment = allowed_environment(HOME, TEMPORARY, extra, base={"LANG": "de_DE"})
    assert extra.items() <= environment.items()


def test_the_search_path_has_absolute_folders_outside_our_own_environment() -> None:
    assert sys.prefix != sys.base_prefix, "the tests run in a virtual environment"
    assert search_path(f"{sys.prefix}/bin:/usr/local/bin::.:bin:/usr/bin") == "/usr/local/bin:/usr/bin"


def test_toolchains_are_found_at_their_default_place(tmp_path: Path) -> None:
    (tmp_path / ".rustup").mkdir()
    base = {"HOME": str(tmp_path), "PYENV_ROOT": "/opt/pyenv", "GOROOT": ""}
    assert toolchain_roots(base) == {"PYENV_ROOT": "/opt/pyenv", "RUSTUP_HOME": f"{tmp_path}/.rustup"}
    assert allowed(**base)["RUSTUP_HOME"] == f"{tmp_path}/.rustup"


def test_the_invokers_own_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Antarctica/Troll")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abc")
    environment = allowed_environment(HOME, TEMPORARY)
    assert environment["TZ"] == "Antarctica/Troll"
    assert "AWS_SECRET_ACCESS_KEY" not in environment


def test_no_variable_names_the_harness() -> None:
    assert not [name for name in allowed_environment(HOME, TEMPORARY) if "swetrials" in name.lower()]


@pytest.mark.parametrize("closed_to_us", [True, False])
def test_a_closed_folder_on_the_search_path_or_for_a_home_is_passed_over(tmp_path: Path, closed_to_us: bool) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(tempfile.gettempdir()) and folder.owner() == tmp_path.owner():
            folder.chmod(folder.stat().st_mode | 0o011)  # pytest makes them for their owner alone
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / ".pyenv").mkdir()
    home.chmod(0o000 if closed_to_us else 0o755)
    code = (
        "from swetrials.workspace.variables import search_path, toolchain_roots\n"
        f"print(search_path('{home}/bin:/usr/bin'), toolchain_roots({{'HOME': '{home}'}}))"
    )
    environment = {"PYTHONPATH": str(Path(variables_module.__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"}
    ordinary: dict[str, Any] = {"user": 60_123, "group": 60_123, "extra_groups": []} if os.geteuid() == 0 else {}
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    try:
        done = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, **ordinary)
    except PermissionError:
        pytest.skip(f"an ordinary user may not run {python}")
    finally:
        home.chmod(0o755)
    seen = "/usr/bin {}" if closed_to_us else f"{home}/bin:/usr/bin {{'PYENV_ROOT': '{home}/.pyenv'}}"
    assert done.stdout.strip() == seen, done.stderr
