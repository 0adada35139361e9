"""``lock.json``: what a run ran with, exactly, for each time that it was started or resumed."""

from typing import Literal

from pydantic import Field, JsonValue

from swetrials.records.record import SCHEMA_VERSION, Record


class TaskPin(Record):
    """One task as it was asked."""

    repo: str
    ref: str
    commit: str | None = Field(None, description="what the ref was resolved to; None: no trial of it got that far")
    task_sha256: str
    prompt_sha256: str


class PricePin(Record):
    """What costs were computed with."""

    file: str
    file_sha256: str = Field(description="of what the price file says")
    genai_prices: str = Field(description="version of the package behind the file")
    genai_prices_date: str | None = Field(None, description="as of when its prices are, ISO 8601")


class JudgePin(Record):
    """Who was to judge."""

    names: tuple[str, ...]
    provider: str
    model: str | None = None
    reasoning_effort: str | None = None


class RunSession(Record):
    """One start of a run, by a person or a script, up to its end."""

    started_at: str
    ended_at: str | None = Field(None, description="None: under way, or killed")
    harness_version: str
    agent: str
    agent_version: str | None
    model: str
    models_served: tuple[str, ...] = Field((), description="as the endpoint calls what answered")
    provider: str
    skill: str
    skill_sha256: str
    dataset: str
    dataset_sha256: str
    tasks: dict[str, TaskPin]
    config: dict[str, JsonValue] = Field(description="the whole configuration, without the key")
    prices: PricePin
    judge: JudgePin | None = None
    sandbox: str
    python_version: str
    platform: str


class RunLock(Record):
    """The sessions of one run, oldest first. Its folder holds the trials."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    scope: str
    sessions: tuple[RunSession, ...]
