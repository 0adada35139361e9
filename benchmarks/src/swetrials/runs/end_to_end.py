"""The whole way: trials and their judging in one go, and the judging of trials that ran before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.environments.local_context import local_context
from swetrials.environments.work_context import WorkContext
from swetrials.errors import UsageError
from swetrials.judging import JUDGES, Judge
from swetrials.judging.late import Datasets, Judged, JudgingError, judge_trials, outstanding
from swetrials.judging.rubric import DOCUMENTS
from swetrials.records.check import Check
from swetrials.records.config import PREPARATIONS_MAX_GB
from swetrials.records.metrics import Metrics
from swetrials.records.words import counted
from swetrials.runs.benchmark import PreflightError, RunOptions, RunResult, Viewer, run_plan
from swetrials.runs.judge_choice import JudgeChoice, open_judges
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.documents import LoadedDataset, load_dataset
from swetrials.store.files import RecordError
from swetrials.store.project import Project, find_project
from swetrials.store.results import TrialFolder, none_in, state_of, told_apart, trial_folders


async def run_and_judge(
    prepared: PreparedRun,
    options: RunOptions,
    judges: Sequence[str],
    choice: JudgeChoice,
    viewer: Viewer,
    observe: Callable[[Judged], None],
) -> RunResult:
    """Run a plan and let the named judges score what comes out, one trial after another.

    However many agents work at a time, tests of several trials at a time would share this machine's cores, and their
    limits would no longer be those that they had alone: judging later can be asked for that.

    Each judge is proved by a real call before anything is spent, unless there will be nothing to ask it; one that is
    not installed is left out, and the pre-flight says so.

    Raises:
        PreflightError: a check failed, a judge's among them; nothing was spent.
        UsageError: a judge or its route is unknown, or another run is writing to the same results.
    """
    rehearsal = prepared.provider.scripted
    dataset, skill = prepared.plan.dataset, prepared.plan.skill
    datasets = Datasets(dataset, prepared.project.dataset)
    folders = [trial.folder for trial in prepared.plan.trials]
    async with open_judges(judges, choice, prepared.project, rehearsal=rehearsal, datasets=[dataset.path]) as opened:
        absent: set[str] = set()

        async def checks(to_run: int) -> list[Check]:
            found = []
            for judge in opened:
                if judge.kind == "rubric" and not set(DOCUMENTS).issubset(skill.documents):
                    told = (
                        f"{judge.name} scores nothing: the skill {skill.name} does not ask for what the rubric scores"
                    )
                    found.append(Check("judge", "skipped", told))
                    continue
                if not to_run and not outstanding(folders, judge, datasets, overwrite=False, repo=None):
                    continue
                check = await judge.prove(prepared.place)
                if check.status == "skipped":
                    absent.add(judge.name)
                found.append(check)
            return found

        async with prepared.provider.open(prepared.config) as hosting:
            pin = choice.pin(judges, rehearsal=rehearsal)
            result = await run_plan(prepared, hosting, options, viewer, checks, pin)
        await judge_trials(
            result.folders,
            [judge for judge in opened if judge.name not in absent],
            prepared.place,
            datasets,
            overwrite=False,
            repo=None,
            observe=observe,
        )
    return result


@dataclass(frozen=True)
class JudgingRequest:
    """What a person wants judged: a trial's folder or a tree of them, how, and how many trials at a time.

    ``environment`` and ``preparations_max_gb`` are the keys of the configuration.
    """

    folder: Path
    recursive: bool = False
    overwrite: bool = True
    judges: tuple[str, ...] = JUDGES.own
    dataset: Path | None = None
    repo: str | None = None
    clone_root: Path | None = None
    concurrency: int = 1
    environment: str = "auto"
    preparations_max_gb: float = PREPARATIONS_MAX_GB


async def judge_folders(
    request: JudgingRequest, choice: JudgeChoice, show: Callable[[Check], None], observe: Callable[[Judged], None]
) -> None:
    """Score trials that have run before; rehearsals are judged by the rehearsal server unless said otherwise.

    Each judge that has something to judge is proved by a real call first; one that is not installed is left out.

    Args:
        request: what is to be judged.
        choice: the judge's route and model.
        show: takes in what proving each judge has found.
        observe: takes in each judge's word on each trial.

    Raises:
        PreflightError: a judge cannot do its work here; nothing was judged by it.
        UsageError: there is nothing to judge, or a judge, its route or what it needs is not there.
        DocumentError: the given dataset has faults.
        AbsentError: the environment that is asked for is not to be had.
        UncoveredError: something private cannot be hidden.
    """
    if request.concurrency < 1:
        raise UsageError(f"concurrency: expected a whole number of at least 1, got {request.concurrency}")
    if not request.judges:
        raise UsageError(f"--judge: name at least one of {', '.join(JUDGES.own)}")
    folders = list(trial_folders(request.folder))
    if not folders:
        raise UsageError(f"{none_in(request.folder)}; run one with: swetrials run{told_apart(request.folder)}")
    if not request.recursive and folders != [TrialFolder(request.folder)]:
        held = counted(len(folders), "trial")
        raise UsageError(f"{request.folder} holds {held}: add --recursive to judge what is below it")
    project = find_project()
    datasets = Datasets(load_dataset(request.dataset) if request.dataset else None, project.dataset)
    context = _judge_context(request, choice, project)
    for rehearsal, group in _by_kind(folders):
        files = sorted({found.path for folder in group if (found := _dataset_of(datasets, folder)) is not None})
        async with open_judges(request.judges, choice, project, rehearsal=rehearsal, datasets=files) as judges:
            able = []
            for judge in judges:
                needed = outstanding(group, judge, datasets, overwrite=request.overwrite, repo=request.repo)
                if not needed or await _able(judge, context, show):
                    able.append(judge)
            if not able:
                raise PreflightError("no judge can work here: nothing was judged")
            await judge_trials(
                group,
                able,
                context,
                datasets,
                overwrite=request.overwrite,
                repo=request.repo,
                observe=observe,
                concurrency=request.concurrency,
            )


async def _able(judge: Judge, context: WorkContext, show: Callable[[Check], None]) -> bool:
    check = await judge.prove(context)
    show(check)
    if check.status == "failed":
        raise PreflightError(f"the {judge.name} judge cannot work here: nothing was judged")
    return check.status != "skipped"


def _judge_context(request: JudgingRequest, choice: JudgeChoice, project: Project) -> WorkContext:
    given = [request.dataset.resolve().parent] if request.dataset else []
    return local_context(
        request.environment,
        project,
        request.clone_root,
        (project.dataset, *given, request.folder),
        preparations_max_gb=request.preparations_max_gb,
        keys=[choice.api_key.get_secret_value()] if choice.api_key else [],
    )


def _by_kind(folders: Sequence[TrialFolder]) -> list[tuple[bool, list[TrialFolder]]]:
    rehearsals = [f for f in folders if isinstance(m := state_of(f), Metrics) and m.trial.rehearsal]
    real = [f for f in folders if f not in rehearsals]
    return [(kind, group) for kind, group in ((True, rehearsals), (False, real)) if group]


def _dataset_of(datasets: Datasets, folder: TrialFolder) -> LoadedDataset | None:
    try:
        return datasets.of(folder.metrics())
    except (JudgingError, RecordError):
        # Judging the trial says what is wrong with it; here it only brings no lines to rehearse.
        return None
