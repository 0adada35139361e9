"""Having an agent judge what a router has to be told of each task: begun, gone on with, kept after every judgment."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import mean

from filelock import FileLock, Timeout

from swetrials import __version__
from swetrials.agents.events import Tally
from swetrials.environments.base import sandbox_name
from swetrials.errors import UsageError
from swetrials.hosting.base import Hosting
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.judged_inputs import InputJudgment, JudgedInputs
from swetrials.router.inputs.judgment import judge_task
from swetrials.router.inputs.question import SKILL, first_step, question_sha256
from swetrials.router.inputs.totals import with_judgments
from swetrials.runs.benchmark import RunOptions, Viewer, preflight
from swetrials.runs.defaults import with_benchmark
from swetrials.runs.environment_checks import sealing_checks
from swetrials.runs.forecast import Forecast, budget_check
from swetrials.runs.prepared_run import PreparedRun, lay_out
from swetrials.store.clock import utc_now
from swetrials.store.files import read_record, sha256_of, write_record
from swetrials.store.project import find_project
from swetrials.trials.plan import Trial
from swetrials.trials.run_context import RunContext
from swetrials.trials.schedule import in_turn
from swetrials.trials.trial import Progress

SETTLED: Mapping[str, object] = {
    "skill": SKILL,
    "permission_mode": "dontAsk",
    "allowed_tools": ("Glob", "Grep", "Read"),
    "executor": "local",
}
"""What makes a judgment one, and read-only, whatever the configuration says. What is not allowed is refused unasked."""

METRICS = "metrics"
"""Name of the folder of published figures, below the project's pages."""

_SAME = ("dataset", "agent", "model", "provider", "aws_region", "skill_sha256")
"""What judgments must share to be put together."""


def lay_out_judging(config: RunnerConfig) -> PreparedRun:
    """Plan the judgments of a configuration's tasks: its trials stand for judgments.

    Raises:
        UsageError: agent, provider or sandbox are not to be had.
        DocumentError: the dataset has faults.
        PlanError: a task or the skill is unknown.
        StepError: the skill has no first step that can be run alone.
    """
    prepared = lay_out(with_benchmark(config, find_project()).model_copy(update=SETTLED))
    return replace(prepared, plan=replace(prepared.plan, skill=first_step(prepared.plan.skill)))


def default_file(prepared: PreparedRun) -> Path:
    """Return where judgments are kept unless told: with a clone's published figures, or with the results."""
    rehearsal = prepared.provider.scripted
    of_a_clone = prepared.project.brought_along is None
    folder = prepared.project.metrics if of_a_clone and not rehearsal else Path(prepared.config.output_dir)
    return folder / f"swe-router-judged-inputs-{prepared.agent.name}.json"


async def judge_inputs(
    prepared: PreparedRun, path: Path, hosting: Hosting, options: RunOptions, viewer: Viewer
) -> JudgedInputs:
    """Check everything, then make the judgments that a file does not hold yet, and return what it then holds.

    Each judgment is on disk when it has ended. One that failed for another reason than model or agent is made again
    by the next call; one that the agent spoilt is not.

    Args:
        prepared: from :func:`lay_out_judging`.
        path: the file, which is begun or gone on with.
        hosting: the provider at work.
        options: what the person decided for this invocation.
        viewer: who is watching.

    Raises:
        PreflightError: a check failed; nothing was spent.
        RecordError: there is a file, and it is not a record of this kind.
        UsageError: it holds judgments of something else, or somebody is writing to it.
    """
    with _only_writer(prepared.place.work_root, path):
        judging = _Judging(prepared, path)
        if not judging.missing:
            return judging.finish()
        expected = judging.forecast()
        about = (judging.standing(), budget_check(prepared, expected))
        environment = sealing_checks(prepared.context(hosting), prepared.plan.environments)
        await preflight(prepared, hosting, options, viewer, about, environment)
        viewer.expect(expected.to_run)
        budget = expected.budget(prepared.config.max_budget_usd)
        context = prepared.context(hosting, keep_checkouts=options.keep_checkouts, budget=budget)
        await judging.judge_all(replace(context, listen=viewer.listener or context.listen), viewer)
        return judging.finish()


class _Judging:
    """The judgments of one file: those that it holds already, and those that are made now."""

    def __init__(self, prepared: PreparedRun, path: Path) -> None:
        self._prepared = prepared
        self._path = path
        self._record = self._begun()

    @property
    def missing(self) -> Sequence[Trial]:
        """What was asked for and has no judgment that settles it."""
        settled = {(judgment.task, judgment.repeat) for judgment in self._record.judgments if judgment.settled}
        return [trial for trial in self._prepared.plan.trials if (trial.task.id, trial.repeat) not in settled]

    def finish(self) -> JudgedInputs:
        """Return what the file holds now; it says so when that is all that was asked for."""
        if not self.missing and self._record.ended_at is None:
            self._write(self._record.model_copy(update={"ended_at": utc_now()}))
        return self._record

    def _begun(self) -> JudgedInputs:
        fresh = self._header()
        if not self._path.exists():
            return fresh
        found = read_record(self._path, JudgedInputs)
        if differs := self._differences(found, fresh):
            raise UsageError(
                f"{self._path}: holds judgments of another {', '.join(differs)}; move it away, or give --out-json"
            )
        return found.model_copy(update={"repeats": max(found.repeats or 1, fresh.repeats or 1)})

    def _header(self) -> JudgedInputs:
        prepared, config = self._prepared, self._prepared.config
        return JudgedInputs(
            dataset=prepared.plan.dataset.dataset.name,
            rehearsal=prepared.provider.scripted,
            agent=prepared.agent.folder,
            model=config.model,
            provider=config.provider,
            aws_region=config.aws_region,
            skill=prepared.plan.skill.name,
            skill_sha256=sha256_of(prepared.plan.skill.text),
            allowed_tools=config.allowed_tools,
            permission_mode=config.permission_mode,
            sandbox=sandbox_name(prepared.place.environment.kind),
            harness_version=__version__,
            repeats=config.repeats,
            started_at=utc_now(),
        )

    def _differences(self, found: JudgedInputs, fresh: JudgedInputs) -> list[str]:
        differs = [name for name in _SAME if getattr(found, name) != getattr(fresh, name)]
        asked = {trial.task.id: question_sha256(trial.task) for trial in self._prepared.plan.trials}
        reworded = {j.task for j in found.judgments if asked.get(j.task, j.prompt_sha256) != j.prompt_sha256}
        return [*differs, *(f"wording of {task}" for task in asked if task in reworded)]

    def standing(self) -> Check:
        """Say what the file holds already."""
        to_make = len(self.missing)
        kept = len(self._prepared.plan.trials) - to_make
        there = f"{kept} of {len(self._prepared.plan.trials)} are there, " if kept else ""
        return Check("judgments", "ok", f"{self._path}: {there}{to_make} to make")

    def forecast(self) -> Forecast:
        """Say what the judgments to make will probably cost, from those that are there."""
        costs = [j.cost.amount_usd for j in self._record.judgments if j.settled and j.cost.amount_usd is not None]
        spent = self._record.cost
        is_bound = bool(self._record.judgments) and spent.status != "complete"
        return Forecast(
            len(self.missing), len(costs), mean(costs) if costs else None, spent.amount_usd or 0.0, is_bound
        )

    async def judge_all(self, context: RunContext, viewer: Viewer) -> None:
        """Make the judgments that are missing, at most ``concurrency`` at a time, as long as the budget lasts."""

        async def one(trial: Trial) -> None:
            if not context.budget.closed:
                await self._judge(context, trial, viewer)

        await in_turn(context, self.missing, one)

    async def _judge(self, context: RunContext, trial: Trial, viewer: Viewer) -> None:
        def watch(tally: Tally, cost_usd: float | None) -> None:
            viewer.progress(Progress(trial, "judging", tally.turns, tally.usage.usage.total, cost_usd))

        def keep(judgment: InputJudgment) -> None:
            self._write(self._with(judgment))
            viewer.progress(
                Progress(
                    trial,
                    _told(judgment),
                    judgment.num_turns or 0,
                    judgment.usage.usage.total,
                    judgment.cost.amount_usd,
                    judgment.outcome,
                )
            )

        viewer.progress(Progress(trial, "checkout"))
        await judge_task(context, self._prepared.plan.dataset, trial, watch, keep)

    def _with(self, judgment: InputJudgment) -> JudgedInputs:
        order = [task.id for task in self._prepared.plan.dataset.dataset.tasks]
        under_way = self._record.model_copy(update={"ended_at": None})
        return with_judgments(under_way, [*self._record.judgments, judgment], order)

    def _write(self, record: JudgedInputs) -> None:
        self._record = record
        write_record(self._path, record)


def _told(judgment: InputJudgment) -> str:
    inputs = judgment.inputs
    judged = f"floor {inputs.floor}, {inputs.tier}" if inputs else f"failed ({judgment.failure})"
    return f"{judged} · agent"


@contextmanager
def _only_writer(work_root: Path, path: Path) -> Iterator[None]:
    # Not beside the file: that folder is published.
    lock = work_root / "judging" / f"{sha256_of(str(path.resolve()))}.lock"
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=0):
            yield
    except Timeout:
        raise UsageError(f"somebody else is writing to {path}; wait for it to end") from None
