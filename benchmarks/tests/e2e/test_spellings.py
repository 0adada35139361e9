"""Usage as the servers of the field spell it, with the real agents that speak Chat Completions: the record is right."""

import pathlib
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.agents import OMP, OPENCODE, PI, AgentUnderTest, each
from e2e.harness import QUICKSTART, Workplace
from e2e.test_evidence import FIRST, LAST, LOOK
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.rehearsal import Scenario, rehearse
from swetrials.store.results import trial_folders

pytestmark = pytest.mark.slow

MODEL = "gpt-5"
TOTALS = {"prompt_tokens": 20_000, "completion_tokens": 500, "total_tokens": 20_500}
DOLLARS = 0.00125 + 0.002375 + 0.005
"""Of 1,000 fresh, 19,000 cached and 500 output tokens."""
CACHED = {"prompt_tokens_details": {"cached_tokens": 19_000}}
SPELT: list[dict[str, Any]] = [
    # DeepSeek.
    {"usage_as": {**TOTALS, "prompt_cache_hit_tokens": 19_000, "prompt_cache_miss_tokens": 1000}},
    # Kimi, at the top of the usage; and beside the last choice alone.
    {"usage_as": {**TOTALS, "cached_tokens": 19_000}},
    {
        "usage_as": None,
        "beside_usage": {"choices": [{"index": 0, "delta": {}, "usage": {**TOTALS, "cached_tokens": 19_000}}]},
    },
    # A richer report, and a poorer one behind it.
    {"usage_as": {**TOTALS, **CACHED}, "usage_again_as": dict.fromkeys(TOTALS, 0)},
]
XAI = {
    "prompt_tokens": 20_000,
    "completion_tokens": 500,
    "total_tokens": 23_500,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 3000},
}
"""Its reasoning is no part of the completion, by the total: 3,500 tokens of output, 0.06 dollars."""
LITELLM = {
    **TOTALS,
    "prompt_tokens_details": {"cached_tokens": 4000, "cache_creation_tokens": 15_000},
    "cache_creation_input_tokens": 15_000,
}
"""LiteLLM's answers for Claude."""


def run(place: Workplace, agent: AgentUnderTest, model: str, told: list[dict[str, Any]]) -> Metrics:
    said = [FIRST, *({**LOOK, "say": f"Look number {number}."} for number in range(len(told) - 2)), LAST]
    steps = [{**step, **usage} for step, usage in zip(said, told, strict=True)]
    script = {"when": "task_id: word-tally", "steps": steps}
    scenario = Scenario.model_validate({"schema_version": "1.0", "name": "spellings", "scripts": [script]})
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(scenario, model=model)) as server,
    ):
        done = place.run(
            "run", "--agent", agent.name, "--provider", "endpoint", "--endpoint", server.base_url, "--dialect",
            "openai-chat", "--model", model, "--dataset", QUICKSTART, "--tasks", "word-tally", "--skip-probe",
            timeout_seconds=240,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [folder] = trial_folders(place.results)
    return folder.metrics()


@each(OPENCODE, PI, OMP)
def test_each_spelling_is_the_same_to_the_record(tmp_path: pathlib.Path, agent: AgentUnderTest) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": "key-of-the-endpoint"})
    record = run(place, agent, MODEL, [*SPELT, {"usage_as": XAI}])
    assert (record.outcome.kind, record.num_turns) == (OutcomeKind.COMPLETED, 5)
    many, headline = len(SPELT), record.usage.headline
    usage = headline.usage
    assert (usage.fresh_input, usage.cache_read, usage.cache_write) == (many * 1000 + 20_000, many * 19_000, 0)
    assert usage.output == many * 500 + 3500
    assert (headline.completeness, record.usage.source) == ("complete", "metered")
    assert (record.cost.status, record.cost.basis) == ("complete", "metered")
    assert record.total_cost_usd == pytest.approx(many * DOLLARS + 0.06)


@each(PI)
def test_cache_writes_that_litellm_tells_in_chat_are_no_fresh_input(
    tmp_path: pathlib.Path, agent: AgentUnderTest
) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_API_KEY": "key-of-the-endpoint"})
    record = run(place, agent, "claude-opus-4-5", [{"usage_as": LITELLM}] * 2)
    usage = record.usage.headline.usage
    assert (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output) == (2000, 8000, 30_000, 1000)
    assert record.usage.headline.completeness == "complete"
