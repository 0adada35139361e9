"""``metrics.json``: the record of one trial, written whatever became of it."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from swetrials.records.checked import CheckState
from swetrials.records.cost import Cost
from swetrials.records.dataset import RankBy
from swetrials.records.environment import EnvironmentRecord
from swetrials.records.evaluation import Evaluation
from swetrials.records.limits import Limits
from swetrials.records.outcome import Outcome
from swetrials.records.published_run import Imported
from swetrials.records.record import SCHEMA_VERSION, Record
from swetrials.records.registries import RegistryTraffic
from swetrials.records.requests import RequestsBlock
from swetrials.records.sealing import Sealing
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import Usage, UsageBlock

DESIGN_DOCUMENTS = ("github-issue.md", "lld.md", "review.md", "testing.md")
PATCH = "patch.diff"
EXPECTED_ARTIFACTS = (*DESIGN_DOCUMENTS, PATCH, "implementation.md")
"""What a skill asks for unless it says so itself. ``patch.diff`` is made by the harness from the checkout."""


def documents_in(artifacts: Iterable[str]) -> tuple[str, ...]:
    """Return those of some artifacts that an agent has to write; a skill may ask for none."""
    return tuple(name for name in artifacts if name != PATCH)


class Finding(Record):
    """Something a reader of the record has to know: a disagreement, a doubt, a policy at work."""

    code: str
    severity: Literal["info", "warning", "error"]
    message: str


class TimeSplit(Record):
    """Where the time went, in seconds; ``None`` where nobody measured."""

    wall_seconds: float | None = None
    api_seconds: float | None = Field(None, description="union of request intervals")
    waiting_seconds: float | None = Field(None, description="sleeps before retries, as announced")
    queue_seconds: float | None = Field(
        None, description="before a start: for a place, or while the provider throttled"
    )


class TrialIdentity(Record):
    """Which trial this is, and of exactly what."""

    id: str
    repeat: int = Field(1, ge=1)
    scope: str
    dataset: str = Field(description="the dataset's name; of imported figures, which name none, their scope")
    dataset_sha256: str | None = Field(description="of the dataset file; None: imported figures do not tell")
    task_sha256: str | None = Field(description="of the task's text and settings, ground truth included; likewise")
    given_sha256: str | None = Field(
        None,
        exclude_if=lambda digest: digest is None,
        description="of all that the agent was given, by content; absent: a record of before there was one",
    )
    checked: CheckState | None = Field(
        None,
        exclude_if=lambda state: state is None,
        description="how the controls of its task stood when it was planned; absent: no tests, or an older record",
    )
    rank_by: RankBy | None = Field(
        None, exclude_if=lambda rank_by: rank_by is None, description="what its dataset ranks by; absent: not told"
    )
    rehearsal: bool = Field(description="scripted model: never ranked beside real ones")


class NotKept(Record):
    """A file or folder that should be in the patch and is not: there it is as in the commit."""

    path: str
    reason: str


class PatchRecord(Record):
    """What of an attempt's work tree is not in its patch."""

    not_kept_files: int = Field(0, ge=0, exclude_if=lambda files: not files)
    not_kept: tuple[NotKept, ...] = Field((), exclude_if=lambda files: not files, description="the first 20 of them")
    ignored_files: int = Field(
        0,
        ge=0,
        exclude_if=lambda files: not files,
        description="new files that the commit's .gitignore names and the agent's git does not track",
    )
    ignored_named: tuple[str, ...] = Field(
        (), exclude_if=lambda names: not names, description="the first 20 of them; a whole folder by its name"
    )


class AttemptStart(Record):
    """``attempts/<n>/start.json``: what is known when the agent starts, should nobody live to see its end."""

    environment: EnvironmentRecord | None = None
    sealing: Sealing | None = None


class AttemptRecord(Record):
    """One go of an agent at a trial: ``attempts/<n>/attempt.json``, written once, when it ends."""

    id: str
    number: int = Field(ge=1)
    reason: Literal["first", "topup", "retry"] = Field(
        description="topup: for missing files alone; retry: once more, after a failure that passes"
    )
    started_at: str
    ended_at: str
    outcome: Outcome
    artifacts_produced: tuple[str, ...] = ()
    usage: UsageBlock = UsageBlock()
    subagent_usage: Usage | None = Field(None, description="part of the reported usage that subagents used")
    requests: RequestsBlock | None = Field(None, description="what the meter saw; None without one")
    cost: Cost = Cost()
    time: TimeSplit = TimeSplit()
    num_turns: int | None = None
    exit_code: int | None = Field(None, description="negative: the signal that ended the agent")
    ended_by: str = Field("", description="exited, grace, wall_limit, idle_limit, budget, cancelled, lost, killed")
    survivors: int = Field(0, ge=0, description="processes alive after the final KILL; anything but 0 is a fault")
    session_id: str | None = None
    result_subtype: str | None = None
    api_error_status: int | None = None
    stream_log: str = Field("", description="relative to the trial's folder")
    trajectory: str = Field("", description="relative to the trial's folder; what the agent did, in ATIF")
    vllm_prometheus: VllmPrometheus | None = Field(None, exclude_if=lambda block: block is None)
    machine: str | None = Field(
        None, exclude_if=lambda name: name is None, description="of a cluster; absent where the harness itself ran it"
    )
    environment: EnvironmentRecord | None = Field(
        None, exclude_if=lambda record: record is None, description="what it ran in; absent: nobody noted it"
    )
    sealing: Sealing | None = Field(
        None,
        exclude_if=lambda sealing: sealing is None,
        description="what it could reach, and what proves it; absent: no agent was started, or nobody noted it",
    )
    registries: tuple[RegistryTraffic, ...] = Field(
        (), exclude_if=lambda traffic: not traffic, description="what passed to package registries; absent: nothing"
    )
    patch: PatchRecord | None = Field(
        None, exclude_if=lambda patch: patch is None, description="absent: all work is in it, or an older record"
    )
    findings: tuple[Finding, ...] = ()


class Provenance(Record):
    """What ran: enough to tell whether two records may be compared. ``None``: imported figures do not tell."""

    harness_version: str | None
    agent_version: str | None = None
    skill_sha256: str | None
    prompt_sha256: str | None
    commit: str | None = Field(None, description="the commit that the ref was resolved to")
    sandbox: str | None
    runs_as_root: bool | None = Field(
        None, description="whether the agent had the rights of root on the machine's files; null: older records"
    )
    permission_mode: str | None
    limits: Limits | None = None
    python_version: str | None
    platform: str | None


class HostingRecord(Record):
    """How the model was hosted, as far as the server or the configuration tells; null: nobody told."""

    instance_type: str | None = None
    gpu: str | None = None
    tensor_parallel_size: int | None = Field(None, ge=1)
    precision: str | None = None
    context_window: int | None = Field(None, ge=1, description="tokens that the server serves")
    engine: str | None = Field(None, description="name and version of what serves the model")

    @property
    def words(self) -> dict[str, str]:
        """What is told, by name, in the words that every table uses; what nobody told is left out."""
        words = {
            "instance_type": self.instance_type,
            "gpu": self.gpu,
            "tensor_parallel_size": f"TP {self.tensor_parallel_size}" if self.tensor_parallel_size else None,
            "precision": self.precision,
            "context_window": f"{self.context_window:,} tokens" if self.context_window else None,
            "engine": self.engine,
        }
        return {name: word for name, word in words.items() if word}


class Metrics(Record):
    """One trial. The flat names are those that published results of this kind carry; the blocks are ours."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    task: str
    repo: str | None = Field(description="None: imported figures do not tell")
    ref: str
    complexity: str
    tags: tuple[str, ...] = ()
    model: str
    model_slug: str
    agent: str
    skill: str
    provider: str
    endpoint: str | None = None
    aws_region: str | None = None
    serving: str | None = Field(None, description="what serves the model: rehearsal, vllm, ...")
    hosting: HostingRecord | None = Field(None, exclude_if=lambda hosting: hosting is None)
    artifacts_produced: tuple[str, ...] = ()
    artifacts_expected: tuple[str, ...] = EXPECTED_ARTIFACTS
    input_tokens: int | None = Field(None, description="fresh input, caches excluded")
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None
    latency_seconds: float | None = Field(None, description="wall time of all attempts")
    num_turns: int | None = None
    total_cost_usd: float | None = Field(None, description="over all attempts; None when the price is unknown")
    is_error: bool = False
    result_subtype: str | None = None
    error: str | None = None
    api_error_status: int | None = None
    session_id: str | None = None
    run_started_at: str | None = Field(description="None: imported figures do not tell")
    run_ended_at: str | None = None
    generation_tokens_per_sec: float | None = None
    vllm_prometheus: VllmPrometheus | None = Field(
        None, exclude_if=lambda block: block is None, description="the server's own counters; absent without any"
    )
    trial: TrialIdentity
    usage: UsageBlock = UsageBlock()
    cost: Cost = Cost()
    spent_elsewhere_usd: float | None = Field(
        None,
        ge=0,
        exclude_if=lambda usd: usd is None,
        description="what other trials in this folder cost: of another wording or other settings, finished and run "
        "once more, or in vain beside a finished one; no part of cost",
    )
    spent_elsewhere_is_lower_bound: bool = Field(
        False,
        exclude_if=lambda bound: not bound,
        description="more was spent on them, and nobody knows how much: a call was under way, a price unknown, or "
        "a record could not be read; absent: spent_elsewhere_usd is all",
    )
    cost_winning_attempt: Cost = Cost()
    time: TimeSplit = TimeSplit()
    outcome: Outcome
    attempts: tuple[AttemptRecord, ...] = ()
    provenance: Provenance
    environment: EnvironmentRecord | None = Field(
        None,
        exclude_if=lambda record: record is None,
        description="what its last attempt ran in; absent: no attempt began, or an older record",
    )
    sealing: Sealing | None = Field(
        None,
        exclude_if=lambda sealing: sealing is None,
        description="the weakest of its attempts; absent: none began, one does not tell, or an older record",
    )
    imported: Imported | None = Field(
        None, exclude_if=lambda block: block is None, description="figures of somebody else: where they are from"
    )
    findings: tuple[Finding, ...] = ()
    evaluation: Evaluation | None = None
