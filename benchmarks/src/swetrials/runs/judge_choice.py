"""Turning what a person asked for into a judge with a route of its own."""

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from swetrials.errors import UsageError
from swetrials.hosting.aws import find_region
from swetrials.hosting.rehearsal import scenario_beside
from swetrials.judging import JUDGES, BedrockRoute, EndpointRoute, Judge, JudgeRoute, JudgeSettings, PersonalRoute
from swetrials.records.config import RunnerConfig
from swetrials.records.lock import JudgePin
from swetrials.rehearsal import Scenario, rehearse
from swetrials.store.documents import load_document
from swetrials.store.project import Project
from swetrials.wire.model_list import is_loopback

_REHEARSAL_MODEL = "rehearsal"
_NO_KEY = SecretStr("no-key-needed")
# Servers on this machine rarely want a key; Codex refuses to start without one.


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
    api_key: SecretStr | None = None

    @classmethod
    def of(cls, config: RunnerConfig, scenario: Path | None = None) -> Self:
        """Return what a configuration says of the judge, by the keys ``judge_*``.

        Region, endpoint and key are the run's where the judge has none of its own: the endpoint where the run's
        provider is an endpoint, too; the key where both use one endpoint, so that it is sent to no other.

        Args:
            config: the configuration of a run, or of its judging.
            scenario: the script of a rehearsed judge.
        """
        shares = config.judge_provider == "endpoint" == config.provider
        endpoint = config.judge_endpoint or (config.endpoint if shares else None)
        return cls(
            provider=config.judge_provider,
            model=config.judge_model,
            reasoning_effort=config.judge_effort,
            endpoint=endpoint,
            aws_region=config.judge_aws_region or config.aws_region,
            timeout_seconds=config.judge_timeout_seconds,
            scenario=scenario,
            api_key=config.judge_api_key or (config.api_key if endpoint and endpoint == config.endpoint else None),
        )

    def flags(self) -> dict[str, object]:
        """Return the words that ask for this judge again, by their keys; a key goes by the environment."""
        words = {
            "judge_provider": self.provider,
            "judge_model": self.model,
            "judge_effort": self.reasoning_effort,
            "judge_endpoint": self.endpoint,
            "judge_aws_region": self.aws_region,
            "judge_timeout_seconds": self.timeout_seconds,
        }
        return {name: value for name, value in words.items() if value is not None}

    def provider_for(self, rehearsal: bool) -> str:
        """Return the judge's provider for trials that are rehearsals, or real ones."""
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
        JUDGES.named(name)
    if not names:
        yield []
        return
    provider = choice.provider_for(rehearsal)
    async with _open_route(choice, provider, datasets) as route:
        model = choice.model or (_REHEARSAL_MODEL if provider == "rehearsal" else None)
        settings = JudgeSettings(project.tools, route, model, choice.reasoning_effort, choice.timeout_seconds)
        yield [JUDGES.named(name)(settings) for name in names]


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
        if choice.endpoint is not None:
            raise UsageError("--judge-endpoint: Codex finds Bedrock by its region alone; leave it out, or use "
                             "--judge-provider endpoint")  # fmt: skip
        found = find_region(choice.aws_region, os.environ)
        if found is None:
            raise UsageError("--judge-provider bedrock needs a region: --judge-aws-region us-east-1, or AWS_REGION")
        return BedrockRoute(found[0], os.environ)
    if choice.endpoint is None:
        raise UsageError("--judge-provider endpoint needs a base URL: --judge-endpoint https://...")
    if choice.api_key is None and not is_loopback(choice.endpoint):
        raise UsageError("--judge-provider endpoint needs a key: set SWETRIALS_JUDGE_API_KEY")
    base_url = choice.endpoint.rstrip("/").removesuffix("/v1")
    return EndpointRoute(base_url, choice.api_key or _NO_KEY)


def _merged(files: Sequence[Path]) -> Scenario:
    scenarios = [load_document(path, Scenario) for path in files]
    scripts = tuple(script for scenario in scenarios for script in scenario.scripts)
    return Scenario(schema_version="1.0", name="judging", scripts=scripts)
