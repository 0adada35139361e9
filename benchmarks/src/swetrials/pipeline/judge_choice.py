"""Turning what a person asked for into a judge with a route of its own."""

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from swetrials.judges import (
    JUDGES,
    BedrockRoute,
    EndpointRoute,
    Judge,
    JudgeRoute,
    JudgeSettings,
    PersonalRoute,
)
from swetrials.pipeline.workbench import UsageError
from swetrials.providers.rehearsal import scenario_beside
from swetrials.records.lock import JudgePin
from swetrials.store.documents import load_document
from swetrials.store.project import Project
from swetrials.wire.rehearsal import Scenario, rehearse

PROVIDERS = ("personal", "bedrock", "endpoint", "rehearsal")
_REHEARSAL_MODEL = "rehearsal"


@dataclass(frozen=True)
class JudgeChoice:
    """What a person says of the judge. No provider: the rehearsal server for rehearsals, else their own Codex."""

    provider: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    endpoint: str | None = None
    aws_region: str | None = None
    timeout_seconds: float = 1800
    scenario: Path | None = None

    def provider_for(self, rehearsal: bool) -> str:
        """Return the judge's provider for trials that are rehearsals, or real ones.

        Raises:
            UsageError: there is no such provider.
        """
        if self.provider is not None and self.provider not in PROVIDERS:
            raise UsageError(f"--judge-provider: {self.provider!r} is not one of {', '.join(PROVIDERS)}")
        return self.provider or ("rehearsal" if rehearsal else "personal")

    def pin(self, names: Sequence[str], *, rehearsal: bool) -> JudgePin | None:
        """Return the choice as it is recorded; ``None`` when nobody judges."""
        if not names:
            return None
        return JudgePin(
            names=tuple(names),
            provider=self.provider_for(rehearsal),
            model=self.model,
            reasoning_effort=self.reasoning_effort,
        )


@asynccontextmanager
async def open_judges(
    names: Sequence[str], choice: JudgeChoice, project: Project, *, rehearsal: bool, datasets: Iterable[Path]
) -> AsyncIterator[list[Judge]]:
    """Give the named judges while the way to their model is open.

    A rehearsed judge gets a server of its own, so that a fault meant for the candidate never meets the judge.

    Args:
        names: judges, in the order in which they work.
        choice: what the person asked for.
        project: where the CLIs that judges drive are installed.
        rehearsal: whether the trials are rehearsals.
        datasets: the trials' datasets, beside which the rehearsed judge's lines stand.

    Raises:
        UsageError: a judge or the provider is unknown, or something the provider needs is not given.
        DocumentError: a scenario has faults.
    """
    for name in names:
        if name not in JUDGES:
            raise UsageError(f"--judge: {name!r} is not one of {', '.join(JUDGES)}")
    provider = choice.provider_for(rehearsal)
    async with _open_route(choice, provider, datasets) as route:
        model = choice.model or (_REHEARSAL_MODEL if provider == "rehearsal" else None)
        settings = JudgeSettings(project.tools, route, model, choice.reasoning_effort, choice.timeout_seconds)
        yield [JUDGES[name](settings) for name in names]


@asynccontextmanager
async def _open_route(choice: JudgeChoice, provider: str, datasets: Iterable[Path]) -> AsyncIterator[JudgeRoute]:
    if provider != "rehearsal":
        yield _route(choice, provider)
        return
    files = [choice.scenario] if choice.scenario else [f for f in map(scenario_beside, datasets) if f]
    async with rehearse(_merged(files), model=_REHEARSAL_MODEL) as server:
        yield EndpointRoute(server.base_url, SecretStr("rehearsal-judge"), provider="rehearsal")


def _route(choice: JudgeChoice, provider: str) -> JudgeRoute:
    if provider == "personal":
        return PersonalRoute(os.environ)
    if provider == "bedrock":
        region = choice.aws_region or os.environ.get("AWS_REGION")
        if region is None:
            raise UsageError("--judge-provider bedrock needs a region: --aws-region, or AWS_REGION")
        return BedrockRoute(region, os.environ)
    key = os.environ.get("SWETRIALS_JUDGE_API_KEY")
    if choice.endpoint is None or key is None:
        raise UsageError("--judge-provider endpoint needs --endpoint URL and the key in SWETRIALS_JUDGE_API_KEY")
    return EndpointRoute(choice.endpoint, SecretStr(key))


def _merged(files: Sequence[Path]) -> Scenario:
    scenarios = [load_document(path, Scenario) for path in files]
    scripts = tuple(script for scenario in scenarios for script in scenario.scripts)
    return Scenario(schema_version="1.0", name="judging", scripts=scripts)
