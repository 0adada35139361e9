"""The rubric judge that reads the repository: ``codex exec`` in a clean checkout of the task's commit.

Codex runs the judge's commands in its own read-only sandbox, without network. The judge must not be steered
by anything but the rubric, so what Codex 0.171 would otherwise take from the repository under review is
switched off: ``AGENTS.md`` files and the skills below ``.agents`` and ``.codex``. (Project configuration is
ignored by itself unless the person has declared the folder trusted.) The judge's commands get a bare
environment: with the login shell or the full one they would see the route's key.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import orjson
from anyio.to_thread import run_sync

from swetrials.agents.base import Launch
from swetrials.agents.codex.config import CONFIG_FILE, exec_argv
from swetrials.agents.codex.stream import CodexReader
from swetrials.agents.events import Tally
from swetrials.agents.install import Installed, find
from swetrials.agents.packages import PACKAGES
from swetrials.agents.session import AgentSession
from swetrials.environments.base import Environment, View
from swetrials.environments.door import Door, open_because
from swetrials.environments.host import Host
from swetrials.environments.sealing import SEALED_PORT, SealError, require_sealed_enough
from swetrials.environments.work_context import WorkContext
from swetrials.judging.asking import JudgeAnswer, score_by_asking, scored_by_rule, unscored
from swetrials.judging.base import JudgeSettings, Submission
from swetrials.judging.checkout import CheckoutFailed, clean_checkout
from swetrials.judging.grounding import GroundingWitness
from swetrials.judging.prompt import judging_prompt
from swetrials.judging.routes import EndpointRoute, PersonalRoute, refuses
from swetrials.judging.rubric import present_units, reply_schema
from swetrials.records.check import Check
from swetrials.records.dataset import repository_name
from swetrials.records.evaluation import UNITS, JudgeBlock, RubricEvaluation, judge_label
from swetrials.records.outcome import OutcomeKind
from swetrials.records.sealing import Sealing
from swetrials.records.slug import another_answered
from swetrials.records.usage import UsageReport
from swetrials.store.files import sha256_of
from swetrials.store.stream_log import StreamLog
from swetrials.wire.meter import Meter, metered
from swetrials.wire.route import Route
from swetrials.workspace.processes import Ended, LaunchError, ProcessLimits
from swetrials.workspace.space import Space, SpaceError, attempt_space_aside

_SETTINGS = (
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    'web_search="disabled"',
    'approval_policy="never"',
    "allow_login_shell=false",
    'shell_environment_policy.inherit="core"',
    "features.multi_agent=false",
    "features.goals=false",
    "features.apps=false",
    "features.plugins=false",
    "features.hooks=false",
    "features.memories=false",
    # The vendor's own measurements and news: Codex would tell another host of each judging.
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
)

_CHECK = "judge"
_NOT_INSTALLED = "codex is not installed: no rubric scores"
_COMMAND_SECONDS = 60.0
_PROOF = "proof"
_PROOF_PROMPT = "Reply with the single word: ready\n"


@dataclass(frozen=True)
class CodexJudge:
    """The ``codex`` judge."""

    name: ClassVar[str] = "codex"
    kind: ClassVar[Literal["rubric", "tests"]] = "rubric"

    settings: JudgeSettings

    @property
    def label(self) -> str:
        """The judge and its model."""
        return judge_label(self.name, self.settings.model)

    def scored_sha256(self, submission: Submission) -> str:
        """Return the hash of the prompt without the artifacts, the reply's shape, the model and its effort.

        The prompt holds the task, the ground truth and the rubric. Where the route chooses the model, the route's
        name stands for it.
        """
        chosen = self.settings
        scoring = {
            "judge": self.name,
            "prompt": judging_prompt(replace(submission, artifacts={}, patch=None), UNITS, nonce=""),
            "reply": reply_schema(UNITS),
            "model": chosen.model or f"of {chosen.route.provider}",
            "reasoning_effort": chosen.reasoning_effort,
        }
        return sha256_of(orjson.dumps(scoring, option=orjson.OPT_SORT_KEYS))

    def asks(self, submission: Submission) -> bool:
        """Return whether the model is asked: an infrastructure failure and a trial without artifacts need nobody."""
        return scored_by_rule(submission) is None

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> RubricEvaluation:
        """Score a trial's artifacts by the rubric. A judge that fails leaves the trial unscored.

        Args:
            submission: the trial.
            place: where to work.
            log: receives the judge's event stream, secrets masked.
        """
        if (settled := scored_by_rule(submission)) is not None:
            return settled
        installed = self._installed()
        if installed is None:
            return unscored(_NOT_INSTALLED)
        try:
            async with attempt_space_aside(place.work_root, f"judge-{secrets.token_hex(6)}") as space:
                return await self._judged(submission, place, space, log, installed)
        except (CheckoutFailed, LaunchError, SealError, SpaceError, OSError) as error:
            return unscored(place.redactor.text(str(error)))

    async def prove(self, place: WorkContext) -> Check:
        """Prove the judge's route by one real call, and that its commands can run on this machine.

        A listing of models proves nothing; only a call shows that credentials, region and model fit together.
        """
        installed = self._installed()
        if installed is None:
            return Check(_CHECK, "skipped", _NOT_INSTALLED, "swetrials agents install codex (needs npm)")
        if isinstance(self.settings.route, EndpointRoute) and await run_sync(refuses, self.settings.route.base_url):
            # Codex would try again until the limit, and then tell of the limit alone.
            closed = f"{self.settings.route.base_url} refuses the connection: nothing listens there"
            return Check(_CHECK, "failed", closed, "start the server, or mend --judge-endpoint")
        async with attempt_space_aside(place.work_root, f"judge-proof-{secrets.token_hex(6)}") as space:
            try:
                return await self._proved(place, space, installed)
            except LaunchError as error:
                return Check(_CHECK, "failed", str(error), "make setup installs Codex")
            except SealError as error:
                return Check(_CHECK, "failed", str(error), "mend it, or judge with --judge tests alone")

    async def _proved(self, place: WorkContext, space: Space, installed: Installed) -> Check:
        route, limit = self.settings.route, self.settings.timeout_seconds
        async with _opened(self.settings, place, space, installed, _PROOF) as codex:
            if isinstance(route, PersonalRoute) and route.needs_login and await codex.lacks_login():
                # Codex would try until its limit to be let in without one.
                return Check(_CHECK, "failed", "your own Codex is not logged in", route.remedy)
            with StreamLog(space.artifacts / "proof.jsonl", place.redactor) as stream:
                answer = await codex.ask(_PROOF_PROMPT, limit_seconds=limit, schema=None, stream=stream)
        meter = codex.meter
        if answer.failure:
            return Check(_CHECK, "failed", place.redactor.text(answer.failure), route.remedy)
        served = meter.block().models_served if meter else ()
        if self.settings.model and (others := another_answered(self.settings.model, served)):
            return Check(_CHECK, "warning", others, "mend --judge-model or --judge-endpoint, unless it is the same")
        if broken := await codex.sandbox_failure():
            detail = f"its commands cannot run here, so no score will be grounded: {place.redactor.text(broken)}"
            return Check(_CHECK, "warning", detail, "allow unprivileged user namespaces on this machine")
        model = self.settings.model or ", ".join(served) or "of the configuration"
        return Check(_CHECK, "ok", f"codex {installed.version} via {route.provider}, model {model}, answered")

    def _installed(self) -> Installed | None:
        return find(PACKAGES["codex"], self.settings.tools)

    async def _judged(
        self, submission: Submission, place: WorkContext, space: Space, log: Path, installed: Installed
    ) -> RubricEvaluation:
        commit = await clean_checkout(place.repositories, submission, space.checkout)
        block = JudgeBlock(
            name=self.name,
            provider=self.settings.route.provider,
            model=self.settings.model,
            reasoning_effort=self.settings.reasoning_effort,
            agent_version=installed.version,
            repo=submission.task.repo,
            ref=submission.task.ref,
            commit=commit,
        )
        schema = space.temporary / "reply-schema.json"
        schema.write_bytes(orjson.dumps(reply_schema(present_units(submission))))
        repository = repository_name(submission.repo)
        async with _opened(self.settings, place, space, installed, repository) as codex:
            with StreamLog(log, place.redactor) as stream:
                ask = partial(codex.ask, limit_seconds=self.settings.timeout_seconds, schema=schema, stream=stream)
                said = await score_by_asking(submission, block, ask, place.redactor)
        return said.model_copy(update={"judge": codex.witnessed(said.judge)}) if said.judge else said


@asynccontextmanager
async def _opened(
    settings: JudgeSettings, place: WorkContext, space: Space, installed: Installed, repository: str
) -> AsyncIterator["_Codex"]:
    """Give Codex its way to the model: through the meter, sealed, where that has an address and a key.

    The other ways are Codex's own, with the person's login or AWS credentials, and it goes them on the host.
    """
    route = settings.route
    if not isinstance(route, EndpointRoute):
        yield _Codex(settings, View(space, space), Host(), installed)
        return
    environment = place.environment
    real = Route(frozenset({"openai-responses"}), route.base_url, route.api_key, settings.model or "")
    port = SEALED_PORT if environment.seals else None
    async with metered(real, space.root / "requests.jsonl", place.redactor, port=port) as meter:
        passing = replace(route, base_url=meter.route.base_url, api_key=meter.route.api_key)
        view = environment.view(space, repository)
        yield _Codex(replace(settings, route=passing), view, environment, installed, meter, route.base_url)


class _Codex:
    """Codex as a judge: its settings, its private folders, and what is started in them."""

    def __init__(
        self,
        settings: JudgeSettings,
        view: View,
        environment: Environment,
        installed: Installed,
        meter: Meter | None = None,
        endpoint: str = "",
    ) -> None:
        self.meter = meter
        self._endpoint = endpoint
        self._settings = settings
        self._view = view
        self._environment = environment
        self._installed = installed
        self._variables = dict(settings.route.environment())
        self._files: dict[Path, str] = {}
        self._sealing = None if self._is_sealed else self._open()
        if (config := settings.route.config()) is not None:
            codex_home = view.inside.home / ".codex"
            self._files[codex_home / CONFIG_FILE] = config
            self._variables["CODEX_HOME"] = str(codex_home)

    def witnessed(self, block: JudgeBlock) -> JudgeBlock:
        """Return what is said of the judge, with what it could reach and, where there is a meter, what it used."""
        update: dict[str, object] = {"sealing": self._sealing}
        if self.meter is not None:
            update["usage"] = self.meter.block().usage
        return block.model_copy(update=update)

    async def ask(self, prompt: str, limit_seconds: float, schema: Path | None, stream: StreamLog) -> JudgeAnswer:
        """Put one prompt to Codex and wait for its last word."""
        outside, inside = self._view.outside, self._view.inside
        prompt_file = inside.temporary / "prompt.txt"
        errors = outside.root / "stderr.log"  # out of reach of what a first reply's commands may have left
        witness = GroundingWitness(outside.checkout, inside.checkout)
        schema_inside = schema and inside.temporary / schema.name
        launch = Launch(self._argv(schema_inside), self._variables, {**self._files, prompt_file: prompt}, prompt_file)
        session = self._session(launch, self._door())
        ended = await session.run(ProcessLimits(limit_seconds), stderr=errors, log=stream, hear=witness.add)
        end = session.tally.end
        return JudgeAnswer(
            text=end.text if end else "",
            failure=self._in_the_endpoints_name(_failure(session.tally, ended, errors)),
            usage=_usage(session.tally),
            grounding=witness.grounding,
            duration_seconds=ended.wall_seconds,
        )

    def _in_the_endpoints_name(self, failure: str) -> str:
        """Tell of the endpoint and not of the meter before it, whose address nobody can look up later."""
        return failure.replace(self.meter.route.base_url, self._endpoint) if self.meter is not None else failure

    async def lacks_login(self) -> bool:
        """Return whether Codex says that nobody has logged in; it looks in its own files and asks no server."""
        ended, printed = await self._tell("login", "status")
        return ended.exit_code != 0 and b"not logged in" in printed.lower()

    async def sandbox_failure(self) -> str:
        """Return what Codex's sandbox says when it cannot run a command here; empty when it can."""
        ended, printed = await self._tell("sandbox", "-c", 'sandbox_mode="read-only"', "--", "true")
        output = printed.decode(errors="replace")
        return "" if ended.exit_code == 0 else output.strip()[-300:] or f"exit code {ended.exit_code}"

    async def _tell(self, *words: str) -> tuple[Ended, bytes]:
        """Run a command of Codex's that asks no model, and return what it printed."""
        launch = Launch((str(self._installed.binary), *words), self._variables, self._files)
        session = replace(self._session(launch, None), network="none")
        return await session.run_captured(ProcessLimits(_COMMAND_SECONDS))

    def _session(self, launch: Launch, door: Door | None) -> AgentSession:
        return AgentSession(
            launch,
            CodexReader(),
            self._view,
            self._environment,
            self._installed.folder,
            self._view.outside.folders,
            door,
        )

    def _door(self) -> Door | None:
        if self.meter is None or not self._is_sealed:
            return None
        return Door(self.meter.serve, "model", self._admit)

    def _admit(self, sealing: Sealing) -> None:
        self._sealing = sealing
        require_sealed_enough(sealing, "the judge is not sealed")

    @property
    def _is_sealed(self) -> bool:
        return self.meter is not None and self._environment.seals

    def _open(self) -> Sealing:
        if self.meter is None:
            why = f"by its route, {self._settings.route.provider}, Codex reaches its model itself"
            return Sealing(state="open", network="open", why=why)
        return Sealing(state="open", network="model", why=open_because(self._environment, "model"))

    def _argv(self, schema: Path | None) -> tuple[str, ...]:
        chosen = self._settings
        effort = (f'model_reasoning_effort="{chosen.reasoning_effort}"',) if chosen.reasoning_effort else ()
        return exec_argv(
            self._installed.binary,
            model=chosen.model,
            sandbox="read-only",
            settings=(*_SETTINGS, *effort),
            output_schema=schema,
        )


def _failure(tally: Tally, ended: Ended, errors: Path) -> str:
    if tally.end is not None:
        outcome = tally.end.outcome
        return "" if outcome.kind is OutcomeKind.COMPLETED else f"the judge failed: {outcome.kind}: {outcome.detail}"
    if ended.cause == "wall_limit":
        return f"the judge gave no answer within {ended.wall_seconds:.0f} s (--judge-timeout-seconds)"
    said = errors.read_text(encoding="utf-8", errors="replace").strip()[-300:] if errors.exists() else ""
    return f"the judge ended with exit code {ended.exit_code} and without an answer: {said or 'nothing on stderr'}"


def _usage(tally: Tally) -> UsageReport:
    # Codex tells its total once, in its last word; a judge that was stopped told nothing.
    if tally.end is None or tally.end.usage is None:
        return UsageReport()
    return UsageReport(usage=tally.end.usage, completeness="complete")
