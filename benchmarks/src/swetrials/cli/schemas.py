"""Generating the JSON Schemas of the records."""

from pathlib import Path

import orjson

from swetrials.records.comparison import Comparison
from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Dataset
from swetrials.records.evaluation import Evaluation
from swetrials.records.judged_inputs import JudgedInputs
from swetrials.records.leaderboard import Leaderboard
from swetrials.records.lock import RunLock
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.records.record import Record
from swetrials.records.router_evaluation import RouterEvaluation
from swetrials.records.router_models import RouterModels
from swetrials.records.summary import RunSummary
from swetrials.records.trajectory import Trajectory
from swetrials.store.files import write_atomically

RECORDS: dict[str, type[Record]] = {
    "dataset": Dataset,
    "runner-config": RunnerConfig,
    "metrics": Metrics,
    "attempt": AttemptRecord,
    "run-lock": RunLock,
    "evaluation": Evaluation,
    "run-summary": RunSummary,
    "trajectory": Trajectory,
    "comparison": Comparison,
    "leaderboard": Leaderboard,
    "judged-inputs": JudgedInputs,
    "router-models": RouterModels,
    "router-evaluation": RouterEvaluation,
}


def schema_files() -> dict[str, bytes]:
    """Return the schemas by file name."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return {f"{name}.schema.json": orjson.dumps(_schema(kind), option=options) for name, kind in RECORDS.items()}


def _schema(kind: type[Record]) -> dict[str, object]:
    # What a person writes is described as input, what the harness writes as output.
    written_by_people = kind in {Dataset, RunnerConfig}
    schema = kind.model_json_schema(mode="validation" if written_by_people else "serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write(folder: Path) -> None:
    """Write every schema into a folder."""
    for name, data in schema_files().items():
        write_atomically(folder / name, data)
