"""The checks before anything is spent. Each failed one names the command that mends it."""

import secrets
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from anyio.to_thread import run_sync

from swetrials.agents.base import Agent
from swetrials.agents.events import Tally
from swetrials.agents.install import find
from swetrials.agents.session import AgentSession
from swetrials.environments.base import Environment, View
from swetrials.environments.door import Door
from swetrials.environments.sealing import SealError, require_sealed_enough
from swetrials.hosting.base import Hosting
from swetrials.records.check import Check
from swetrials.records.dataset import Task
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.records.requests import RequestsBlock
from swetrials.records.sealing import closest
from swetrials.records.slug import another_answered
from swetrials.records.usage import UsageReport
from swetrials.records.words import counted
from swetrials.runs.checkout_checks import checkout_checks
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.project import Project
from swetrials.trials.metered_way import open_way
from swetrials.trials.resume_state import Standing
from swetrials.trials.run_context import RunContext
from swetrials.wire.route import Dialect, Route
from swetrials.workspace.git import GitError, git_version
from swetrials.workspace.processes import LaunchError, ProcessLimits
from swetrials.workspace.space import BYTES_NEEDED, attempt_space_aside, free_bytes

_PROBE = "probe"
_PROBE_SECONDS = 90.0
_ANSWERED = frozenset({OutcomeKind.TURN_LIMIT, OutcomeKind.OUTPUT_LIMIT, OutcomeKind.REFUSED})
_PROBE_PROMPT = "Answer with the single word: ready"


def machine_checks(agent: Agent, project: Project, environment: Environment, work_root: Path) -> Iterator[Check]:
    """Look at the programs and the disk that any run of an agent needs."""
    installed = find(agent.package, project.tools)
    if installed is None:
        fix = f"swetrials agents install {agent.name}"
        yield Check("agent", "failed", f"{agent.name} {agent.package.version} is not installed", fix)
    else:
        yield Check("agent", "ok", f"{agent.name} {installed.version}")
    yield Check("git", "ok", git_version()) if shutil.which("git") else _no_git()
    yield from environment.checks()
    yield _space(work_root)


async def plan_checks(prepared: PreparedRun) -> AsyncIterator[Check]:
    """Look at the settings, the dataset and the repositories of a planned run."""
    yield await run_sync(_settings, prepared)
    yield Check("dataset", "ok", f"{prepared.plan.dataset.path}: {counted(len(prepared.plan.trials), 'trial')}")
    if prepared.plan.dataset.dataset.ranked_by is None:
        detail = "some tasks have verify and others not, and nothing says what models are ranked by"
        yield Check(
            "dataset", "warning", detail, "say so in its header, rank_by: resolved or rubric; or use --rank-by later"
        )
    tasks = {trial.task.id: trial.task for trial in prepared.plan.trials}.values()
    for repo, group in _by_repository(prepared, list(tasks)).items():
        found = await run_sync(_repository, prepared, repo, group)
        yield found
        if found.status != "failed":
            for check in await run_sync(checkout_checks, prepared.place.repositories, repo, group):
                yield check


def _no_git() -> Check:
    return Check("git", "failed", "git is not on the search path", "install git")


def _space(place: Path) -> Check:
    free = free_bytes(place)
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if free < BYTES_NEEDED:
        return Check(
            "disk", "failed", f"{detail}, {BYTES_NEEDED / 1e9:.0f} GB needed", "free space, or set --clone-dir"
        )
    return Check("disk", "ok", detail)


def _settings(prepared: PreparedRun) -> Check:
    if prepared.config.settings_file is None:
        return Check("settings", "ok", "the agent's own defaults, with the route pinned")
    try:
        prepared.agent.check_settings(Path(prepared.config.settings_file))
    except ValueError as error:
        return Check("settings", "failed", str(error), "mend --settings-file")
    return Check("settings", "ok", prepared.config.settings_file)


def _by_repository(prepared: PreparedRun, tasks: Sequence[Task]) -> dict[str, list[Task]]:
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(prepared.plan.dataset.repo_address(task), []).append(task)
    return groups


def _repository(prepared: PreparedRun, repo: str, tasks: Sequence[Task]) -> Check:
    try:
        commits = {prepared.place.repositories.resolve(repo, task.ref)[:12] for task in tasks}
    except GitError as error:
        return Check("repository", "failed", str(error), f"mend repo or ref of {tasks[0].id}")
    found = f"{tasks[0].repo} at {', '.join(sorted(commits))}"
    if reason := prepared.place.repositories.out_of_reach(repo):
        detail = f"{found}, as its tags were when it was last reached: {reason}"
        return Check("repository", "warning", detail, "reach it, or give full commit ids as refs")
    return Check("repository", "ok", found)


def stale_check(standings: Sequence[Standing], *, yes: bool, resume: bool, force: bool) -> Check:
    """Say what the results folders hold already, and what will become of it.

    Args:
        standings: what is on disk of each trial.
        yes: earlier trials may be cleared, when nothing is resumed.
        resume: what is finished stays.
        force: resuming may clear finished trials of which something else was asked.
    """
    stale = [s for s in standings if s.stale]
    if not stale:
        return Check("results", "ok", "no earlier trials in the way")
    foreign = [s for s in stale if s.foreign]
    if resume and foreign and not force:
        detail = f"finished trials of which something else was asked: {_listed([s.told for s in foreign])}"
        fix = "--resume --force to run them again (the old ones move to .trash), or another --output-dir"
        if any("commit" in s.differs for s in foreign):
            fix = f"the commit that they ran at as the ref of their tasks keeps them; or {fix}"
        return Check("results", "failed", detail, fix)
    if resume:
        finished = [s for s in stale if s.stays(force=force)]
        told = f"resuming: {len(finished)} finished trials stay, {len(standings) - len(finished)} to run"
        if differently := [s.trial.label for s in finished if s.prepared_differently]:
            told = f"{told}; prepared differently than the dataset asks for by now: {_listed(differently)}"
            return Check("results", "warning", told, "--resume --force to run them again; their tests are scored anew")
        return Check("results", "ok", told)
    listed = _listed([f"{s.trial.label} ({_state(s)})" for s in stale])
    if yes:
        return Check("results", "warning", f"earlier trials move to .trash: {listed}")
    fix = "--resume to keep what is finished, or --yes to move them to .trash"
    return Check("results", "failed", f"earlier trials in the way: {listed}", fix)


def _listed(trials: Sequence[str]) -> str:
    return ", ".join(trials[:6]) + (" ..." if len(trials) > 6 else "")


def _state(standing: Standing) -> str:
    return standing.state.outcome.kind if isinstance(standing.state, Metrics) else "no readable record"


async def route_checks(agent: Agent, hosting: Hosting) -> AsyncIterator[Check]:
    """Look at the endpoint, and whether agent and endpoint speak a common dialect."""
    offered = hosting.route("preflight").dialects
    if not agent.dialects & offered:
        yield Check("dialect", "failed", no_common_dialect(agent, offered), "another --agent, see: swetrials matrix")
    for check in await hosting.checks():
        yield check


def no_common_dialect(agent: Agent, offered: frozenset[Dialect]) -> str:
    """Say why an agent cannot use an endpoint."""
    speaks, hears = (", ".join(sorted(dialects)) for dialects in (agent.dialects, offered))
    return f"{agent.name} speaks {speaks}; the endpoint understands {hears}"


async def probe(prepared: PreparedRun, context: RunContext) -> Check:
    """Make one tiny call through the very agent and route, in an empty folder."""
    # Two runs that begin in one second must not share a mark: the one that ends first would kill the other's agent.
    attempt_id = f"{_PROBE}-{secrets.token_hex(6)}"
    own_route = context.hosting.route(attempt_id)
    context = context.hiding(own_route.secrets)
    async with attempt_space_aside(context.place.work_root, attempt_id) as space:
        stderr = space.root / "stderr.log"
        asked = EnvironmentSpec(network=closest(network for _, network in prepared.plan.networks))
        try:
            async with open_way(context, own_route, space.root / "requests.jsonl", asked) as way:
                view = context.place.environment.view(space, _PROBE)
                session = _asking_once(context, view, way.route, way.door(asked, require_sealed_enough))
                ended = await session.run(ProcessLimits(_PROBE_SECONDS, grace_seconds=2), stderr=stderr)
        except LaunchError as error:
            return Check("probe", "failed", str(error), f"swetrials agents install {prepared.agent.name}")
        except SealError as error:
            return Check("sealing", "failed", str(error), "mend it, or go without: --environment host")
        said = context.place.last_words(stderr)
    tally, seen = session.tally, way.meter.block() if way.meter is not None else None
    if _answered(tally, seen):
        if seen is not None and (others := another_answered(prepared.config.model, seen.models_served)):
            fix = "mend --model or --endpoint, unless it is another name of the same"
            return Check("probe", "warning", others, fix)
        # The agent names the model that it was told to ask, whoever answers.
        who = f"{prepared.config.model} answered" if seen is not None else "answered, by which model nobody saw,"
        answered = f"{who} in {ended.wall_seconds:.1f} s"
        if way.unmetered:
            return Check("probe", "warning", f"{answered}, past the meter: {way.unmetered}", "mend it, or --no-meter")
        return Check("probe", "ok", answered)
    detail = context.place.redactor.text(f"{tally.outcome.kind}: {tally.outcome.detail}")
    if tally.end is None:
        detail = f"exit code {ended.exit_code} without an answer{': ' if said else ''}{said}"
    if tally.end is None and (retry := tally.pending_retry):
        detail = f"still being refused after {_PROBE_SECONDS:.0f} s: {retry.reason} (status {retry.status})"
    elif tally.end is not None and tally.outcome.kind is OutcomeKind.COMPLETED:
        detail = "the agent says that it was answered, and the meter saw no answer of a model"
    billed = _billed(tally.usage if seen is None else seen.usage) if prepared.provider.priced == "tokens" else ""
    return Check("probe", "failed", f"{detail}{billed}", "mend the route, or --skip-probe to go on regardless")


def _billed(usage: UsageReport) -> str:
    """Say what a probe that proved nothing has cost, by the meter's word where it saw an answer."""
    least = "" if usage.completeness == "complete" else "at least "
    return f"; the probe was billed: {least}{usage.usage.total:,} tokens" if usage.usage.total else ""


def _answered(tally: Tally, seen: RequestsBlock | None) -> bool:
    """Whether the route is proved: the model has answered, with tokens.

    That is for the meter to say, and for the agent only where there is none. How the agent then ends says nothing of
    the route, unless it failed: with one turn, a model that calls a tool first ends at the limit.
    """
    kind = tally.outcome.kind
    if kind is not OutcomeKind.COMPLETED and kind not in _ANSWERED:
        return False
    if seen is not None:
        # An answer that tells no tokens is one; an answer of 0 tokens is none.
        return seen.turns > 0 and seen.usage.usage.output != 0
    return kind is OutcomeKind.COMPLETED or bool(tally.usage.usage.output)


def _asking_once(context: RunContext, view: View, route: Route, door: Door | None) -> AgentSession:
    config = context.config.model_copy(update={"request_retries": 1, "max_turns": 1})
    return replace(context, config=config).agent_session(
        view, _PROBE_PROMPT, route, view.outside.folders, skill=None, door=door
    )
