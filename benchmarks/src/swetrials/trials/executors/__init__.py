"""Where attempts are made: one file per kind of machines, one line each in the registry."""

from swetrials.plugins import Family
from swetrials.trials.executors.base import Executor
from swetrials.trials.executors.local import Local
from swetrials.trials.executors.ray_cluster import RayCluster

EXECUTORS: Family[Executor] = Family(
    "executor", {executor.name: executor for executor in (Local(), RayCluster())}, Executor, made_by_call=False
)
"""Every executor by the name that ``--executor`` takes."""
