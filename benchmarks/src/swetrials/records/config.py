"""The runner's configuration: one flat record that flags, environment, file and defaults fill."""

import json
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PositiveFloat,
    SecretStr,
    field_validator,
    model_validator,
)

from swetrials.records.record import PathPart, Record, fault_at, none_for_zero, safe_path_part
from swetrials.records.slug import model_slug

ENVIRONMENT_PREFIX = "SWETRIALS_"
"""``SWETRIALS_MODEL=...`` sets ``model``, and so on for every key."""

SAME_KEYS = {"environment": "sandbox", "sandbox": "environment"}
"""Keys that tell the same thing: what gives one gives the other."""

PREPARATIONS_MAX_GB: float = 20
"""Disk space for all preparations that are kept, unless somebody says otherwise."""

DEFAULT_TOOLS = (
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "Skill",
    "Task",
    "TodoWrite",
    "Write",
)


def base_url(value: str) -> str:
    """Return ``value`` when it is an http(s) URL without credentials, which would end up in the records.

    Raises:
        ValueError: it has another scheme, no host, no possible port, or a user name or password.
    """
    try:
        parts = urlsplit(value)
        host, _, userinfo = parts.hostname, parts.port, parts.username or parts.password
    except ValueError as error:
        raise ValueError(f"not a URL: {error}") from None
    if userinfo:
        raise ValueError("the URL holds a user name or password; give the key as api_key")
    if parts.scheme not in {"http", "https"} or not host or any(c.isspace() for c in value):
        raise ValueError(f"{value!r} is not an http:// or https:// URL")
    return value


def model_id(value: str) -> str:
    """Return ``value`` when it can be one argument of a command line and name a results folder.

    Raises:
        ValueError: it starts with a dash, holds white space, or leaves no folder name or too long a one.
    """
    if value.startswith("-") or any(c.isspace() for c in value):
        raise ValueError(f"{value!r} is not a model id")
    safe_path_part(model_slug(value))
    return value


def cluster_address(value: str) -> str:
    """Return ``value`` when it is ``auto`` or the host and port of a Ray cluster.

    Raises:
        ValueError: it is neither; Ray's client protocol (``ray://``) does not do what is needed here.
    """
    host, _, port = value.rpartition(":")
    if value != "auto" and ("/" in value or not host or not port.isdecimal()):
        raise ValueError(f"{value!r} is neither auto nor HOST:PORT, such as 10.0.0.1:6379")
    return value


def _can_be_set_aside(resources: dict[str, float]) -> dict[str, float]:
    """Return what Ray can set aside.

    Raises:
        ValueError: an amount above 1 is no whole number, or memory is named, which Ray does not hold anybody to.
    """
    for name, amount in resources.items():
        if amount > 1 and amount != int(amount):
            raise ValueError(f"{name}: {amount:g} is neither a whole number nor below 1")
        if name in {"memory", "object_store_memory"}:
            raise ValueError(f"{name} cannot be set aside; name CPU, GPU or a resource of your own")
    return resources


def _from_json(value: object) -> object:
    """Return what a flag or a variable means, which is JSON; a file's values are what they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError(f'{value!r} is not JSON, such as {{"vllm_qwen": 1}}') from None


Text = Annotated[str, Field(min_length=1)]

_AUTO = "auto"
_SANDBOXES = {_AUTO: _AUTO, "bubblewrap": "bubblewrap", "none": "host"}
"""The older names of environments, and what each is called now."""


class RunnerConfig(Record):
    """What to run, on what, within which limits. Each key is also a long flag (``max_turns``: ``--max-turns``)."""

    keys_of_others = {
        "agent_max_time_seconds": "write timeout_seconds, the wall time of one attempt",
        "api_key_env": "leave it out, and give the key itself: export SWETRIALS_API_KEY=...",
        "kiro_dollars_per_credit": "leave it out: kiro is not among the agents here",
    }

    agent: Text = Field("claude", description="the coding-agent CLI")
    provider: Text = Field("rehearsal", description="where the model is hosted")
    endpoint: Annotated[str, AfterValidator(base_url)] | None = Field(
        None, description="base URL of the provider, where it needs one"
    )
    model: Annotated[str, AfterValidator(model_id)] = Field(
        "rehearsal", description="model id as the provider knows it"
    )
    dialect: Literal["anthropic", "openai-chat", "openai-responses"] = Field(
        "anthropic", description="what provider endpoint speaks: Anthropic Messages, OpenAI Chat or OpenAI Responses"
    )
    api_key: SecretStr | None = Field(None, description="key of the endpoint; better given as SWETRIALS_API_KEY")
    aws_region: Text | None = Field(None, description="region of the model, where the provider is AWS")
    dataset: Text = Field("dataset/quickstart.yaml", description="the dataset's YAML file")
    output_dir: Text = Field("swe-benchmark-data", description="root of the results tree")
    clone_dir: Text | None = Field(None, description="mirrors and checkouts; default: a private temp folder")
    tasks: tuple[PathPart, ...] = Field((), description="task ids to run; empty: all")
    count: int | None = Field(None, ge=1, description="run only the first N of the chosen tasks")
    executor: Text = Field("local", description="where agents run: on this machine, or on those of a Ray cluster")
    ray_address: Annotated[str, AfterValidator(cluster_address)] = Field(
        "auto", description="ray: the cluster, as HOST:PORT; auto: the one that this machine is in"
    )
    ray_resources: Annotated[
        dict[Text, PositiveFloat], BeforeValidator(_from_json), AfterValidator(_can_be_set_aside)
    ] = Field(
        {}, description='ray: what a machine sets aside for each trial, such as {"vllm_qwen": 1}; CPU: 1 unless given'
    )
    shared_dir: Text | None = Field(
        None, description="ray: a folder that all machines share, through which files come back"
    )
    concurrency: int = Field(1, ge=1, le=256, description="trials at the same time")
    provider_concurrency: int | None = Field(
        None, ge=1, description="trials at the same time on this provider, of all runs that share the clone_dir"
    )
    repeats: int = Field(1, ge=1, le=1000, description="trials of each task")
    order: Literal["interleaved", "sequential"] = Field(
        "interleaved", description="interleaved: a round of all tasks per repeat, shuffled; sequential: task by task"
    )
    seed: int = Field(0, ge=0, description="what the interleaved order is shuffled by")
    skill: PathPart | None = Field(
        None,
        description="instructions the agent follows; default: plain where every task has verify and none a "
        "ground_truth, else swe3",
    )
    environment: Text = Field(
        "auto",
        description="what agents and tests run in; auto: bubblewrap where it works, else host, which keeps nothing "
        "from them; the record says which",
    )
    sandbox: Literal["auto", "bubblewrap", "none"] = Field(
        "auto", description="older name of environment, where none is host"
    )
    require_sealed: bool = Field(
        False, description="start no agent of which it is not proven that it reaches its model's route and nothing else"
    )
    preparations_max_gb: float = Field(
        PREPARATIONS_MAX_GB,
        gt=0,
        description="disk space for what environments have prepared; least recently used goes first",
    )
    repo_instructions: Literal["keep", "neutralise"] = Field(
        "keep", description="neutralise: the subject repository's own files for agents are out of their sight"
    )
    permission_mode: Literal["acceptEdits", "bypassPermissions", "default", "dontAsk", "plan"] = Field(
        "acceptEdits", description="what the agent may do unasked; bypassPermissions only with environment: bubblewrap"
    )
    allowed_tools: tuple[Text, ...] = Field(DEFAULT_TOOLS, description="tools the agent may use without asking")
    max_turns: int | None = Field(200, ge=1, description="model responses of the main agent")
    max_output_tokens: int | None = Field(None, ge=1, description="output tokens of one response")
    request_retries: int = Field(10, ge=0, description="times the agent may repeat one failed request")
    max_retries: int = Field(
        1, ge=0, description="extra attempts after a rate limit, a provider's error or a start that failed"
    )
    max_topups: int = Field(
        1, ge=0, description="extra attempts for missing files, when the four design documents are there"
    )
    context_window: Annotated[int | None, BeforeValidator(none_for_zero)] = Field(
        None, ge=1, description="tokens the served model holds; 0: not said"
    )
    auto_compact_fraction: float = Field(0.8, gt=0, le=1, description="share of the window at which to compact")
    timeout_seconds: float = Field(3600, gt=0, description="wall time of one attempt")
    idle_timeout_seconds: float = Field(900, gt=0, description="silence after which an attempt is stopped")
    max_budget_usd: float | None = Field(None, gt=0, description="spending limit of the whole run")
    max_attempt_budget_usd: float | None = Field(
        None, gt=0, description="the agent's own spending limit for one attempt"
    )
    settings_file: Text | None = Field(None, description="extra settings merged into the agent's own")
    meter: bool = Field(True, description="count every request on the wire, and keep the key from the agent")
    keep_bodies: bool = Field(False, description="keep what the meter saw pass, secrets masked")
    instance_type: Text | None = Field(None, description="self-hosted: the machine, kept in each record")
    tensor_parallel_size: int | None = Field(
        None, ge=1, description="self-hosted: GPUs that one copy of the model is spread over, kept in each record"
    )
    precision: Text | None = Field(
        None, description="self-hosted: of the model's weights, such as BF16 or FP8, kept in each record"
    )
    dollars_per_hour: float | None = Field(None, gt=0, description="self-hosted: hourly rate of the whole box")
    box_share: float = Field(1.0, gt=0, le=1, description="self-hosted: share of the box that the model takes")
    scenario: Text | None = Field(None, description="rehearsal: the script to play; default: beside the dataset")
    fault: Text | None = Field(None, description="rehearsal: a fault that every scripted request meets")
    judge_provider: Literal["personal", "bedrock", "endpoint", "rehearsal"] | None = Field(
        None, description="the judge's route; default: rehearsal for a rehearsal, else your own Codex (personal)"
    )
    judge_model: Annotated[str, AfterValidator(model_id)] | None = Field(None, description="the judge's model")
    judge_effort: Text | None = Field(None, description="the judge's reasoning effort")
    judge_endpoint: Annotated[str, AfterValidator(base_url)] | None = Field(
        None,
        description="base URL for judge_provider endpoint; default: the run's endpoint, where its provider is that",
    )
    judge_aws_region: Text | None = Field(
        None, description="region for judge_provider bedrock; default: the run's aws_region"
    )
    judge_api_key: SecretStr | None = Field(
        None, description="key of judge_endpoint; default: api_key, where judge and run share the endpoint"
    )
    judge_timeout_seconds: float = Field(1800, gt=0, description="wall time of one answer of the judge")

    @field_validator("api_key", "judge_api_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        text = key.get_secret_value() if key else ""
        if not (text.isascii() and text.isprintable()) or " " in text:
            raise ValueError("the key holds a space, a line break or a letter that no HTTP header can carry")
        return key

    @model_validator(mode="before")
    @classmethod
    def _older_name_of_environment(cls, given: object) -> object:
        """Let each of the two names tell what the other one does; ``auto`` gives way to what is asked for by name."""
        if not isinstance(given, dict):
            return given
        environment, sandbox = given.get("environment", _AUTO), given.get("sandbox", _AUTO)
        if not (isinstance(environment, str) and isinstance(sandbox, str) and sandbox in _SANDBOXES):
            return given  # told of by the field itself
        meant = _SANDBOXES[sandbox]
        if _AUTO not in {environment, meant} and environment != meant:
            raise fault_at(f"environment: {environment} and sandbox: {sandbox} differ; leave sandbox out", "sandbox")
        kind = meant if environment == _AUTO else environment
        older = {now: before for before, now in _SANDBOXES.items()}
        return {**given, "environment": kind, "sandbox": older.get(kind, _AUTO)}

    @model_validator(mode="after")
    def _bypass_needs_a_sandbox(self) -> Self:
        if self.permission_mode == "bypassPermissions" and self.environment != "bubblewrap":
            raise fault_at("bypassPermissions needs environment: bubblewrap", "permission_mode")
        return self
