"""What the pre-flight says of preparations; they are made then, before any money is spent."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

from swetrials.environments.base import SetupError
from swetrials.environments.preparation import Preparation, Preparations, Source
from swetrials.errors import KnownError
from swetrials.records.check import Check
from swetrials.records.environment import EnvironmentSpec

NAME = "preparation"

_MOST_NAMES = 3
_HASH_LETTERS = 12


async def preparation_checks(
    preparations: Preparations, sources: Sequence[Source], stack: AsyncExitStack
) -> AsyncIterator[Check]:
    """Make, or find, the preparation of each source, and yield a line for each that there has to be.

    Args:
        preparations: what prepares.
        sources: of the tasks that are to run.
        stack: holds the preparations for as long as the run goes on.
    """
    told: set[str] = set()
    for source in (source for index, source in enumerate(sources) if source not in sources[:index]):
        try:
            preparation = await stack.enter_async_context(preparations.holding(source))
            took = await preparations.prove(source) if preparation.each_time else None
        except (KnownError, OSError) as error:
            printed = error.printed if isinstance(error, SetupError) else ()
            below = "".join(f"\n  {line}" for line in printed) if len(printed) > 1 else ""
            yield Check(NAME, "failed", f"{source.repository}: {error}{below}")
            continue
        if took is not None:
            detail = f"{source.repository}: {_asked(source.spec)}, made anew for each attempt in {took:.0f} s"
            yield Check(NAME, "ok", detail)
        elif preparation.stored is not None and preparation.stored.record.sha256 not in told:
            told.add(preparation.stored.record.sha256)
            yield _told(source, preparation)


def _told(source: Source, preparation: Preparation) -> Check:
    assert preparation.stored is not None
    record = preparation.stored.record
    when = f"made in {record.seconds:.0f} s" if preparation.new else "kept from before"
    detail = f"{source.repository}: {_asked(source.spec)}, {when} ({record.sha256[:_HASH_LETTERS]})"
    if record.changed:
        names = ", ".join(record.changed[:_MOST_NAMES]) + (", ..." if len(record.changed) > _MOST_NAMES else "")
        detail = f"{detail}; setup changed files of the commit, which attempts see as they were: {names}"
    if preparation.copied:
        detail = f"{detail}; each attempt gets a copy, since no overlay can be laid: {preparation.copied}"
    return Check(NAME, "warning" if record.changed or preparation.copied else "ok", detail)


def _asked(spec: EnvironmentSpec) -> str:
    commands = f"{len(spec.setup)} setup command{'s' if len(spec.setup) > 1 else ''}" if spec.setup else ""
    python = f"python {spec.python}" if spec.python else ""
    node = f"node {spec.node}" if spec.node else ""
    return ", ".join(filter(None, (python, node, commands)))
