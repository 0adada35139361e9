"""The order of a batch's steps, in each judge mode, and what the failure of one of them means for the others."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from runs.written import metrics
from swetrials.batch.budget import left_usd
from swetrials.batch.control import run_batch
from swetrials.batch.plan import BatchOptions, BatchPlan, batch_config, lay_out_batch, plan_batch
from swetrials.batch.status import BatchStatus, Board
from swetrials.batch.step import run_step
from swetrials.errors import UsageError
from swetrials.store.documents import DocumentError
from swetrials.store.files import read_record, write_record
from swetrials.store.project import find_project
from swetrials.store.results import TrialFolder

MODELS = ("qwen3-coder-30b", "gemma-4-31b")


DEFAULTS = BatchOptions()


def planned(folder: Path, options: BatchOptions = DEFAULTS, **flags: object) -> BatchPlan:
    given = {
        "dataset": find_project().dataset / "quickstart.yaml",
        "output_dir": folder / "results",
        "clone_dir": folder / "work",
        "sandbox": "none",
    }
    config = batch_config(None, {**given, **flags})
    return plan_batch(lay_out_batch(config, MODELS, options), options)


class Steps:
    """Steps that take turns without doing anything, and note when they began."""

    def __init__(self, codes: dict[str, int] | None = None) -> None:
        self.codes = codes or {}
        self.begun: list[str] = []
        self.judging = self.most_judging = 0
        self.cancelled_by_run: anyio.CancelScope | None = None

    async def __call__(self, label: str, words: tuple[str, ...]) -> int:
        self.begun.append(label if label != "serve" else "serve stop")
        judge = label.endswith(" judge")
        self.judging += judge
        self.most_judging = max(self.most_judging, self.judging)
        if self.cancelled_by_run and label.endswith(" run"):
            self.cancelled_by_run.cancel()
        await anyio.sleep(0.3 if judge else 0.01)
        self.judging -= judge
        return self.codes.get(label, 0)

    def at(self, label: str) -> int:
        return self.begun.index(label)


def carried_out(plan: BatchPlan, folder: Path, steps: Steps, say: Callable[[str], None] = print) -> BatchStatus:
    board = Board(folder / "status.json", [model.model for model in plan.models], say)
    status = anyio.run(run_batch, plan, board, steps)
    assert read_record(folder / "status.json", BatchStatus) == status
    return status


def test_inline_judges_each_model_before_the_next_is_served(tmp_path: Path) -> None:
    steps = Steps()
    status = carried_out(planned(tmp_path), tmp_path, steps)
    each = ("serve", "collect", "run", "collect", "collect", "judge", "summary")
    assert steps.begun == [f"{model} {step}" for model in MODELS for step in each] + ["serve stop"]
    assert not status.failed and not status.unfinished


def test_async_judges_while_the_next_model_runs_and_waits_for_the_last(tmp_path: Path) -> None:
    steps = Steps()
    status = carried_out(planned(tmp_path, BatchOptions(judge_mode="async")), tmp_path, steps)
    assert steps.at(f"{MODELS[0]} judge") < steps.at(f"{MODELS[1]} run") < steps.at(f"{MODELS[0]} summary")
    assert steps.at("serve stop") < steps.at(f"{MODELS[1]} summary"), "the GPUs wait for no judge"
    assert steps.most_judging == 1
    assert [model.judging for model in status.models] == ["done", "done"]


def test_units_run_side_by_side_where_that_is_asked_for(tmp_path: Path) -> None:
    steps = Steps()
    options = BatchOptions(judge_mode="async", judge_parallel=2)
    carried_out(planned(tmp_path, options, provider="rehearsal"), tmp_path, steps)
    assert steps.most_judging == 2
    assert not any("serve" in label or "collect" in label for label in steps.begun)


def test_skip_judges_nothing(tmp_path: Path) -> None:
    steps = Steps()
    status = carried_out(planned(tmp_path, BatchOptions(judge_mode="skip")), tmp_path, steps)
    assert not any(label.endswith(("judge", "summary")) for label in steps.begun)
    assert [(model.run, model.judging) for model in status.models] == [("done", "none")] * 2


@pytest.mark.parametrize(
    ("label", "code", "said", "judged"),
    [
        ("serve", 3, "serve: exit code 3", False),
        ("run", 3, "run: exit code 3", False),
        ("run", -9, "run: exit code -9", False),
        ("run", 1, "run: exit code 1 (some trials failed", True),
        ("judge", 1, "judging of quickstart: a judge failed", True),
    ],
)
def test_a_failure_is_named_and_stops_no_other_model(
    tmp_path: Path, label: str, code: int, said: str, judged: bool
) -> None:
    steps = Steps({f"{MODELS[0]} {label}": code})
    status = carried_out(planned(tmp_path), tmp_path, steps)
    [failed] = status.failed
    assert failed.model == MODELS[0]
    assert failed.problems[0].startswith(said)
    assert (f"{MODELS[0]} judge" in steps.begun) is judged
    assert f"{MODELS[1]} summary" in steps.begun


def test_a_collector_that_does_not_start_fails_no_model(tmp_path: Path) -> None:
    status = carried_out(planned(tmp_path), tmp_path, Steps({f"{MODELS[0]} collect": 3}))
    assert not status.failed
    assert status.models[0].remarks == ("the server's metrics are not collected",)


def test_scores_that_are_missing_keep_a_summary_from_being_committed(tmp_path: Path) -> None:
    steps = Steps({f"{model} judge": 1 for model in MODELS})
    status = carried_out(planned(tmp_path, BatchOptions(commit=True)), tmp_path, steps)
    assert [model.remarks for model in status.models] == [("not committed: scores are missing",)] * 2


@pytest.mark.parametrize(("limit", "second_runs"), [(10.0, True), (2.5, False)])
def test_a_model_gets_what_the_others_have_left_of_the_budget(tmp_path: Path, limit: float, second_runs: bool) -> None:
    plan = planned(tmp_path, BatchOptions(judge_mode="skip"), max_budget_usd=limit)
    folder = TrialFolder(plan.models[0].scopes[0] / "task-1")
    write_record(folder.metrics_file, metrics().model_copy(update={"total_cost_usd": 2.5}))
    assert (left_usd(plan, plan.models[0]), left_usd(plan, plan.models[1])) == (limit, limit - 2.5)
    assert f"--max-budget-usd={limit}" in plan.run(plan.models[0], limit)
    steps = Steps()
    status = carried_out(plan, tmp_path, steps)
    assert (f"{MODELS[1]} run" in steps.begun) is second_runs
    assert [model.problems for model in status.failed] == (
        [] if second_runs else [("run: nothing is left of --max-budget-usd 2.5",)]
    )


def test_a_cancelled_batch_ends_server_and_collector_and_says_that_it_is_not_done(tmp_path: Path) -> None:
    plan, steps = planned(tmp_path), Steps()

    async def go() -> None:
        board = Board(tmp_path / "status.json", MODELS, print)
        with anyio.CancelScope() as scope:
            steps.cancelled_by_run = scope
            await run_batch(plan, board, steps)
        assert scope.cancelled_caught

    anyio.run(go)
    first = MODELS[0]
    assert steps.begun == [f"{first} {s}" for s in ("serve", "collect", "run", "collect", "collect")] + ["serve stop"]
    status = read_record(tmp_path / "status.json", BatchStatus)
    assert status.ended_at is not None and status.unfinished


def test_the_words_of_the_steps(tmp_path: Path) -> None:
    options = BatchOptions(judges=("tests",), resume=True)
    plan = planned(
        tmp_path, options, api_key="secret", tasks=["word-tally"], meter=False, endpoint="http://127.0.0.1:8123",
        judge_provider="endpoint", judge_endpoint="http://127.0.0.1:8124", judge_model="j", judge_effort="high",
        judge_api_key="secret-2", judge_timeout_seconds=60, aws_region="eu-west-1", ray_resources={"vllm_qwen": 1},
    )  # fmt: skip
    model = plan.models[0]
    assert plan.serve(model) == ("serve", "start", model.model, "--port=8123")
    run = plan.run(model, None)
    assert {"--provider=vllm", "--tasks=word-tally", "--no-meter", "--resume"} < set(run)
    assert '--ray-resources={"vllm_qwen": 1.0}' in run
    assert not any(word.startswith("--judge") for word in run)
    scope = tmp_path / "results" / "qwen3-coder-30b" / "claude-code" / "swe3" / "quickstart"
    assert model.scopes == (scope,)
    judge = plan.judge(scope)
    assert {f"--folder={scope}", "--judge=tests", "--judge-provider=endpoint", "--judge-model=j", "--judge-effort=high",
            "--judge-endpoint=http://127.0.0.1:8124", "--judge-aws-region=eu-west-1",
            "--judge-timeout-seconds=60.0", "--environment=host"} < set(judge)  # fmt: skip
    assert not any("secret" in word or "api-key" in word for word in (*run, *judge))


@pytest.mark.parametrize(
    ("options", "flags", "said"),
    [
        (BatchOptions(judge_mode="skip", commit=True), {}, "--commit needs scores"),
        (BatchOptions(judges=()), {}, "--judge: name at least one"),
        (BatchOptions(), {"endpoint": "http://gpu.example:8000"}, "serves its models on this machine"),
        (BatchOptions(), {"agent": "nobody"}, "agent: 'nobody' is not one of"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, options: BatchOptions, flags: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        planned(tmp_path, options, **flags)


def test_two_models_never_share_a_folder(tmp_path: Path) -> None:
    config = batch_config(None, {"provider": "bedrock", "output_dir": tmp_path, "clone_dir": tmp_path / "work",
                                 "dataset": find_project().dataset / "quickstart.yaml", "sandbox": "none"})  # fmt: skip
    with pytest.raises(UsageError, match="would write to the same folder"):
        lay_out_batch(config, ["us.anthropic.claude-opus-5", "anthropic.claude-opus-5"], BatchOptions())
    with pytest.raises(UsageError, match="would write to the same folder"):
        lay_out_batch(config, ["m", "m"], BatchOptions())


def test_a_fault_of_the_configuration_is_named_by_its_flag() -> None:
    with pytest.raises(DocumentError, match="--concurrency"):
        batch_config(None, {"concurrency": 0})


def test_a_step_is_the_real_command_and_its_lines_are_labelled() -> None:
    said: list[str] = []
    assert anyio.run(run_step, "m run", ("summarize", "--folder=/nowhere"), said.append) == 2
    assert said and all(line.startswith("m run | ") for line in said)
    assert "/nowhere" in said[0]


def test_a_step_that_is_told_to_end_ends_and_gives_no_result() -> None:
    said: list[str] = []
    codes: list[int] = []
    begun = anyio.Event()

    def say(line: str) -> None:
        said.append(line)
        anyio.from_thread.run_sync(begun.set)

    async def rehearse() -> None:
        scenario = find_project().dataset / "quickstart" / "scenario.yaml"
        codes.append(await run_step("m", ("rehearse", str(scenario)), say))

    async def go() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(rehearse)
            await begun.wait()
            group.cancel_scope.cancel()

    anyio.run(go)
    assert len(said) > 1, "its last words are heard"
    assert codes == []
