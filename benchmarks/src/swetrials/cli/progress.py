"""Showing a run while it goes: a live table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from swetrials.agents.events import Event
from swetrials.records.check import Check
from swetrials.results.report import wording as figures
from swetrials.trials.plan import Trial
from swetrials.trials.run_context import Listener
from swetrials.trials.trial import Observer, Progress

_MARKS = {
    "ok": ("ok", "green"),
    "warning": ("warn", "yellow"),
    "failed": ("FAIL", "bold red"),
    "skipped": ("skip", "dim"),
}

_LINES_AROUND = 6
# Of a terminal's height: heading, caption, and some of what stood above.


def show_check(console: Console, check: Check) -> None:
    """Print a check, with what mends it below when it is not as it should be."""
    mark, style = _MARKS[check.status]
    _print_line(console, f"  {check.name}", Text(mark, style), Text(check.detail))
    if check.fix and check.status in {"failed", "warning"}:
        _print_line(console, "", Text(""), Text(f"-> {check.fix}", style="dim"))


def _print_line(console: Console, name: str, mark: Text, detail: Text) -> None:
    line = Table.grid(padding=(0, 1))
    line.add_column(width=14)
    line.add_column(width=4)
    line.add_column(overflow="fold")
    line.add_row(name, mark, detail)
    console.print(line)


class ConsoleViewer:
    """Shows checks, remarks and progress on one console."""

    def __init__(self, console: Console, trace: Callable[[Event], str | None] | None = None) -> None:
        """Use a console; ``trace`` says how what agents do is shown, where it is to be shown at all."""
        self._console = console
        self._trace = trace
        self._total = 0
        self._latest: dict[str, Progress] = {}
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._started = self._trials_started = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def check(self, check: Check) -> None:
        """Show one line of the pre-flight."""
        show_check(self._console, check)

    def say(self, line: str) -> None:
        """Show a remark."""
        # Long paths stay in one piece, to be copied.
        self._console.print(Text(line), overflow="ignore", crop=False)

    def expect(self, trials: int) -> None:
        """Take in how many trials are about to run."""
        self._total = trials
        self._trials_started = time.monotonic()

    @property
    def progress(self) -> Observer:
        """Take in how a trial is getting on."""
        return self._observe

    @property
    def listener(self) -> Listener | None:
        """Take in what agents say and do, where a person wants to see that."""
        return self._heard if self._trace is not None else None

    def _heard(self, trial: Trial, events: Sequence[Event]) -> None:
        whose = f"{trial.label} | " if self._total > 1 else ""
        for event in events:
            if self._trace is not None and (line := self._trace(event)):
                self.say(f"  {whose}{line}")

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
            self.say(f"  {self._clock()}  {label}: {' · '.join(_told(progress))}")

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 1))
        for name in ("trial", "state"):
            table.add_column(name, overflow="fold")
        for name in ("turns", "tokens", "cost", "elapsed"):
            table.add_column(name, justify="right", no_wrap=True, style="dim" if name == "elapsed" else None)
        now = time.monotonic()
        for label in self._in_view():
            progress = self._latest[label]
            elapsed = self._ended.get(label, now) - self._began[label]
            table.add_row(
                Text(label),
                Text(_state(progress)),
                str(progress.turns),
                figures.tokens(progress.tokens),
                figures.UNKNOWN if progress.cost_usd is None else f"${progress.cost_usd:.2f}",
                figures.seconds(elapsed),
            )
        done = len(self._ended)
        left = f"{done} of {self._total} trials done · {self._clock()}"
        if 0 < done < self._total:
            each = (now - self._trials_started) / done
            left += f" · about {figures.seconds(each * (self._total - done))} left"
        table.caption = Text(left)
        table.caption_justify = "left"
        return table

    def _in_view(self) -> list[str]:
        """Return the trials that fit on the screen, in their order: those that run, then those that ended last."""
        running = [label for label in self._latest if label not in self._ended]
        room = max(self._console.height - _LINES_AROUND, len(running))
        shown = {*running, *list(self._ended)[max(0, len(self._ended) - room + len(running)) :]}
        return [label for label in self._latest if label in shown]

    def _clock(self) -> str:
        return figures.seconds(time.monotonic() - self._started)


def _state(progress: Progress) -> str:
    return f"{progress.state}: {progress.outcome.kind}" if progress.outcome else progress.state


def _told(progress: Progress) -> list[str]:
    """Return what is known of a trial by now."""
    known = [_state(progress)]
    if progress.tokens is not None:
        cost = "cost unknown" if progress.cost_usd is None else f"${progress.cost_usd:.2f}"
        known += [figures.counted(progress.turns, "turn"), f"{figures.tokens(progress.tokens)} tokens", cost]
    return known
