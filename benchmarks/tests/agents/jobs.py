"""Jobs for drivers whose launch touches nothing on disk."""

from collections.abc import Set
from pathlib import Path
from typing import cast

from pydantic import SecretStr

from swetrials.agents.base import Job, Skill
from swetrials.records.config import RunnerConfig
from swetrials.wire.route import AwsCredentials, Dialect, Route


def job(
    *,
    prompt: str = "task_id: a",
    skill: Skill | None = None,
    dialects: Set[str] = frozenset({"anthropic"}),
    base_url: str = "http://127.0.0.1:1",
    api_key: str = "key",
    aws: AwsCredentials | None = None,
    model: str = "m",
    window: int | None = 200_000,
    **config: object,
) -> Job:
    """Return a job; further keys are the configuration's."""
    route = Route(
        dialects=frozenset(cast("Set[Dialect]", dialects)),
        base_url=base_url,
        api_key=SecretStr(api_key),
        model=model,
        context_window=window,
        region="us-east-1",
        aws=aws,
    )
    place = Path("/work/a")
    return Job(
        prompt=prompt,
        skill=skill,
        route=route,
        checkout=place / "checkout",
        home=place / "home",
        temporary=place / "tmp",
        artifacts=place / "artifacts",
        config=RunnerConfig.model_validate(config),
    )
