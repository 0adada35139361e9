"""The quickstart with the real agents: the same command, another ``--agent``. Claude Code's is test_quickstart.py."""

import json
import pathlib

import pytest

from e2e.agents import CODEX, OMP, OPENCODE, PI, AgentUnderTest, each
from e2e.harness import QUICKSTART, Workplace, needs_agent
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.records.metrics import PATCH, Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.store.documents import load_dataset

pytestmark = pytest.mark.slow


@pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
@each(CODEX, OPENCODE, PI, OMP)
def test_the_quickstart_ends_as_with_any_agent(tmp_path: pathlib.Path, agent: AgentUnderTest) -> None:
    records = run_and_judge(tmp_path, agent, "--sandbox", "bubblewrap")
    assert {name: record.outcome.kind for name, record in records.items()} == {
        "word-tally": OutcomeKind.COMPLETED,
        "slugify-unicode": OutcomeKind.COMPLETED,
        "temperature-table": OutcomeKind.INCOMPLETE_ARTIFACTS,
    }
    passed = {name: r.evaluation.tests.passed for name, r in records.items() if r.evaluation and r.evaluation.tests}
    assert passed == {"word-tally": True, "slugify-unicode": False, "temperature-table": True}
    check_witnesses(agent, records)


@each(CODEX, OPENCODE, PI, OMP)
def test_it_works_without_a_sandbox_too(tmp_path: pathlib.Path, agent: AgentUnderTest) -> None:
    records = run_and_judge(tmp_path, agent, "--sandbox", "none", "--tasks", "word-tally")
    record = records["word-tally"]
    assert record.outcome.kind is OutcomeKind.COMPLETED
    assert record.evaluation is not None and record.evaluation.tests is not None and record.evaluation.tests.passed
    check_witnesses(agent, records)


def run_and_judge(folder: pathlib.Path, agent: AgentUnderTest, *words: str) -> dict[str, Metrics]:
    place = Workplace(folder)
    done = place.run(
        "e2e", "--agent", agent.name, "--dataset", QUICKSTART, "--judge", "tests", "--yes", *words,
        timeout_seconds=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return place.records()


def check_witnesses(agent: AgentUnderTest, records: dict[str, Metrics]) -> None:
    """Agent, meter and server agree to the token."""
    for record in records.values():
        reported, metered, served = record.usage.reported, record.usage.metered, record.usage.served
        assert reported is not None and metered is not None and served is not None
        assert agent.buckets(reported.usage) == agent.buckets(metered.usage) == agent.buckets(served.usage)
        assert reported.completeness == "complete"
        if agent.tells_requests:
            assert reported.requests == record.num_turns == served.requests
        assert record.findings == ()


@needs_agent("codex")
def test_the_commands_of_codexs_model_reach_the_artifacts_and_loopback_but_not_the_key(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        'schema_version: "1.0"\nname: spy\nscripts:\n  - when: "task_id: word-tally"\n    steps:\n'
        "      - shell: env > ${artifacts_dir}/lld.md\n"
        '      - shell: python3 -c \'import socket; socket.create_server(("127.0.0.1", 0)); print("open")\''
        " > ${artifacts_dir}/review.md\n"
    )
    done = place.run(
        "run", "--agent", "codex", "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario", scenario,
        "--skip-probe",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folder = next(path.parent for path in place.results.rglob("lld.md"))
    names = {line.split("=", 1)[0] for line in (folder / "lld.md").read_text().splitlines()}
    assert "PATH" in names
    assert not [name for name in names if name.startswith("SWETRIALS")]
    assert (folder / "review.md").read_text() == "open\n"


@needs_agent("opencode")
def test_opencode_gets_the_prompt_as_it_is_and_installs_nothing(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        'schema_version: "1.0"\nname: spy\nscripts:\n  - when: "task_id: word-tally"\n    steps:\n'
        "      - shell: ls -A $HOME/.config/opencode/node_modules > ${artifacts_dir}/lld.md\n"
        "      - say: done\n"
    )
    done = place.run(
        "run", "--agent", "opencode", "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario", scenario,
        "--skip-probe", "--keep-bodies",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folder = next(path.parent for path in place.results.rglob("lld.md"))
    assert (folder / "lld.md").read_text() == ".keep\n"
    first = min(folder.rglob("*.request"), key=lambda path: int(path.stem))
    text = json.loads(first.read_bytes())["messages"][0]["content"][0]["text"]
    task = next(task for task in load_dataset(QUICKSTART).dataset.tasks if task.id == "word-tally")
    assert f"problem_statement:\n{task.problem_statement.strip()}" in text
    assert not text.startswith('"')
    assert not (folder / PATCH).exists()
