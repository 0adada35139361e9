"""An attempt on another machine, with the outpost in this very process: only the line between the two is short."""

import asyncio
import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from hosting.server import Server, json_answer
from swetrials.agents.events import Event, Text
from swetrials.environments.base import PreparationError
from swetrials.environments.sealing import SealError
from swetrials.errors import KnownError
from swetrials.hosting.base import ProviderError
from swetrials.hosting.endpoint import Endpoint
from swetrials.records.check import Check
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.store.files import read_record
from swetrials.store.project import HOME_VARIABLE
from swetrials.trials.attempt import LOST, Attempt, new_attempt_id
from swetrials.trials.attempt_session import Watch
from swetrials.trials.executors.remote_attempt import Away, MachineLost, as_at_home
from swetrials.trials.executors.worker import News, Word, Worker
from swetrials.trials.plan import Plan, Trial
from swetrials.trials.resume_state import Standing
from swetrials.trials.retry_policy import MOST_LOSSES
from swetrials.trials.run_context import Order, RunContext
from swetrials.trials.schedule import run_trials
from swetrials.trials.trial import environment_failure
from swetrials.wire.route import Route
from swetrials.workspace.git import GitError
from swetrials.workspace.processes import LaunchError
from trials.stand_in import DESIGN, SAID, SECRET, WHOLE, Yard

K = OutcomeKind
MODEL = "claude-opus-4-6"
TALKS_ON = 'grep -v \'"type":"result"\' "$RECORDED/partial.jsonl"; sleep 60\n'


class ShortLine:
    """The line to an outpost in this process. Whatever goes over it is packed and unpacked as on a long one."""

    machine = "b"

    def __init__(self, fails: bool) -> None:
        self._outpost = Worker()
        self._fails = fails
        self._heard = False
        self._answers: list[asyncio.Future[Any]] = []

    def call(self, method: str, *arguments: object) -> asyncio.Future[Any]:
        answer = asyncio.ensure_future(self._answer(method, arguments))
        self._answers.append(answer)
        return answer

    async def close(self) -> None:
        await asyncio.wait(self._answers)
        await self.call("close")

    async def _answer(self, method: str, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401
        answer = await getattr(self._outpost, method)(*pickle.loads(pickle.dumps(arguments)))
        if self._fails and self._heard and isinstance(answer, News):
            # What a machine that is gone does no more, this one still does, and is not heard.
            await self._outpost.stop()
            await self._outpost.hear(Word())
            raise MachineLost("its node has died")
        self._heard |= isinstance(answer, News) and answer.tally is not None
        return pickle.loads(pickle.dumps(answer))


class OneOtherMachine:
    """A machine with a working folder of its own, which is lost in the middle of the first attempts made on it."""

    waiting = "waiting for a machine"

    def __init__(self, work: Path, losses: int = 0) -> None:
        self._work = work
        self._losses = losses

    async def checks(self, context: RunContext, route: Route) -> Sequence[Check]:
        return ()

    async def attempt(self, context: RunContext, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
        self._losses -= 1
        line, attempt_id = ShortLine(self._losses >= 0), new_attempt_id(order)
        await line.call("open", attempt_id, str(self._work), context.config.shared_dir)
        route = context.hosting.route(attempt_id)
        try:
            return await Away(line, context, order, attempt_id, route, ledger, watch).make()
        finally:
            with anyio.CancelScope(shield=True):
                await line.close()


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    project = tmp_path / "project"
    (project / "src" / "swetrials").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    package = project / ".tools" / "stand-in" / "node_modules" / "stand-in"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.0"}')
    (package.parent.parent / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv(HOME_VARIABLE, str(project))
    return Yard(tmp_path, config={"sandbox": "none"})


def run(
    yard: Yard, plan: Plan, losses: int = 0, heard: list[Event] | None = None, cancel_after: float = 60
) -> list[Metrics]:
    """Run a plan on the other machine, and check that nothing is left there."""

    def listen(trial: Trial, events: Sequence[Event]) -> None:
        assert heard is not None
        heard.extend(events)

    async def go() -> list[Metrics]:
        async with Endpoint().open(plan.config) as hosting:
            context = yard.context(plan, hosting)
            context = replace(context, listen=listen) if heard is not None else context
            standings = [Standing(trial) for trial in plan.trials]
            machine = OneOtherMachine(yard.root / "away", losses)
            with anyio.move_on_after(cancel_after):
                return await run_trials(
                    context, plan.dataset, standings, yard.results, lambda _: None, machines=machine
                )
        return [trial.folder.metrics() for trial in plan.trials]

    records = anyio.run(go)
    assert {path.name for path in (yard.root / "away").iterdir()} <= {"mirrors", "outbox"}
    assert not list((yard.root / "away").glob("outbox/*"))
    for path in yard.results.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    return records


def test_everything_comes_home(yard: Yard) -> None:
    heard: list[Event] = []
    plan = yard.plan(f'echo "{SECRET}" >&2; rm -rf "{yard.root}/upstream"\n' + WHOLE)
    [record] = run(yard, plan, heard=heard)
    [attempt] = record.attempts
    assert (record.outcome.kind, attempt.machine, record.findings) == (K.COMPLETED, "b", ())
    assert (record.input_tokens, record.num_turns, record.usage.source) == (2400, 2, "reported")
    assert yard.left("lld.md").read_text() == "# lld\n"
    left = {path.name for path in yard.left("attempts/1").iterdir()}
    assert left == {"attempt.json", "start.json", "stream.jsonl", "stderr.log", "trajectory.json"}
    assert read_record(yard.left("attempts/1/attempt.json"), AttemptRecord) == attempt
    assert yard.left("attempts/1/stderr.log").read_text() == "[redacted]\n"
    assert any(isinstance(event, Text) for event in heard)


def test_through_a_shared_folder_as_well(yard: Yard) -> None:
    (yard.root / "shared").mkdir()
    [record] = run(yard, yard.plan(shared_dir=str(yard.root / "shared")))
    assert record.outcome.kind is K.COMPLETED
    assert yard.left("attempts/1/stream.jsonl").read_bytes().count(b'"type":"result"') == 1
    assert not list((yard.root / "shared").iterdir())


def test_a_topup_builds_on_what_another_machine_has_left(yard: Yard) -> None:
    topup = 'grep -q changed greeting.txt || exit 9\necho "# done" > "$ARTIFACTS/implementation.md"\n' + SAID
    scripts = {"only: implementation.md": topup, "": DESIGN + "echo changed >> greeting.txt\n" + SAID}
    [record] = run(yard, yard.plan(scripts))
    assert record.outcome.kind is K.COMPLETED
    assert [attempt.reason for attempt in record.attempts] == ["first", "topup"]


def test_a_lost_machine_is_in_the_ledger_with_what_was_heard_of_it(yard: Yard) -> None:
    script = f"test -e {yard.root}/tried || {{ touch {yard.root}/tried; {TALKS_ON} }}\n" + WHOLE
    [record] = run(yard, yard.plan(script), losses=1)
    lost, again = record.attempts
    assert record.outcome.kind is K.COMPLETED
    assert (lost.ended_by, lost.outcome.kind, lost.outcome.blame) == (LOST, K.INTERRUPTED, Blame.ENVIRONMENT)
    assert lost.outcome.detail == "b: its node has died"
    assert lost.usage.headline.usage.total and lost.usage.headline.completeness == "lower_bound"
    assert (again.reason, again.number) == ("first", 2)
    assert [finding.code for finding in record.findings] == ["machine_lost"]
    both = [attempt.usage.headline.usage.total or 0 for attempt in (lost, again)]
    assert record.usage.headline.usage.total == sum(both)
    assert read_record(yard.left("attempts/1/attempt.json"), AttemptRecord) == lost


def test_a_lost_machine_is_billed_by_what_the_meter_there_had_seen(yard: Yard) -> None:
    usage = {"input_tokens": 3_000, "cache_read_input_tokens": 50_000, "cache_creation_input_tokens": 0,
             "output_tokens": 4_000, "server_tool_use": {"web_search_requests": 50}}  # fmt: skip
    server = Server()
    server.answer = json_answer(
        {"id": "m", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    )
    ask = f"{sys.executable} -c 'import urllib.request as r; r.urlopen(\"'$ROUTE'/v1/messages\", b\"{{}}\").read()'\n"
    script = f"test -e {yard.root}/tried || {{ touch {yard.root}/tried; {ask}{TALKS_ON} }}\n" + WHOLE
    try:
        [record] = run(yard, yard.plan(script, model=MODEL, endpoint=server.url, meter=True), losses=1)
    finally:
        server.close()
    lost = record.attempts[0]
    assert lost.ended_by == LOST
    assert lost.usage.source == "metered"
    assert (lost.usage.headline.usage.output, lost.num_turns) == (4_000, 1)
    # 0.14 dollars of tokens, and 50 searches that only the meter's parts tell of.
    assert lost.cost.amount_usd == pytest.approx(0.64)
    assert lost.cost.status == lost.usage.headline.completeness == "lower_bound"
    [log] = yard.results.rglob("1/requests.jsonl")
    assert log.read_bytes().count(b"\n") == 1


@pytest.mark.slow
def test_a_trial_that_is_lost_each_time_is_given_up(yard: Yard) -> None:
    [record] = run(yard, yard.plan(TALKS_ON), losses=9)
    assert [attempt.ended_by for attempt in record.attempts] == [LOST] * MOST_LOSSES
    assert (record.outcome.kind, record.outcome.valid) == (K.INTERRUPTED, False)


def test_a_cancelled_attempt_comes_home_with_what_it_had(yard: Yard) -> None:
    [record] = run(yard, yard.plan(TALKS_ON), cancel_after=3)
    [attempt] = record.attempts
    assert (record.outcome.kind, attempt.ended_by, attempt.survivors) == (K.INTERRUPTED, "cancelled", 0)
    assert attempt.usage.headline.usage.total
    assert yard.left("attempts/1/stream.jsonl").stat().st_size


@pytest.mark.slow
def test_spent_money_stops_it(yard: Yard) -> None:
    plan = yard.plan(TALKS_ON, dollars_per_hour=36_000, max_budget_usd=10)
    [record] = run(yard, plan)
    assert (record.outcome.kind, record.attempts[0].ended_by) == (K.BUDGET_SPENT, "budget")
    assert (record.total_cost_usd or 0) >= 10


def test_what_goes_wrong_there_is_told_as_at_home(yard: Yard) -> None:
    (yard.root / "project" / ".tools" / "stand-in" / "sh").unlink()
    [record] = run(yard, yard.plan())
    assert (record.outcome.kind, record.outcome.blame) == (K.AGENT_CRASHED, Blame.ENVIRONMENT)
    assert record.outcome.detail.startswith("b: stand-in 1.0 is not installed")
    assert record.attempts == ()


@pytest.mark.parametrize(
    "error", [GitError("no"), LaunchError("no"), PreparationError("no"), ProviderError("no"), SealError("no")]
)
def test_an_error_there_has_the_outcome_that_it_has_at_home(error: KnownError) -> None:
    at_home, there = environment_failure(error), environment_failure(as_at_home(error, "b"))
    assert there == at_home.model_copy(update={"detail": "b: no"})
