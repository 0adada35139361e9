"""``schemas``: the JSON Schemas of the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command

if TYPE_CHECKING:
    from swetrials.records.record import Record

app = single_command()


@app.command(hidden=True, epilog="Example: swetrials schemas --out ../docs/schemas")
def schemas(out: Annotated[Path, typer.Option(help="Folder for the JSON Schemas.")]) -> None:
    """Write the JSON Schema of every record."""
    write(out)


def _records() -> dict[str, type[Record]]:
    from swetrials.records.checked import CheckedDataset
    from swetrials.records.comparison import Comparison
    from swetrials.records.config import RunnerConfig
    from swetrials.records.dataset import Dataset
    from swetrials.records.evaluation import Evaluation
    from swetrials.records.judged_inputs import JudgedInputs
    from swetrials.records.leaderboard import Leaderboard
    from swetrials.records.lock import RunLock
    from swetrials.records.metrics import AttemptRecord, Metrics
    from swetrials.records.router_evaluation import RouterEvaluation
    from swetrials.records.router_models import RouterModels
    from swetrials.records.summary import RunSummary
    from swetrials.records.trajectory import Trajectory

    return {
        "dataset": Dataset,
        "checked-dataset": CheckedDataset,
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
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return {f"{name}.schema.json": orjson.dumps(_schema(kind), option=options) for name, kind in _records().items()}


def _schema(kind: type[Record]) -> dict[str, object]:
    from swetrials.records.config import RunnerConfig
    from swetrials.records.dataset import Dataset

    # What a person writes is described as input, what the harness writes as output.
    written_by_people = kind in {Dataset, RunnerConfig}
    schema = kind.model_json_schema(mode="validation" if written_by_people else "serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write(folder: Path) -> None:
    """Write every schema into a folder."""
    from swetrials.store.files import write_atomically

    for name, data in schema_files().items():
        write_atomically(folder / name, data)
