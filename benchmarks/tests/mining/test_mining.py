"""Mining end to end, on a repository whose commits are of known kinds."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from mining.planted import Planted, checks_of, good, planted_history, with_base
from swetrials.mining.candidates import Filters
from swetrials.mining.history import open_history
from swetrials.mining.mining_run import classify
from swetrials.records.mined import MINING_REFUSAL_REASONS, MinedVerdict, MiningRefusal
from swetrials.store.documents import load_dataset
from swetrials.workspace.repositories import Repositories

PROGRAM = str(Path(sys.executable).parent / "swetrials")

pytestmark = pytest.mark.xdist_group("mining")


def mine(repo: Path, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(repo, out, *words), capture_output=True, text=True, check=False)


def command(repo: Path, out: Path, *words: str) -> list[str]:
    beside = ["--clone-dir", str(out.parent / "work"), "--times", "2", "--limit-seconds", "20"]
    return [PROGRAM, "mine", str(repo), "--out", str(out), *beside, *words]


def verdicts(out: Path) -> dict[str, MinedVerdict]:
    lines = (out / "journal.jsonl").read_bytes().splitlines()
    return {verdict.commit: verdict for verdict in map(MinedVerdict.model_validate_json, lines)}


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and bytes of everything below a folder, git's own files among it."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def dataset(out: Path) -> dict[str, bytes]:
    """Return what mining has written, without times and the journal."""
    found = {}
    for name, (_, data) in content(out).items():
        if name.endswith(".checked.json"):
            record = orjson.loads(data)
            for task in record["tasks"].values():
                task["seconds"], task["checked_on"] = {}, ""
            data = orjson.dumps(record)
        if not name.endswith(".jsonl"):
            found[name] = data
    return found


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return planted_history(tmp_path_factory.mktemp("planted") / "calc")


def test_files_alone_tell_what_is_no_candidate(history: Planted, tmp_path: Path) -> None:
    opened = open_history(Repositories.below(tmp_path), str(history.root))
    assert len(history.expected) >= 40
    assert len(set(history.kinds.values())) >= 15
    found = classify(opened.changes(), Filters())

    later = {"kept", "binary-or-lfs"}  # that git LFS keeps a file is in its content
    known: list[MiningRefusal] = [one for one in MINING_REFUSAL_REASONS if found.refused[one] and one not in later]
    wanted = list(history.expected.values())
    assert len(known) == 10
    assert {one: found.refused[one] for one in known} == {one: wanted.count(one) for one in known}
    assert found.commits == len(history.expected)


@pytest.mark.slow
@pytest.mark.once
def test_exactly_the_good_ones_are_kept_and_each_other_has_its_own_reason(history: Planted, tmp_path: Path) -> None:
    before = content(history.root)
    out = tmp_path / "mined"
    done = mine(history.root, out)
    assert done.returncode == 0, done.stderr + done.stdout
    told = verdicts(out)
    wrong = {
        history.kinds[commit]: (history.expected[commit], verdict.reason or "kept", verdict.told)
        for commit, verdict in told.items()
        if history.expected[commit] != (verdict.reason or "kept")
    }
    assert not wrong, wrong
    kept = [commit for commit, expected in history.expected.items() if expected == "kept"]
    assert sorted(commit for commit, verdict in told.items() if verdict.task) == sorted(kept)
    assert content(history.root) == before

    loaded = load_dataset(out / "calc-mined.yaml")
    assert len(loaded.dataset.tasks) == len(kept)
    text = loaded.path.read_text()
    assert not any(told[commit].commit[:9] in str(told[commit].task) for commit in kept)
    assert "#201" not in text and "Signed-off" not in text
    counted = len(history.expected)
    assert f"mined: {counted} commits, {len(kept)} kept, {counted - len(kept)} refused" in done.stdout
    check = subprocess.run(
        [PROGRAM, "dataset", "check", str(loaded.path), "--times", "2"],
        capture_output=True,
        text=True,
    )
    assert check.returncode == 0 and check.stdout.count("kept from") == len(kept), check.stdout + check.stderr


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    planted = with_base(tmp_path_factory.mktemp("small") / "calc", ["m01", "m02", "m03", "m04", "m05"])
    for number in range(1, 5):
        planted.commit("plain", "kept", f"Count one more in counter {number}", good(f"m0{number}"))
    planted.commit(
        "vacuous",
        "base-passes",
        "Count on and look at nothing",
        {
            **good("m05"),
            "tests/test_m05.py": checks_of("m05", "pass"),
        },
    )
    return planted


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_dataset(small: Planted, tmp_path: Path) -> None:
    whole, broken = tmp_path / "a" / "mined", tmp_path / "b" / "mined"
    began = time.monotonic()
    assert mine(small.root, whole).returncode == 0
    took = time.monotonic() - began
    chance = random.Random(15)
    tried: list[str] = []
    for _ in range(4):
        process = subprocess.Popen(
            command(small.root, broken), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(chance.uniform(0.5, took * 0.7))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        known = (broken / "journal.jsonl").read_text().count("\n") if (broken / "journal.jsonl").exists() else 0
        tried.append(str(known))
    done = mine(small.root, broken)
    assert done.returncode == 0, done.stderr
    assert dataset(broken) == dataset(whole)
    lines = [orjson.loads(line)["commit"] for line in (broken / "journal.jsonl").read_bytes().splitlines()]
    assert len(lines) == len(set(lines)) == 5, tried
