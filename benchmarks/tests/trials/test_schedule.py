"""Many trials: each leaves its record whatever becomes of the others, and the record decides what runs again."""

import sys
from collections.abc import Sequence
from datetime import datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import anyio
import pytest

from hosting.server import Server
from swetrials.hosting.endpoint import Endpoint
from swetrials.hosting.rehearsal import Rehearsal
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.records.requests import RequestRecord
from swetrials.trials.plan import Plan
from swetrials.trials.resume_state import Standing
from swetrials.trials.schedule import run_trials
from swetrials.trials.trial import Progress
from trials.stand_in import WHOLE, Yard

K = OutcomeKind
FOUR = ("task-1", "task-2", "task-3", "task-4")


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path, tasks=FOUR)


def run(yard: Yard, plan: Plan, seen: list[Progress] | None = None) -> Sequence[Metrics]:
    async def go() -> Sequence[Metrics]:
        async with Endpoint().open(plan.config) as hosting:
            observe = seen.append if seen is not None else lambda _: None
            context = yard.context(plan, hosting)
            return await run_trials(context, plan.dataset, [Standing(t) for t in plan.trials], yard.results, observe)

    return anyio.run(go)


def test_one_that_fails_does_not_touch_the_others(yard: Yard) -> None:
    scripts = {"task-2": "exit 7\n", "": WHOLE}
    plan = yard.plan(scripts, concurrency=4)
    blocked = plan.trials[2].folder.path
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a trial's folder should be")

    records = run(yard, plan)

    assert [record.task for record in records] == list(FOUR)
    kinds = [record.outcome.kind for record in records]
    assert kinds == [K.COMPLETED, K.AGENT_CRASHED, K.AGENT_CRASHED, K.COMPLETED]
    assert [record.outcome.blame for record in records] == [None, Blame.AGENT, Blame.ENVIRONMENT, None]
    for index in (0, 1, 3):
        assert plan.trials[index].folder.metrics() == records[index]
    assert len({attempt.id for record in records for attempt in record.attempts}) == 3


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (2, 2)])
def test_no_more_at_a_time_than_asked_for(yard: Yard, concurrency: int, most: int) -> None:
    running = yard.root / "running"
    running.mkdir()
    count = f'touch {running}/$$; ls {running} | wc -l > "$ARTIFACTS/lld.md"; sleep 0.2; rm {running}/$$\n'
    plan = yard.plan(count, concurrency=concurrency)
    records = run(yard, plan)
    counts = [int((trial.folder.path / "lld.md").read_text()) for trial in plan.trials]
    assert max(counts) == most
    assert all(record.time.queue_seconds is not None for record in records)
    assert (records[-1].time.queue_seconds or 0) > (records[0].time.queue_seconds or 0)


def test_two_runs_share_the_places_at_a_provider(tmp_path: Path) -> None:
    first, second = (Yard(tmp_path / name, tasks=FOUR[:2]) for name in ("first", "second"))
    second.work = first.work
    running = tmp_path / "running"
    running.mkdir()
    count = f'touch {running}/$$; ls {running} | wc -l > "$ARTIFACTS/lld.md"; sleep 0.2; rm {running}/$$\n'
    plans = {yard.root: (yard, yard.plan(count, concurrency=2, provider_concurrency=1)) for yard in (first, second)}

    async def go() -> None:
        async with Endpoint().open(plans[first.root][1].config) as hosting, anyio.create_task_group() as group:
            for yard, plan in plans.values():
                standings = [Standing(trial) for trial in plan.trials]
                context = yard.context(plan, hosting)
                group.start_soon(run_trials, context, plan.dataset, standings, yard.results, lambda _: None)

    anyio.run(go)
    trials = [trial for _, plan in plans.values() for trial in plan.trials]
    assert [(trial.folder.path / "lld.md").read_text().strip() for trial in trials] == ["1"] * 4


def test_repeats_of_one_task_share_no_checkout(yard: Yard) -> None:
    script = 'pwd > "$ARTIFACTS/lld.md"; test "$(cat greeting.txt)" = hello || exit 9; echo x > greeting.txt\n' + WHOLE
    plan = yard.plan(script, concurrency=3, repeats=3, tasks=["task-1"])
    records = run(yard, plan)
    assert [record.outcome.kind for record in records] == [K.COMPLETED] * 3
    assert [record.trial.repeat for record in records] == [1, 2, 3]
    assert len({record.trial.id for record in records}) == 3


def test_an_agent_that_never_reached_the_endpoint_did_not_complete(yard: Yard) -> None:
    plan = yard.plan(WHOLE, provider="rehearsal", model="rehearsal", tasks=["task-1"])

    async def go() -> Sequence[Metrics]:
        async with Rehearsal().open(plan.config) as hosting:
            context = yard.context(plan, hosting)
            return await run_trials(
                context, plan.dataset, [Standing(t) for t in plan.trials], yard.results, lambda _: None
            )

    (record,) = anyio.run(go)
    assert (record.outcome.kind, record.outcome.blame) == (K.ROUTE_NOT_USED, Blame.HARNESS)
    assert (record.trial.rehearsal, record.cost.basis, record.total_cost_usd) == (True, "free", 0)


def test_while_the_provider_throttles_no_trial_begins(yard: Yard) -> None:
    server = Server()

    def too_many(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("retry-after", "2")
        handler.send_header("content-length", "0")
        handler.end_headers()

    server.answer = too_many
    ask = f"{sys.executable} -c 'import urllib.request as r; r.urlopen(\"'$ROUTE'/v1/models\")' 2> /dev/null\n"
    plan = yard.plan({"task-1": ask + WHOLE, "": WHOLE}, meter=True, endpoint=server.url, tasks=["task-1", "task-2"])
    try:
        first, second = run(yard, plan)
    finally:
        server.close()
    assert len(server.asked) == 1
    [request] = (plan.trials[0].folder.path / "attempts" / "1" / "requests.jsonl").read_text().splitlines()
    assert RequestRecord.model_validate_json(request).retry_after_seconds == 2
    assert second.run_started_at is not None
    begun = datetime.fromisoformat(second.run_started_at) - datetime.fromisoformat(first.attempts[0].started_at)
    assert begun.total_seconds() > 2
    assert (second.time.queue_seconds or 0) > 2
    assert (second.time.wall_seconds or 0) < 2


def test_when_the_money_is_spent_what_runs_is_stopped_and_the_rest_left_out(yard: Yard) -> None:
    plan = yard.plan(
        {"task-1": WHOLE, "task-2": 'grep -v \'"type":"result"\' "$RECORDED/ok.jsonl"; sleep 60\n', "": WHOLE},
        dollars_per_hour=3600 * 10, max_budget_usd=4, concurrency=1,
    )  # fmt: skip
    records = run(yard, plan)
    assert [record.outcome.kind for record in records] == [K.COMPLETED, K.BUDGET_SPENT, K.BUDGET_SPENT, K.BUDGET_SPENT]


def test_progress_tells_every_trial_from_its_start_to_its_outcome(yard: Yard) -> None:
    seen: list[Progress] = []
    records = run(yard, yard.plan(concurrency=2), seen)
    for name, record in zip(FOUR, records, strict=True):
        mine = [progress for progress in seen if progress.trial.label == name]
        assert [mine[0].state, mine[-1].state] == ["checkout", "done"]
        assert "working" in {progress.state for progress in mine}
        assert mine[-1].outcome == record.outcome
        assert (mine[-1].turns, mine[-1].tokens) == (2, 4880)
