"""``mine``: a dataset out of a repository's own history."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import with_mine_keys

if TYPE_CHECKING:
    from swetrials.environments.work_context import WorkContext
    from swetrials.mining.mining_run import Mined, MiningProgress, MiningRequest
    from swetrials.records.mined import MiningRefusal

app = single_command()

_DAY = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]
_TOLD = 160


@app.command(epilog="Example: swetrials mine ../my-project --out mined/my-project --max 30")
@with_mine_keys
def mine(
    repo: Annotated[str, typer.Argument(help="The repository: a folder, a bundle, or an address that git can fetch.")],
    out: Annotated[Path, typer.Option(help="Folder for the dataset; a run that was stopped goes on there.")],
    flags: dict[str, object],
    since: Annotated[datetime | None, typer.Option(formats=_DAY, help="No commit before this day.")] = None,
    until: Annotated[datetime | None, typer.Option(formats=_DAY, help="No commit after this day.")] = None,
    most: Annotated[int | None, typer.Option("--max", min=1, help="Tasks at most, the newest first.")] = None,
    paths: Annotated[str, typer.Option(help="Changes of source in these folders alone.")] = "",
    tests: Annotated[str, typer.Option(help="The command that runs the tests, where it is not found.")] = "",
    report: Annotated[
        Literal["junit", "unittest", "node-test", "go-json", "tap"], typer.Option(help="How --tests reports.")
    ] = "junit",
    issues: Annotated[
        Path | None, typer.Option(help="Issues or requests as JSON: gh issue list --json number,title,body.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Candidates at one time.")] = 2,
    budget_minutes: Annotated[float | None, typer.Option(min=0, help="Begin no candidate after these.")] = None,
    times: Annotated[int, typer.Option(min=1, help="Run tests this often on the same files, to find flaky ones.")] = 3,
    limit_seconds: Annotated[float, typer.Option(min=1, help="For a command of tests, until one was timed.")] = 300.0,
) -> None:
    """Make a dataset of a repository's own merged changes: each with its tests, its solution and its controls.

    Everything happens on this machine. The repository is only read. What was tried is not tried again.
    """
    from swetrials.mining.candidates import Filters
    from swetrials.mining.issue_texts import read_issue_texts
    from swetrials.mining.mining_run import MiningRequest
    from swetrials.mining.runners import asked_runner

    request = MiningRequest(
        repo=_address(repo),
        out=out.absolute(),
        filters=Filters(_utc(since), _utc(until), tuple(part for part in paths.split(",") if part)),
        most=most,
        runner=asked_runner(tests, report) if tests else None,
        texts=read_issue_texts(issues) if issues else {},
        jobs=jobs,
        budget_seconds=None if budget_minutes is None else budget_minutes * 60,
        times=times,
        limit_seconds=limit_seconds,
    )
    leave(mine_repository(request, flags))


def mine_repository(request: MiningRequest, flags: Mapping[str, object]) -> int:
    """Mine, and print each verdict as it comes.

    Returns:
        0: there are tasks; 1: there is none.

    Raises:
        KnownError: nothing can be mined; the message says why.
    """
    from swetrials.cli.interrupting import run_async
    from swetrials.mining.mining_run import mine as mined_from

    place = _place(request, flags)
    mined = run_async(lambda: mined_from(request, place, _show))
    _show_end(mined)
    return 0 if mined.kept else 1


def _place(request: MiningRequest, flags: Mapping[str, object]) -> WorkContext:
    from swetrials.environments.local_context import local_context
    from swetrials.records.dataset import is_local_address
    from swetrials.store.documents import load_config
    from swetrials.store.project import find_project

    config = load_config(None, os.environ, flags)
    own = [Path(request.repo)] if is_local_address(request.repo) else []
    return local_context(
        config.environment,
        find_project(),
        Path(config.clone_dir) if config.clone_dir else None,
        (request.out, *own),
        preparations_max_gb=config.preparations_max_gb,
    )


def _address(repo: str) -> str:
    from swetrials.errors import UsageError
    from swetrials.records.dataset import is_local_address, repository_address

    try:
        address = repository_address(repo)
    except ValueError as error:
        raise UsageError(f"{repo}: {error}") from None
    if not is_local_address(address):
        return address
    path = Path(address).expanduser()
    if not path.exists():
        raise UsageError(f"{repo} does not exist; name a repository's folder, a bundle, or an address")
    return str(path.resolve())


def _utc(day: datetime | None) -> datetime | None:
    from datetime import UTC

    return day.replace(tzinfo=UTC) if day is not None else None


def _show(progress: MiningProgress) -> None:
    from swetrials.records.words import counted
    from swetrials.results.report import wording as figures

    latest = progress.latest
    if latest is None:
        print(counted(progress.candidates, "candidate"), flush=True)
        return
    left = "" if progress.left_seconds is None else f" · about {figures.seconds(progress.left_seconds)} left"
    head = f"  {progress.done} of {progress.candidates}, {progress.kept} kept{left} · {latest.commit[:9]}"
    print(f"{head} {latest.subject[:60]}: {_verdict(latest.reason, latest.told, latest.marks)}", flush=True)


def _verdict(reason: MiningRefusal | None, told: str, marks: tuple[str, ...]) -> str:
    from swetrials.records.mined import MINING_REFUSALS

    if reason is None:
        return "kept" + (f" ({', '.join(marks)})" if marks else "")
    line = " ".join(told.split())
    return f"{reason}: {MINING_REFUSALS[reason]}" + (f": {line[:_TOLD]}" if line else "")


def _show_end(mined: Mined) -> None:
    from swetrials.records.words import counted

    if mined.shallow:
        print("the clone is shallow: older changes are not in it; git fetch --unshallow brings them")
    for reason, number in sorted(mined.refused.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {number:>6}  {reason}")
    refused = sum(mined.refused.values())
    untried = f", {mined.spare} more beyond --max" if mined.spare else ""
    untried += f", {mined.untried} not tried" if mined.untried else ""
    where = f" -> {mined.dataset}" if mined.dataset else "; none became a task"
    print(f"mined: {counted(mined.commits, 'commit')}, {len(mined.kept)} kept, {refused} refused{untried}{where}")
