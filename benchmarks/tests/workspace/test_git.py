"""Running git: errors, safety and limits."""

import re
import time
from pathlib import Path

import pytest

from swetrials.workspace.git import GitError, git_version, run_git, sealed_environment, shown, users_environment
from swetrials.workspace.processes import MARK, stop_marked
from workspace.sources import git, new_repository


def test_a_failure_is_one_line_with_purpose_words_and_mend(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        run_git(
            "fetch",
            "--",
            str(tmp_path / "nowhere"),
            purpose="fetch it",
            fix="check the address",
            environment=sealed_environment(new_repository(tmp_path / "here") / ".git"),
        )
    words = f"'{tmp_path}/nowhere' does not appear to be a git repository"
    assert str(caught.value) == f"cannot fetch it: {words}; check the address"


def test_a_missing_git_is_said(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"^cannot look: git: No such file or directory; is git installed\?$"):
        run_git("version", purpose="look", environment={"PATH": str(tmp_path)})


def test_transports_that_run_commands_are_refused(tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    with pytest.raises(GitError, match="transport 'ext' not allowed"):
        run_git(
            "ls-remote",
            "--",
            f"ext::touch {pwned}",
            purpose="look",
            environment=users_environment() | {"GIT_CONFIG_PARAMETERS": "'protocol.ext.allow'='always'"},
        )
    assert not pwned.exists()


def test_hooks_of_the_persons_configuration_do_not_run(tmp_path: Path) -> None:
    source = new_repository(tmp_path / "source")
    git(source, "commit", "--allow-empty", "--message", "one")
    hook = tmp_path / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (tmp_path / "config").write_text(f"[core]\n\thooksPath = {hook.parent}\n")
    person = {"GIT_CONFIG_GLOBAL": str(tmp_path / "config")}
    target = new_repository(tmp_path / "target")

    run_git(
        f"--git-dir={target}/.git",
        "fetch",
        "--",
        str(source),
        "main:other",
        purpose="fetch",
        environment=users_environment() | person,
    )

    assert git(target, "rev-parse", "other") == git(source, "rev-parse", "main")
    assert not (tmp_path / "ran").exists()


def test_the_persons_configuration_holds_but_not_the_repository_of_a_surrounding_hook() -> None:
    base = {"GIT_DIR": "/elsewhere", "GIT_INDEX_FILE": "/elsewhere/index", "GIT_CONFIG_GLOBAL": "/cfg", "HOME": "/me"}
    environment = users_environment(base)
    assert not {"GIT_DIR", "GIT_INDEX_FILE"} & environment.keys()
    assert environment["GIT_CONFIG_GLOBAL"] == "/cfg"
    assert environment["HOME"] == "/me"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


def test_git_and_its_helpers_end_at_the_limit() -> None:
    mark = "git-limit-test"
    started = time.monotonic()
    with pytest.raises(GitError, match=r"cannot wait: git took longer than 0\.3 s"):
        run_git(
            *("-c", "alias.wait=!sleep 60; true", "wait"),
            purpose="wait",
            environment=users_environment() | {MARK: mark},
            limit_seconds=0.3,
        )
    assert time.monotonic() - started < 20
    time.sleep(0.1)
    assert stop_marked(mark) == 0


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://me:t0ken@example.invalid/a/b.git", "https://example.invalid/a/b.git"),
        ("https://t0ken@example.invalid:8443/b", "https://example.invalid:8443/b"),
        ("https://example.invalid/a@b", "https://example.invalid/a@b"),
        ("git@example.invalid:a/b.git", "git@example.invalid:a/b.git"),
        ("/srv/a@b", "/srv/a@b"),
    ],
)
def test_addresses_are_shown_without_credentials(address: str, expected: str) -> None:
    assert shown(address) == expected


def test_the_version_is_a_number() -> None:
    assert re.fullmatch(r"\d+\.\d+(\.\w+)*", git_version())
