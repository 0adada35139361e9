"""One judgment: a checkout, an agent that reads in it and answers, and the proof that it has changed nothing."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from swetrials.environments.sealing import SealError
from swetrials.hosting.base import ProviderError
from swetrials.judging.reply import ReplyError
from swetrials.records.dataset import repository_name
from swetrials.records.judged_inputs import InputJudgment, RouterInputs
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.router.inputs.question import question, question_sha256, read_answer
from swetrials.store.documents import LoadedDataset
from swetrials.store.results import TrialFolder
from swetrials.trials.attempt_session import AttemptSession, Watch, drive
from swetrials.trials.gathering import STREAM, cost_of, keep_stderr
from swetrials.trials.outcome_classification import decide
from swetrials.trials.plan import Trial
from swetrials.trials.run_context import RunContext
from swetrials.trials.trial import environment_failure
from swetrials.workspace.git import GitError
from swetrials.workspace.instructions import set_aside
from swetrials.workspace.processes import Ended, LaunchError
from swetrials.workspace.snapshot import Snapshot, changed, snapshot
from swetrials.workspace.space import attempt_space_aside

Keep = Callable[[InputJudgment], None]
"""Called with a judgment that has ended, well or not."""

_MOST_NAMED = 5


async def judge_task(context: RunContext, dataset: LoadedDataset, trial: Trial, watch: Watch, keep: Keep) -> None:
    """Have the agent judge a task once, and hand the judgment over, whatever came of it.

    The stream, the requests and the standard error go to a folder of their own in the results tree. A judgment that
    is cancelled is handed over as well before the cancellation goes on: its tokens were spent.
    """
    started = datetime.now(UTC)
    repo = dataset.repo_address(trial.task)
    try:
        commit = await run_sync(context.place.repositories.resolve, repo, trial.task.ref)
        await _in_checkout(context, dataset, trial, repo, commit, watch, keep)
    except (GitError, LaunchError, ProviderError, SealError, OSError) as error:
        outcome = environment_failure(error)
        keep(
            InputJudgment(
                task=trial.task.id,
                repeat=trial.repeat,
                failure=context.place.redactor.text(_told(outcome)),
                outcome=outcome,
                agent_version=context.installed.version,
                prompt_sha256=question_sha256(trial.task),
                started_at=started.isoformat(),
            )
        )


async def _in_checkout(
    context: RunContext, dataset: LoadedDataset, trial: Trial, repo: str, commit: str, watch: Watch, keep: Keep
) -> None:
    judging_id = f"{trial.label[:40]}-judging-{secrets.token_hex(4)}"
    route = context.hosting.route(judging_id)
    context = context.hiding(route.secrets)
    async with attempt_space_aside(context.place.work_root, judging_id, keep=context.keep_checkouts) as space:
        await run_sync(context.place.repositories.check_out, repo, commit, space.checkout)
        aside = set_aside(space.checkout) if context.config.repo_instructions == "neutralise" else ()
        environment = context.place.environment
        await run_sync(environment.hand_over, space)
        view = environment.view(space, repository_name(repo))
        before = await run_sync(snapshot, space.checkout)
        session = AttemptSession(
            context=context,
            trial=trial,
            folder=_free_folder(trial.folder),
            view=view,
            id=judging_id,
            route=route,
            prompt=question(trial.task, view.inside.checkout),
            aside=aside,
            writable=[space.home, space.artifacts, space.temporary],
            asked=dataset.dataset.environment_of(trial.task),
        )
        try:
            ended = await drive(session, watch)
        except (LaunchError, SealError):
            context.budget.end(judging_id, None)
            raise
        except OSError as error:
            ended = session.cut_short("cancelled")
            await _hand_over(session, commit, ended, before, keep, environment_failure(error))
        except anyio.get_cancelled_exc_class():
            await _hand_over(session, commit, session.cut_short("cancelled"), before, keep)
            raise
        else:
            await _hand_over(session, commit, ended, before, keep)


def _free_folder(place: TrialFolder) -> Path:
    """Return the folder for the logs of another judgment; those of earlier ones stay."""
    number = 1
    while place.attempt_folder(number).exists():
        number += 1
    return place.attempt_folder(number)


async def _hand_over(
    session: AttemptSession, commit: str, ended: Ended, before: Snapshot, keep: Keep, failed: Outcome | None = None
) -> None:
    with anyio.CancelScope(shield=True):
        judgment = await run_sync(_judgment, session, commit, ended, before, failed)
        session.context.budget.end(session.id, judgment.cost.amount_usd)
        keep(judgment)


def _judgment(
    session: AttemptSession, commit: str, ended: Ended, before: Snapshot, failed: Outcome | None
) -> InputJudgment:
    context, output = session.context, session.output(ended)
    said = keep_stderr(context, session.view.outside, session.folder)
    idle_seconds = context.config.idle_timeout_seconds
    outcome = failed or decide(session.tally, ended, (), output.seen, said, idle_seconds)
    inputs, failure = _verdict(session, outcome, before)
    usage = output.usage
    return InputJudgment(
        task=session.trial.task.id,
        repeat=session.trial.repeat,
        inputs=inputs,
        failure=context.place.redactor.text(failure),
        outcome=outcome.model_copy(update={"detail": context.place.redactor.text(outcome.detail)}),
        agent_version=session.tally.agent_version or context.installed.version,
        models_served=output.requests.models_served if output.requests else (),
        commit=commit,
        prompt_sha256=question_sha256(session.trial.task),
        started_at=session.started.isoformat(),
        seconds=round(ended.wall_seconds, 3),
        num_turns=output.turns,
        usage=usage.headline,
        cost=cost_of(context, output, usage),
        stream_log=str((session.folder / STREAM).relative_to(context.config.output_dir)),
    )


def _verdict(session: AttemptSession, outcome: Outcome, before: Snapshot) -> tuple[RouterInputs | None, str]:
    """Return what the agent judged, or nothing and the reason why it counts for nothing."""
    if outcome.kind is not OutcomeKind.COMPLETED:
        return None, _told(outcome)
    if touched := changed(before, snapshot(session.view.outside.checkout)):
        named = ", ".join(map(str, touched[:_MOST_NAMED])) + (" ..." if len(touched) > _MOST_NAMED else "")
        return None, f"the agent changed what it had only to read: {named}"
    try:
        inputs = read_answer(session.tally.end.text if session.tally.end else "")
    except ReplyError as error:
        return None, f"no usable answer: {error}"
    mask = session.context.place.redactor.text
    return inputs.model_copy(update={"consequence": mask(inputs.consequence), "reason": mask(inputs.reason)}), ""


def _told(outcome: Outcome) -> str:
    return f"{outcome.kind}: {outcome.detail}" if outcome.detail else str(outcome.kind)
