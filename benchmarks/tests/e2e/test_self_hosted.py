"""The commands of the benchmark skill for a self-hosted model, one after the other, with a stand-in for vLLM."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, check_witness, needs_agent
from hosting.stand_in_vllm import install
from ports import port_for_a_server
from swetrials.records.usage import Usage
from swetrials.store.project import HOME_VARIABLE, find_project
from swetrials.store.results import TrialFolder, trial_folders

pytestmark = [pytest.mark.slow, needs_agent("claude")]

MODEL = "qwen3-32b"
WINDOW = 131_072  # wide enough to be served, narrow enough to be asked about
SKILL = BENCHMARKS.parent / ".claude" / "skills" / "benchmark" / "SKILL.md"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    """A clone of the project in which vLLM is the stand-in, and nothing of which is left running."""
    root = tmp_path / "clone" / "benchmarks"
    (root / "src" / "swetrials").mkdir(parents=True)
    (root.parent / ".claude").symlink_to(BENCHMARKS.parent / ".claude")
    for name in ("pyproject.toml", "config", "dataset"):
        (root / name).symlink_to(BENCHMARKS / name)
    (root / ".tools").mkdir()
    (root / ".tools" / "claude-code").symlink_to(find_project().tools / "claude-code")
    install(root / ".tools" / "vllm")
    place = Workplace(tmp_path, {HOME_VARIABLE: str(root), "HF_TOKEN": "hf_0123456789"})
    yield place
    place.command("collect", "stop")
    place.command("serve", "stop")


def say(place: Workplace, *words: str, code: int = 0) -> str:
    done = place.command(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "hf_0123456789" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_whole_way(place: Workplace) -> None:
    port = str(port_for_a_server())
    url = f"http://127.0.0.1:{port}"
    assert "swetrials serve start MODEL" in say(place, "serve", "status", code=1)
    assert "add --yes" in say(place, "serve", "start", MODEL, "--port", port, code=3)
    assert f"next: swetrials doctor --provider vllm --endpoint {url}" in say(
        place, "serve", "start", MODEL, "--port", port, "--yes"
    )
    status = json.loads(say(place, "serve", "status", "--json"))
    assert (status["model"], status["max_model_len"], status["window"]["verdict"]) == (MODEL, WINDOW, "ask")
    say(place, "collect", "status", code=1)
    say(place, "collect", "start", "--scope", "quickstart", "--interval-seconds", "0.2")
    assert url in say(place, "collect", "status")

    route = ["--provider", "vllm", "--endpoint", url, "--model", MODEL, "--agent", "claude"]
    assert f"{MODEL} is served" in say(place, "doctor", *route)
    trial = [*route, "--dataset", str(QUICKSTART), "--tasks", "word-tally", "--dollars-per-hour", "10"]
    trial += ["--sandbox", "none"]  # the agent is linked from outside of the clone, which a sandbox hides
    refused = place.run("e2e", *trial, "--judge", "tests")
    assert refused.returncode == 3, refused.stdout + refused.stderr
    assert "--yes to go on all the same" in refused.stdout
    assert not list(trial_folders(place.results))
    check_nothing_was_asked(place)
    done = place.run("e2e", *trial, "--judge", "tests", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(place)

    assert "it ended in good order" in say(place, "collect", "stop")
    archive = Path(place.command("collect", "archive", "--scope", "quickstart").stdout.strip())
    assert archive.name.startswith(f"{MODEL}_quickstart_")
    assert archive.is_file()
    assert "no longer served" in say(place, "serve", "stop")


def check_nothing_was_asked(place: Workplace) -> None:
    log = json.loads(say(place, "serve", "status", "--json"))["log"]
    assert "POST" not in Path(log).read_text()


def check_record(place: Workplace) -> None:
    """Meter, agent and the server's own counters agree, and the cost is the machine's."""
    record = TrialFolder(place.results / MODEL / "claude-code" / "swe3" / "quickstart" / "word-tally").metrics()
    counters = record.vllm_prometheus
    assert counters is not None and counters.available and counters.single_tenant
    usage = record.usage.headline.usage
    assert counters.counters["vllm:prompt_tokens_total"] == usage.input
    assert counters.counters["vllm:generation_tokens_total"] == usage.output
    assert record.usage.reported is not None
    check_witness(record.usage.metered, record.usage.reported.usage)
    assert usage != Usage()
    assert [finding.code for finding in record.findings if finding.severity != "info"] == []
    assert (record.cost.basis, record.cost.status) == ("hardware", "complete")
    assert record.cost.amount_usd


def test_the_skills_commands_exist(place: Workplace) -> None:
    assert all(f"`{provider}`" in SKILL.read_text() for provider in ("litellm", "bedrock", "endpoint"))
    for words in (["proxy", "status"], ["serve", "status"], ["collect", "status"]):
        assert place.command(*words).returncode == 1
    for words in (["proxy", "stop"], ["serve", "stop"], ["collect", "stop"]):
        assert place.command(*words).returncode == 0
