"""Judging tasks for the router: what counts, what failed, what is judged again, and that nothing may be changed."""

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import orjson
import pytest

from environments.strongest import strongest
from hosting.server import Server, models
from runs.prepared_runs import Watcher, bench_of
from swetrials.errors import UsageError
from swetrials.hosting import PROVIDERS
from swetrials.records.cost import Cost
from swetrials.records.judged_inputs import JudgedInputs
from swetrials.records.outcome import OutcomeKind
from swetrials.router.inputs.question import first_step
from swetrials.runs.benchmark import PreflightError, RunOptions
from swetrials.runs.prepared_run import PreparedRun
from swetrials.runs.router_inputs import SETTLED, default_file, judge_inputs
from swetrials.store.files import read_record
from trials.stand_in import RECORDED, SECRET, Yard

QUICK = RunOptions(skip_probe=True)
SKILL = "# Router\n<!-- step 1 begins -->\nJudge.\n<!-- step 1 ends -->\nRoute.\n"
K = OutcomeKind


def answer(floor: int = 75, tier: str = "medium") -> str:
    said = {
        "base_floor": floor, "adjustment": 0, "floor": floor, "tier": tier,
        "consequence": "Users are held up.", "reason": f"It runs in production; the key is {SECRET}.",
    }  # fmt: skip
    return orjson.dumps(said).decode()


def says(text: str) -> str:
    """Return the command that prints a recorded stream with another last message."""
    *lines, last = (RECORDED / "ok.jsonl").read_text(encoding="utf-8").splitlines()
    changed = orjson.dumps({**orjson.loads(last), "result": text}).decode()
    return "\n".join(f"printf '%s\\n' {shlex.quote(line)}" for line in (*lines, changed)) + "\n"


def by_repeat(*scripts: str) -> str:
    """Return a script that does something else in each repeat; the checkout's path tells which it is."""
    cases = "".join(f"*--r{number}-judging-*)\n{script};;\n" for number, script in enumerate(scripts[1:], start=2))
    return f'case "$PWD" in\n{cases}*)\n{scripts[0]};;\nesac\n'


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    server = Server()
    server.answer = models("some-model")
    package = tmp_path / "project" / ".tools" / "stand-in" / "node_modules" / "stand-in"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.0"}')
    (package.parent.parent / "sh").symlink_to("/bin/sh")
    yard = Yard(tmp_path, config={"endpoint": server.url})
    (tmp_path / "skills" / "swe-router").mkdir()
    (tmp_path / "skills" / "swe-router" / "SKILL.md").write_text(SKILL)
    yield yard
    server.close()


def prepared(yard: Yard, script: str, **changes: object) -> PreparedRun:
    made = bench_of(yard, script, **{**SETTLED, **changes})
    return replace(made, plan=replace(made.plan, skill=first_step(made.plan.skill)))


def file_of(yard: Yard) -> Path:
    return yard.root / "metrics" / "judged.json"


def judge(made: PreparedRun, yard: Yard, watcher: Watcher | None = None) -> JudgedInputs:
    watcher = watcher or Watcher()

    async def go() -> JudgedInputs:
        async with made.provider.open(made.config) as hosting:
            return await judge_inputs(made, file_of(yard), hosting, QUICK, watcher)

    record = anyio.run(go)
    assert read_record(file_of(yard), JudgedInputs) == record
    assert SECRET.encode() not in file_of(yard).read_bytes()
    assert {path.name for path in yard.work.iterdir()} <= {"mirrors", "judging"}, "nothing of an agent is left"
    return record


def failures(record: JudgedInputs) -> dict[int, str]:
    return {judgment.repeat: judgment.failure for judgment in record.judgments if judgment.inputs is None}


def test_of_three_judgments_a_malformed_one_fails_and_the_others_count(yard: Yard) -> None:
    script = by_repeat(says(answer(70)), says(answer(90)), says(f"Here: {answer(75, 'high')}"))
    record = judge(prepared(yard, script, repeats=3), yard)
    [row] = record.tasks
    assert (row.floor, row.tier, row.floors_seen, row.spread, row.failed) == (72.5, "high", (70, 75), 5, 1)
    assert failures(record) == {
        2: "no usable answer: base_floor: Input should be 55, 65, 70 or 75; "
        "floor: Input should be less than or equal to 80"
    }
    assert (record.judged, record.failed, record.repeats, record.ended_at is None) == (3, 1, 3, False)
    assert record.usage.usage.total == 3 * 4880
    first = record.judgments[0]
    assert (first.commit, first.outcome.kind, first.num_turns) == (yard.commit, K.COMPLETED, 2)
    assert "the key is" in (first.inputs.reason if first.inputs else "")
    for judgment in record.judgments:
        stream = (yard.results / judgment.stream_log).read_bytes()
        assert stream and SECRET.encode() not in stream


def test_a_rehearsal_does_not_go_among_the_published_figures(yard: Yard) -> None:
    measured = prepared(yard, says(answer()))
    rehearsed = replace(measured, provider=PROVIDERS.named("rehearsal"))
    assert default_file(measured).parent == yard.root / "docs" / "metrics"
    assert default_file(rehearsed).parent == Path(rehearsed.config.output_dir)


def test_the_agent_is_told_the_problem_and_not_the_answer(yard: Yard) -> None:
    asked = 'grep -q "Change the greeting" "$HOME/prompt.txt" || exit 1\ngrep -q 42 "$HOME/prompt.txt" && exit 1\n'
    assert failures(judge(prepared(yard, asked + says(answer())), yard)) == {}


@pytest.mark.parametrize(
    ("deed", "named"),
    [
        ("echo more >> greeting.txt", "greeting.txt"),
        ("mkdir build && echo build/ > .gitignore && touch build/out", ".gitignore, build, build/out"),
        ("rm greeting.txt", "greeting.txt"),
    ],
)
def test_an_agent_that_changes_the_checkout_has_judged_nothing(yard: Yard, deed: str, named: str) -> None:
    record = judge(prepared(yard, f"{deed}\n{says(answer())}"), yard)
    assert failures(record) == {1: f"the agent changed what it had only to read: {named}"}
    assert record.tasks[0].floor is None
    assert record.ended_at is not None, "asked again, it would do the same"


def test_in_a_sandbox_the_checkout_cannot_be_changed_at_all(yard: Yard) -> None:
    environment = strongest(yard.work, yard.results)
    if not environment.seals:
        pytest.skip("bubblewrap does not work here")
    made = prepared(
        yard, f"touch new 2>&1 | grep -q 'Read-only' || exit 1\ntouch $HOME/own $TMPDIR/own\n{says(answer())}"
    )
    record = judge(replace(made, place=replace(made.place, environment=environment)), yard)
    assert failures(record) == {}
    assert record.tasks[0].floor == 75


def test_the_next_call_judges_what_is_missing_and_no_more(yard: Yard) -> None:
    unreachable = "echo '429 rate limited' >&2; exit 1\n"
    first = judge(prepared(yard, by_repeat(says(answer(70)), says("no idea"), says(answer()))), yard)
    assert first.judged == 1

    watcher = Watcher()
    second = judge(prepared(yard, by_repeat(unreachable, says("no idea")), repeats=2), yard, watcher)
    assert watcher.ran() == {"task-1--r2"}
    assert second.judgments[0] == first.judgments[0]
    assert (second.judged, second.repeats, second.started_at) == (2, 2, first.started_at)
    assert list(failures(second)) == [2]

    untouched = judge(prepared(yard, unreachable, repeats=2), yard)
    assert untouched == second, "all is judged: nothing runs"


def test_a_failure_that_was_not_the_models_is_made_up_for_and_its_cost_stays(yard: Yard) -> None:
    limited = (RECORDED / "err429.jsonl").read_text(encoding="utf-8")
    refused = "\n".join(f"printf '%s\\n' {shlex.quote(line)}" for line in limited.splitlines())
    first = judge(prepared(yard, f"{refused}\nexit 1\n"), yard)
    assert (first.failed, first.ended_at, first.tasks[0].floor) == (1, None, None)
    assert first.judgments[0].outcome.kind is K.RATE_LIMITED

    second = judge(prepared(yard, says(answer())), yard)
    assert (second.judged, second.failed, second.tasks[0].floor, second.tasks[0].failed) == (2, 1, 75, 1)
    assert second.ended_at is not None
    assert len({judgment.stream_log for judgment in second.judgments}) == 2


def test_nothing_is_written_when_the_pre_flight_fails(yard: Yard) -> None:
    yard.write_dataset(ref="v9")
    watcher = Watcher()
    with pytest.raises(PreflightError):
        judge(prepared(yard, says(answer())), yard, watcher)
    assert "repository" in watcher.failed()
    assert not file_of(yard).exists()


def test_a_checkout_that_fails_after_the_pre_flight_is_a_failed_judgment_without_a_cost(yard: Yard) -> None:
    class Wrecker(Watcher):
        def expect(self, trials: int) -> None:
            shutil.rmtree(yard.work / "mirrors")

    record = judge(prepared(yard, says(answer()), repeats=2), yard, Wrecker())
    assert [judgment.outcome.kind for judgment in record.judgments] == [K.CHECKOUT_FAILED] * 2
    assert (record.ended_at, record.cost, record.seconds) == (None, Cost(), None)


Spoil = Callable[[Yard], Mapping[str, object]]


def _reworded(yard: Yard) -> Mapping[str, object]:
    yard.write_dataset(statement="Change the greeting at once.")
    return {}


def _other_skill(yard: Yard) -> Mapping[str, object]:
    path = yard.root / "skills" / "swe-router" / "SKILL.md"
    path.write_text(SKILL.replace("Judge.", "Judge well."))
    return {}


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (_reworded, "wording of task-1"),
        (_other_skill, "skill_sha256"),
        (lambda yard: {"model": "other-model"}, "model"),
    ],
)
def test_judgments_of_something_else_are_not_mixed_in(yard: Yard, spoil: Spoil, named: str) -> None:
    before = judge(prepared(yard, says(answer())), yard)
    with pytest.raises(UsageError, match=f"holds judgments of another {named}; move it away"):
        judge(prepared(yard, says(answer()), repeats=2, **spoil(yard)), yard)
    assert read_record(file_of(yard), JudgedInputs) == before


def test_an_interrupted_call_keeps_what_was_judged_and_says_what_was_cut(yard: Yard) -> None:
    made = prepared(yard, by_repeat(says(answer(70)), "sleep 60\n"), repeats=2)

    async def go() -> None:
        async with made.provider.open(made.config) as hosting:
            with anyio.move_on_after(30) as scope:
                watcher = Watcher()

                async def stop() -> None:
                    while not (file_of(yard).exists() and "task-1--r2" in watcher.ran()):
                        await anyio.sleep(0.05)
                    await anyio.sleep(0.5)
                    scope.cancel()

                async with anyio.create_task_group() as group:
                    group.start_soon(stop)
                    await judge_inputs(made, file_of(yard), hosting, QUICK, watcher)

    anyio.run(go)
    record = read_record(file_of(yard), JudgedInputs)
    assert [(judgment.repeat, judgment.outcome.kind) for judgment in record.judgments] == [
        (1, K.COMPLETED),
        (2, K.INTERRUPTED),
    ]
    assert record.ended_at is None

    after = judge(prepared(yard, says(answer(75)), repeats=2), yard)
    assert after.tasks[0].floors_seen == (70, 75)


def test_two_calls_do_not_write_to_one_file(yard: Yard) -> None:
    made = prepared(yard, says(answer()))

    async def go() -> None:
        async with made.provider.open(made.config) as hosting, anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(judge_inputs, made, file_of(yard), hosting, QUICK, Watcher())

    with pytest.raises(BaseExceptionGroup) as raised:
        anyio.run(go)
    assert raised.group_contains(UsageError, match="somebody else is writing to")


def test_nothing_begins_once_the_budget_is_spent(yard: Yard) -> None:
    prices = {"dollars_per_hour": 1e9, "max_budget_usd": 1.0}
    record = judge(prepared(yard, says(answer()), repeats=3, **prices), yard)
    assert (record.judged, record.ended_at) == (1, None)
