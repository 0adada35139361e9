"""What is said of the machines of a cluster before anything is spent."""

import pickle
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from swetrials.agents.packages import PACKAGES
from swetrials.environments.base import Absence, AbsentError
from swetrials.trials.executors.worker import OUTBOXES
from swetrials.trials.executors.worker_checks import (
    Facts,
    Question,
    facts_checks,
    facts_here,
    harness_check,
    harness_here,
)
from swetrials.workspace.space import private_root

CLAUDE = PACKAGES["claude"]
ELSEWHERE = "http://10.0.0.7:8000"
QUESTION = Question(CLAUDE, "host", None, None, ELSEWHERE)
HERE = Facts(CLAUDE.version, "host", 50 * 10**9, "boot-1/net-1", "", True)
SHARED = Path("/shared/.file")

DIFFERENCES = [
    ({"agent_version": "0.1"}, {}, "claude-code 0.1 there, ", "make setup"),
    ({"agent_version": None}, {}, "no claude-code there, ", "make setup"),
    ({"environment": "bubblewrap"}, {}, "environment bubblewrap there, host here", "--environment host"),
    ({"free_bytes": 10**9}, {}, "1.0 GB free, 2 GB needed", "free space on b"),
    ({"unreached": "No route to host"}, {}, f"{ELSEWHERE} cannot be reached from there: No route", "mend --endpoint"),
    ({"place": "boot-2/net-1"}, {"base_url": "http://127.0.0.1:8000"}, "means another machine there", "--endpoint"),
    ({"shares": False}, {"shared_file": SHARED}, "/shared is not shared with it", "leave --shared-dir out"),
]


@pytest.mark.parametrize(("facts", "asked", "detail", "fix"), DIFFERENCES, ids=[d[2] for d in DIFFERENCES])
def test_what_differs_is_named_with_the_machine_and_what_mends_it(
    facts: dict[str, object], asked: dict[str, object], detail: str, fix: str
) -> None:
    [check] = facts_checks("b (10.0.0.3)", replace(HERE, **facts), HERE, replace(QUESTION, **asked))  # type: ignore[arg-type]
    assert check.status == "failed"
    assert check.detail.startswith("b (10.0.0.3): ") and detail in check.detail
    assert fix in check.fix


def test_a_machine_that_is_like_this_one_is_good() -> None:
    [check] = facts_checks("b", replace(HERE, place="boot-2/net-1"), HERE, QUESTION)
    assert (check.status, check.detail) == ("ok", f"b: claude-code {CLAUDE.version}, environment host, 50.0 GB free")


def test_loopback_on_one_machine_is_one_place() -> None:
    [check] = facts_checks("b", HERE, HERE, replace(QUESTION, base_url="http://127.0.0.1:8000"))
    assert check.status == "ok"


def test_what_keeps_a_machine_from_answering_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = facts_here(replace(QUESTION, clone_dir=str(tmp_path / "file")))
    assert isinstance(answer, str)
    [check] = facts_checks("b", answer, HERE, QUESTION)
    assert check.status == "failed" and "cannot be the working folder" in check.detail


def test_this_machines_facts(tmp_path: Path) -> None:
    old = private_root(tmp_path) / OUTBOXES / "task-1-0123abcd"
    old.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        question = Question(CLAUDE, "host", str(tmp_path), tmp_path / "none", f"http://127.0.0.1:{port}")
        facts = facts_here(question)
    assert isinstance(facts, Facts)
    assert (facts.environment, facts.unreached, facts.shares) == ("host", "", False)
    assert old.exists(), "an outbox that has just been made is somebody's"
    assert facts.place and facts.place == replace(facts, environment="").place
    refused = facts_here(question)
    assert isinstance(refused, Facts) and "refused" in refused.unreached


def test_another_source_of_the_same_version_is_another_harness() -> None:
    here = harness_here()
    assert harness_check("b", here, here) is None
    for there in ("0.1.0+0123456789ab", None):
        check = harness_check("b (10.0.0.3)", there, here)
        assert check is not None and check.status == "failed"
        assert check.detail.startswith("b (10.0.0.3): ") and "make setup" in check.fix


def test_why_a_machine_has_no_such_environment_comes_back_whole() -> None:
    error = pickle.loads(pickle.dumps(AbsentError(Absence("it does not work there", "mend it"))))
    assert (str(error), error.absence.fix) == ("it does not work there; mend it", "mend it")
