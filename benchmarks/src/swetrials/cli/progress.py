"""Showing a run while it goes: a live table on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from swetrials.providers.base import Check
from swetrials.reports import figures
from swetrials.trials.trial import Observer, Progress

_MARKS = {
    "ok": ("ok", "green"),
    "warning": ("warn", "yellow"),
    "failed": ("FAIL", "bold red"),
    "skipped": ("skip", "dim"),
}


class ConsoleViewer:
    """Shows checks, remarks and progress on one console."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._latest: dict[str, Progress] = {}
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._started = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def check(self, check: Check) -> None:
        """Show one line of the pre-flight, with what mends it below when it failed."""
        mark, style = _MARKS[check.status]
        self._console.print(Text.assemble(f"  {check.name:<12} ", (f"{mark:<5}", style), check.detail), soft_wrap=True)
        if check.mend and check.status in {"failed", "warning"}:
            self._console.print(Text(f"  {'':<17}mend: {check.mend}", style="dim"), soft_wrap=True)

    def say(self, line: str) -> None:
        """Show a remark."""
        self._console.print(Text(line), soft_wrap=True)

    @property
    def progress(self) -> Observer:
        """Take in how a trial is getting on."""
        return self._observe

    def _observe(self, progress: Progress) -> None:
        label = progress.trial.label
        before = self._latest.get(label)
        self._began.setdefault(label, time.monotonic())
        self._latest[label] = progress
        if progress.outcome is not None:
            self._ended[label] = time.monotonic()
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=4)
                self._live.start()
            if len(self._ended) == self._total:
                self._live.stop()
        elif before is None or before.state != progress.state:
            self.say(f"  {self._clock()}  {label}: {' · '.join(self._cells(progress))}")

    def _cells(self, progress: Progress) -> list[str]:
        state = f"{progress.state}: {progress.outcome.kind}" if progress.outcome else progress.state
        cost = "cost unknown" if progress.cost_usd is None else f"${progress.cost_usd:.2f}"
        return [state, f"{progress.turns} turns", f"{figures.tokens(progress.tokens)} tokens", cost]

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2))
        for name in ("trial", "state", "turns", "tokens", "cost", "elapsed"):
            table.add_column(name, style="dim" if name == "elapsed" else None)
        now = time.monotonic()
        for label, progress in self._latest.items():
            table.add_row(
                label, *self._cells(progress), figures.seconds(self._ended.get(label, now) - self._began[label])
            )
        done = len(self._ended)
        left = f"{done} of {self._total} trials done · {self._clock()}"
        if 0 < done < self._total:
            each = (now - self._started) / done
            left += f" · about {figures.seconds(each * (self._total - done))} left"
        table.caption = left
        return table

    def _clock(self) -> str:
        return figures.seconds(time.monotonic() - self._started)
