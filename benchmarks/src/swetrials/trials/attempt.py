"""One go of an agent at a trial: a fresh checkout, a private home, a process group, and what came of it."""

import secrets
from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.to_thread import run_sync

from swetrials.environments.base import PreparationError
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.sealing import SealError
from swetrials.hosting.base import ProviderError
from swetrials.records.metrics import PATCH, AttemptRecord
from swetrials.store.files import write_atomically, write_record_once
from swetrials.trials.attempt_session import AttemptSession, Watch, drive
from swetrials.trials.gathering import gather
from swetrials.trials.plan import prompt_for
from swetrials.trials.run_context import Order, RunContext
from swetrials.workspace.git import GitError
from swetrials.workspace.instructions import SetAside, set_aside
from swetrials.workspace.patch import apply_patch
from swetrials.workspace.processes import Ended, LaunchError
from swetrials.workspace.space import Space, attempt_space_aside, require_room

ATTEMPT = "attempt.json"
LOST = "lost"
"""``ended_by`` of an attempt on another machine that is gone, and of which only what was heard by then is known."""

ATTEMPT_ERRORS = (GitError, LaunchError, PreparationError, ProviderError, SealError, OSError)
"""What keeps an attempt from being made, or from coming to its end."""


@dataclass(frozen=True)
class Attempt:
    """What came of an attempt."""

    record: AttemptRecord
    artifacts: dict[str, bytes]


def new_attempt_id(order: Order) -> str:
    """Return an id, and mark, that no other attempt has."""
    return f"{order.trial.label[:40]}-{order.number}-{secrets.token_hex(4)}"


async def run_attempt(
    context: RunContext, order: Order, attempt_id: str, ledger: list[Attempt], watch: Watch
) -> Attempt:
    """Run an agent once on this machine, gather what it leaves, and add it to the trial's ledger.

    The attempt's stream, its requests and its standard error go to the trial's folder as they come, its record
    when it has ended. Whatever becomes of the agent is the record's outcome. An attempt that was cancelled, or
    that the disk could not follow, is in the ledger too when the exception goes on: its tokens were spent.

    Raises:
        ProviderError: there is no route any more.
        GitError: the checkout cannot be made.
        LaunchError: the agent cannot be started.
        PreparationError: its environment cannot be prepared.
        SealError: the agent cannot be sealed.
        OSError: the disk is full or not writable.
    """
    route = context.hosting.route(attempt_id)
    # Without the meter the agent holds the real key, which may be in no variable of ours: a profile's, for one.
    context = context.hiding(route.secrets)
    require_room(context.place.work_root, order.trial.folder.path)
    place, source = context.place, Source(order.environment, order.repo, order.commit)
    async with (
        Preparations(place).holding(source) as preparation,
        attempt_space_aside(place.work_root, attempt_id, keep=context.keep_checkouts) as space,
    ):
        aside = await run_sync(_furnish, context, order, space)
        view = await preparation.attach(place.environment.view(space, source.repository))
        documents = view.inside.artifacts if context.skill.documents else None
        prompt = prompt_for(order.trial.task, view.inside.checkout, documents, order.only)
        session = AttemptSession(
            context=context,
            trial=order.trial,
            folder=order.folder,
            view=view,
            id=attempt_id,
            route=route,
            prompt=prompt,
            aside=aside,
            writable=space.folders,
            asked=order.environment,
            preparation_sha256=preparation.sha256,
        )
        try:
            ended = await drive(session, watch)
        except (OSError, anyio.get_cancelled_exc_class()):
            await _enter(session, order, session.cut_short("cancelled"), ledger)
            raise
        return await _enter(session, order, ended, ledger)


def _furnish(context: RunContext, order: Order, space: Space) -> tuple[SetAside, ...]:
    """Make the attempt's checkout, and return what of it the agent is not to see."""
    context.place.repositories.check_out(order.repo, order.commit, space.checkout)
    for name, data in order.earlier.items():
        if name == PATCH:
            apply_patch(space.checkout, data)
        else:
            write_atomically(space.artifacts / name, data)
    return set_aside(space.checkout) if context.config.repo_instructions == "neutralise" else ()


async def _enter(session: AttemptSession, order: Order, ended: Ended, ledger: list[Attempt]) -> Attempt:
    """Gather what an attempt left and enter it into the ledger and the budget, come what may."""
    with anyio.CancelScope(shield=True):
        output = session.output(ended, order.queued_seconds)
        attempt = Attempt(*await run_sync(gather, session.context, order, output))
        ledger.append(attempt)
        session.context.budget.end(session.id, attempt.record.cost.amount_usd)
        with suppress(OSError):  # on a full disk the trial's own record, which holds this one, has to survive
            await run_sync(write_record_once, order.folder / ATTEMPT, attempt.record)
    return ledger[-1]
