"""Benchmark coding agents and models on real repositories: quality, tokens, dollars, latency.

What this module gives is the public interface; ``docs/python-api.md`` shows it at work. Everything else may change
between versions. Nothing is imported before it is asked for, so that ``import swetrials`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swetrials.agents.base import Agent, Job, Launch, Skill, StreamReader
    from swetrials.agents.events import End, Event, RequestUsage, Session, Tally, Text, ToolCall, ToolResult
    from swetrials.agents.install import Package, Program
    from swetrials.environments.base import Absence, AbsentError, Environment, Held, View
    from swetrials.environments.host import Host
    from swetrials.environments.sealing import hold_words
    from swetrials.environments.work_context import WorkContext
    from swetrials.errors import KnownError, UsageError
    from swetrials.hosting.base import Hosting, NoTelemetry, Provider, ProviderError, Telemetry
    from swetrials.judging.base import Judge, JudgeSettings, Submission
    from swetrials.records.check import Check
    from swetrials.records.claim import Claim
    from swetrials.records.config import RunnerConfig
    from swetrials.records.evaluation import Evaluation, RubricEvaluation
    from swetrials.records.leaderboard import Leaderboard
    from swetrials.records.metrics import HostingRecord, Metrics
    from swetrials.records.outcome import Outcome, OutcomeKind
    from swetrials.records.usage import Usage, UsageReport
    from swetrials.records.verification import TestsEvaluation
    from swetrials.results.claim import claim as compare
    from swetrials.results.leaderboard import leaderboard
    from swetrials.results.results_tree import read_rows as read_results
    from swetrials.results.trial_row import TrialRow
    from swetrials.runs.python_api import judge, run
    from swetrials.trials.attempt import Attempt
    from swetrials.trials.executors.base import Executor, Machines, MachinesError
    from swetrials.trials.run_context import Order, RunContext
    from swetrials.wire.route import AwsCredentials, Route
    from swetrials.workspace.processes import Command

__version__ = "0.1.0"

_HOMES = {
    "Absence": "environments.base",
    "AbsentError": "environments.base",
    "Agent": "agents.base",
    "Attempt": "trials.attempt",
    "AwsCredentials": "wire.route",
    "Check": "records.check",
    "Claim": "records.claim",
    "Command": "workspace.processes",
    "End": "agents.events",
    "Environment": "environments.base",
    "Evaluation": "records.evaluation",
    "Event": "agents.events",
    "Executor": "trials.executors.base",
    "Held": "environments.base",
    "Host": "environments.host",
    "Hosting": "hosting.base",
    "HostingRecord": "records.metrics",
    "Job": "agents.base",
    "Judge": "judging.base",
    "JudgeSettings": "judging.base",
    "KnownError": "errors",
    "Launch": "agents.base",
    "Leaderboard": "records.leaderboard",
    "Machines": "trials.executors.base",
    "MachinesError": "trials.executors.base",
    "Metrics": "records.metrics",
    "NoTelemetry": "hosting.base",
    "Order": "trials.run_context",
    "Outcome": "records.outcome",
    "OutcomeKind": "records.outcome",
    "Package": "agents.install",
    "Program": "agents.install",
    "Provider": "hosting.base",
    "ProviderError": "hosting.base",
    "RequestUsage": "agents.events",
    "Route": "wire.route",
    "RubricEvaluation": "records.evaluation",
    "RunContext": "trials.run_context",
    "RunnerConfig": "records.config",
    "Session": "agents.events",
    "Skill": "agents.base",
    "StreamReader": "agents.base",
    "Submission": "judging.base",
    "Tally": "agents.events",
    "Telemetry": "hosting.base",
    "TestsEvaluation": "records.verification",
    "Text": "agents.events",
    "ToolCall": "agents.events",
    "ToolResult": "agents.events",
    "TrialRow": "results.trial_row",
    "Usage": "records.usage",
    "UsageError": "errors",
    "UsageReport": "records.usage",
    "View": "environments.base",
    "WorkContext": "environments.work_context",
    "compare": "results.claim:claim",
    "hold_words": "environments.sealing",
    "judge": "runs.python_api",
    "leaderboard": "results.leaderboard",
    "read_results": "results.results_tree:read_rows",
    "run": "runs.python_api",
}
"""Where each public name comes from, and its name there where it differs."""

__all__ = [
    "Absence",
    "AbsentError",
    "Agent",
    "Attempt",
    "AwsCredentials",
    "Check",
    "Claim",
    "Command",
    "End",
    "Environment",
    "Evaluation",
    "Event",
    "Executor",
    "Held",
    "Host",
    "Hosting",
    "HostingRecord",
    "Job",
    "Judge",
    "JudgeSettings",
    "KnownError",
    "Launch",
    "Leaderboard",
    "Machines",
    "MachinesError",
    "Metrics",
    "NoTelemetry",
    "Order",
    "Outcome",
    "OutcomeKind",
    "Package",
    "Program",
    "Provider",
    "ProviderError",
    "RequestUsage",
    "Route",
    "RubricEvaluation",
    "RunContext",
    "RunnerConfig",
    "Session",
    "Skill",
    "StreamReader",
    "Submission",
    "Tally",
    "Telemetry",
    "TestsEvaluation",
    "Text",
    "ToolCall",
    "ToolResult",
    "TrialRow",
    "Usage",
    "UsageError",
    "UsageReport",
    "View",
    "WorkContext",
    "__version__",
    "compare",
    "hold_words",
    "judge",
    "leaderboard",
    "read_results",
    "run",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'swetrials' has no attribute {name!r}")
    home, _, own = _HOMES[name].partition(":")
    found: object = getattr(importlib.import_module(f"swetrials.{home}"), own or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
