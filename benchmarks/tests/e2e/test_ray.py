"""Trials on the machines of a Ray cluster: the same records, nothing lost, nothing left running."""

import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from e2e.cluster import Machines, ray_machines
from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, needs_agent
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.records.metrics import DESIGN_DOCUMENTS, Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.store.results import trial_folders

pytestmark = [pytest.mark.slow, needs_agent("claude"), pytest.mark.timeout(600)]

KEY = "sk-never-to-be-written-down"
_PROGRAM = Workplace(pathlib.Path()).words("run")[0]
_HEARD_SECONDS = 2.5
"""Within this the harness has heard what a machine knows: it asks every second."""

_OWN = {"id", "session_id", "machine", "trajectory", "platform", "load", "canaries"}
_CLOCK = {"planned_at", "first_token_seconds_median", "generation_tokens_per_sec", "latency_seconds"}


@pytest.fixture
def machines(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    with ray_machines(tmp_path, monkeypatch) as machines:
        yield machines


class Harness:
    """A person's runs of the quickstart dataset, with working folders where each machine puts them by itself."""

    def __init__(self, machines: Machines) -> None:
        machines.temporary("home").mkdir()
        self.machines = machines
        environment = {"SWETRIALS_API_KEY": KEY, "TMPDIR": str(machines.temporary("home"))}
        self.place = Workplace(machines.root, environment)

    def start(self, results: str, *arguments: str | pathlib.Path, ray: bool = True) -> subprocess.Popen[str]:
        words = ["run", "--skip-probe", "--dataset", QUICKSTART, "--output-dir", self.machines.root / results]
        cluster = ["--executor", "ray", "--ray-address", self.machines.address]
        return subprocess.Popen(
            [_PROGRAM, *map(str, (*words, *(cluster if ray else ()), *arguments))],
            cwd=BENCHMARKS, env=self.place.environ(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, results: str, *arguments: str | pathlib.Path, ray: bool = True) -> tuple[int, str]:
        run = self.start(results, *arguments, ray=ray)
        output, _ = run.communicate(timeout=240)
        return run.returncode, output

    def records(self, results: str) -> dict[str, Metrics]:
        return {folder.path.name: folder.metrics() for folder in trial_folders(self.machines.root / results)}

    def files(self, results: str) -> dict[str, bytes]:
        scope = next((self.machines.root / results).glob("*/*/*/quickstart"))
        return {str(path.relative_to(scope)): path.read_bytes() for path in scope.glob("*/**/*") if path.is_file()}


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.2)


def without_clocks_and_ids(value: object) -> object:
    """Return a record without what differs between any two runs."""
    if isinstance(value, dict):
        kept = {name: part for name, part in value.items() if name not in _OWN | _CLOCK and not name.endswith("_at")}
        return {name: without_clocks_and_ids(part) for name, part in kept.items() if not name.endswith("_seconds")}
    return [without_clocks_and_ids(part) for part in value] if isinstance(value, list) else value


def masked(record: Metrics) -> Any:  # noqa: ANN401
    return without_clocks_and_ids(orjson.loads(record.model_dump_json()))


def test_what_comes_back_is_what_a_run_at_home_leaves(machines: Machines, tmp_path: pathlib.Path) -> None:
    machines.add("left")
    machines.add("right", right=3)
    machines.cluster.wait_for_nodes()
    harness = Harness(machines)
    at_home, _ = harness.run("home", ray=False)
    code, output = harness.run("ray", "--concurrency", "3", "--ray-resources", '{"right": 1}')
    assert (at_home, code) == (0, 0), output
    assert "room for 2 trials at a time, of 3 asked for" in " ".join(output.split())

    here, there = harness.records("home"), harness.records("ray")
    assert {attempt.machine for record in there.values() for attempt in record.attempts} == {"right"}
    sealed = "open" if bubblewrap() is None else "proven"
    assert {attempt.sealing and attempt.sealing.state for r in there.values() for attempt in r.attempts} == {sealed}
    assert {name: masked(record) for name, record in there.items()} == {
        name: masked(record) for name, record in here.items()
    }
    ours, theirs = harness.files("home"), harness.files("ray")
    assert set(theirs) == set(ours)
    same = {name for name in ours if "attempts" not in name and name.endswith((".md", ".diff"))}
    assert same and {name: theirs[name] for name in same} == {name: ours[name] for name in same}
    assert not list(machines.temporary("right").glob("work-*/outbox/*"))
    assert not [path for path in machines.session.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]

    check_other_versions(harness, tmp_path)


def check_other_versions(harness: Harness, tmp_path: pathlib.Path) -> None:
    """A machine that would run something else is found before anything is spent."""
    other = tmp_path / "other"
    shutil.copytree(BENCHMARKS / "src", other / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (other / "pyproject.toml").touch()
    with (other / "src" / "swetrials" / "__init__.py").open("a") as file:
        file.write("# an older commit\n")
    harness.machines.add("old", {"PYTHONPATH": str(other / "src")}, old=1)
    harness.machines.add("bare", {"SWETRIALS_HOME": str(other)}, bare=1)
    harness.machines.cluster.wait_for_nodes()
    for resources, told, fix in (
        ('{"old": 1}', "old (", "bring the clone to this one's commit"),
        ('{"bare": 1}', "no claude-code there", "make setup"),
        ('{"nowhere": 1}', "none of 4 offers", "ray start --address"),
    ):
        code, output = harness.run("refused", "--ray-resources", resources)
        assert (code, told in output, fix in output) == (3, True, True), output
    assert not harness.records("refused")


def test_a_lost_machine_loses_nothing_and_a_stopped_run_leaves_nothing(
    machines: Machines, tmp_path: pathlib.Path
) -> None:
    machines.add("left")
    right = machines.add("right")
    machines.cluster.wait_for_nodes()
    harness = Harness(machines)
    check_interrupted(harness)

    scenario = tmp_path / "slow.json"
    scenario.write_bytes(orjson.dumps({"schema_version": "1.0", "name": "slow", "scripts": [slow_script()]}))
    shared = tmp_path / "shared"
    shared.mkdir()
    run = harness.start("lost", "--concurrency", "3", "--scenario", scenario, "--shared-dir", shared)
    until(lambda: (spaces := at_work(machines)) and all((space / "artifacts/lld.md").exists() for space in spaces))
    time.sleep(_HEARD_SECONDS)
    machines.cluster.remove_node(right, allow_graceful=False)
    output, _ = run.communicate(timeout=240)
    assert run.returncode == 0, output
    assert "Raylet" not in output
    records = harness.records("lost")
    assert {record.outcome.kind for record in records.values()} == {OutcomeKind.COMPLETED}
    again = [record for record in records.values() if len(record.attempts) > 1]
    assert len(records) == 3 and again
    for record in again:
        lost, made_again = record.attempts
        assert (lost.machine, lost.ended_by, made_again.machine) == ("right", "lost", "left")
        assert (lost.reason, made_again.reason, made_again.number) == ("first", "first", 2)
        assert lost.usage.headline.usage.total and lost.usage.headline.completeness == "lower_bound"
        assert "machine_lost" in {finding.code for finding in record.findings}
        assert record.usage.headline.completeness == "lower_bound"
    until(lambda: not machines.agents(), 30)
    until(lambda: not list(machines.temporary("right").glob("work-*/*.lock")), 30)
    until(lambda: not list(shared.iterdir()), 30)
    assert len(list((tmp_path / "lost").glob("**/stream.jsonl"))) == 3


def check_interrupted(harness: Harness) -> None:
    """Ctrl-C stops the agents of all machines and keeps what they had; killed without a warning, they stop as well."""
    machines = harness.machines
    for number, results in ((signal.SIGINT, "interrupted"), (signal.SIGKILL, "killed")):
        run = harness.start(results, "--concurrency", "3", "--fault", "hang_mid_stream")
        until(lambda: machines.agents("left") and machines.agents("right") and len(attempts(machines)) == 3)
        run.send_signal(number)
        output, _ = run.communicate(timeout=60)
        if number == signal.SIGINT:
            assert run.returncode == 130, output
            assert machines.agents() == []
            records = harness.records(results).values()
            assert {record.outcome.kind for record in records} == {OutcomeKind.INTERRUPTED}
            assert [attempt.survivors for record in records for attempt in record.attempts] == [0] * 3
        until(lambda: not machines.agents(), 30)


def at_work(machines: Machines) -> list[pathlib.Path]:
    return [folder.parent for folder in machines.temporary("right").glob("work-*/*/artifacts")]


def attempts(machines: Machines) -> set[str]:
    return {process.environ()["ATTEMPT_ID"] for process in machines.agents()}


def slow_script() -> dict[str, object]:
    documents = [*DESIGN_DOCUMENTS, "implementation.md"]
    writes = [{"write": {"path": f"${{artifacts_dir}}/{name}", "content": f"# {name}\n"}} for name in documents]
    steps = [
        {"say": "I write everything down.", "all": writes},
        {"say": "I take my time.", "shell": "sleep 5"},
        {"say": "I make the change.", "shell": "echo changed >> notes.txt"},
        {"say": "Done."},
    ]
    return {"when": "task_id: ", "steps": steps}
