"""How far a batch has come: on disk for whoever asks, and line by line in its log."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from swetrials.records.record import Record
from swetrials.store.files import write_record

RunState = Literal["waiting", "serving", "running", "done", "failed"]
JudgingState = Literal["waiting", "judging", "done", "failed", "none"]


class ModelStatus(Record):
    """One model of a batch. ``problems`` make the batch fail, ``remarks`` do not."""

    model: str
    run: RunState = "waiting"
    judging: JudgingState = "waiting"
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class BatchStatus(Record):
    """A batch. ``ended_at`` is there when it has come to its end, in good order or by being stopped."""

    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    models: tuple[ModelStatus, ...]

    @property
    def unfinished(self) -> bool:
        """Whether there was something left to do when this was written."""
        return any(
            model.run in {"waiting", "serving", "running"} or model.judging in {"waiting", "judging"}
            for model in self.models
        )

    @property
    def failed(self) -> tuple[ModelStatus, ...]:
        """The models whose run or judging failed."""
        return tuple(model for model in self.models if model.problems)


class Board:
    """Keeps the status of a batch that is under way."""

    def __init__(self, file: Path, models: Sequence[str], say: Callable[[str], None]) -> None:
        self._file = file
        self._say = say
        self._started_at = datetime.now(UTC)
        self._ended_at: datetime | None = None
        self._models = {model: ModelStatus(model=model) for model in models}
        self._write()

    @property
    def status(self) -> BatchStatus:
        """How it stands."""
        return BatchStatus(started_at=self._started_at, ended_at=self._ended_at, models=tuple(self._models.values()))

    def run(self, model: str, state: RunState) -> None:
        """Take in how a model's run stands."""
        self._change(model, f"run: {state}", run=state)

    def judging(self, model: str, state: JudgingState) -> None:
        """Take in how the judging of a model's trials stands."""
        self._change(model, f"judging: {state}", judging=state)

    def problem(self, model: str, text: str) -> None:
        """Take in what makes a model's part of the batch a failure."""
        self._change(model, f"FAILED: {text}", problems=(*self._models[model].problems, text))

    def remark(self, model: str, text: str) -> None:
        """Take in what a person should know of a model's part, and what is no failure."""
        self._change(model, text, remarks=(*self._models[model].remarks, text))

    def end(self) -> None:
        """Take in that nothing more will happen."""
        self._ended_at = datetime.now(UTC)
        self._write()

    def _change(self, model: str, line: str, **changes: object) -> None:
        self._models[model] = self._models[model].model_copy(update=changes)
        self._say(f"== {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC  {model}  {line}")
        self._write()

    def _write(self) -> None:
        with suppress(OSError):  # a full disk ends trials, not the batch
            write_record(self._file, self.status)
