"""A coding-agent CLI from its launch to its end: started in its space, fed its prompt, heard, stopped within limits.

Trials, the probe before them, judges and the dry run all start a CLI in this one way. Who lets it work for what, on
which route and at whose cost is theirs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from swetrials.agents.base import Agent, Job, Launch, Skill, StreamReader
from swetrials.agents.events import Event, Notice, Tally
from swetrials.agents.install import Installed
from swetrials.environments.base import Environment, Held, Network, View
from swetrials.environments.door import Door, behind
from swetrials.environments.host import Host
from swetrials.errors import in_one_line
from swetrials.records.config import RunnerConfig
from swetrials.store.stream_log import StreamLog
from swetrials.wire.route import Route
from swetrials.workspace.processes import Command, Ended, ProcessLimits, run_captured, run_group

Hear = Callable[[Sequence[Event]], None]
"""Called with what a CLI has just said and done, which may be nothing yet; the tally counts it already."""


def _nothing_more(events: Sequence[Event]) -> None:
    """Leave it at the tally."""


@dataclass
class AgentSession:
    """One start of a CLI. Nothing is touched before :meth:`run`.

    Attributes:
        launch: how it is started, and what is put into its private home for that.
        reader: reads its stream.
        view: its own folders, all of which it may read. Their name is the mark of its processes.
        environment: what it runs in.
        installation: the folder that it is installed in, which it may read as well; ``None``: it is not known.
        writable: those of its folders that it may change, where the environment can keep it from that.
        door: seals it, and leaves it the one way to its route.
        network: what it can reach without a door.
        tally: what it has come to by now.
    """

    launch: Launch
    reader: StreamReader
    view: View
    environment: Environment = field(default_factory=Host)
    installation: Path | None = None
    writable: Sequence[Path] = ()
    door: Door | None = None
    network: Network = "open"
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def of(
        cls,
        agent: Agent,
        installed: Installed | None,
        view: View,
        *,
        prompt: str,
        skill: Skill | None,
        route: Route,
        config: RunnerConfig,
        environment: Environment,
        writable: Sequence[Path],
        door: Door | None = None,
    ) -> Self:
        """Return the session of an agent at one job. An agent that is not installed can be looked at, and not run.

        Args:
            agent: which.
            installed: where it is.
            view: its own folders.
            prompt: what it is asked.
            skill: what it follows.
            route: its way to the model.
            config: the run's.
            environment: what it runs in.
            writable: those of its folders that it may change, where the environment can keep it from that.
            door: seals it; ``None``: it is not.
        """
        own = view.inside
        job = Job(prompt, skill, route, own.checkout, own.home, own.temporary, own.artifacts, config, view.variables)
        binary = installed.binary if installed else Path(f"{agent.name}-NOT-INSTALLED")
        installation = installed.folder if installed else None
        return cls(agent.launch(binary, job), agent.reader(), view, environment, installation, writable, door)

    @property
    def command(self) -> Command:
        """What really runs: the CLI's words in its environment, with allow-listed variables."""
        return self._command("none" if self.door else self.network, None)

    def _command(self, network: Network, held: Held | None) -> Command:
        return self.environment.command(
            self.launch.argv,
            self.view,
            variables=self.launch.environment,
            writable=self.writable,
            shown=[self.installation] if self.installation else [],
            network=network,
            held=held,
        )

    async def run(
        self, limits: ProcessLimits, *, stderr: Path, log: StreamLog | None = None, hear: Hear = _nothing_more
    ) -> Ended:
        """Start it and hear it to its end. What it says after its final word is heard for the time of grace only.

        Args:
            limits: how long it may take.
            stderr: file for its standard error.
            log: keeps its stream.
            hear: called after each piece of its output, and once when it has ended.

        Raises:
            LaunchError: it cannot be started.
            SealError: it cannot be sealed.
            OSError: the disk is full or not writable.
        """
        self._write_files()
        reader = _Guarded(self.reader)

        def take(heard: Sequence[Event]) -> None:
            self.tally.add(heard)
            hear(heard)

        def on_output(data: bytes) -> bool:
            try:
                if log is not None:
                    log.write(data)
            finally:  # what the disk cannot take was spent all the same
                take(reader.events(lambda one: one.feed(data)))
            return self.tally.end is not None

        mark = self.view.outside.root.name
        stdin = self.view.to_outside(self.launch.stdin) if self.launch.stdin else None
        async with behind(self.door, self._command, otherwise=self.network, stderr=stderr) as (command, started):
            ended = await run_group(
                command, limits, mark=mark, on_output=on_output, stderr=stderr, stdin=stdin, started=started
            )
        take(reader.events(lambda one: one.finish()))
        return ended

    async def run_captured(self, limits: ProcessLimits) -> tuple[Ended, bytes]:
        """Run it where it is no agent but answers a question about itself, and return the end of what it printed.

        Raises:
            LaunchError: it cannot be started.
            OSError: its files cannot be written.
        """
        self._write_files()
        async with behind(self.door, self._command, otherwise=self.network) as (command, started):
            return await run_captured(command, limits, mark=self.view.outside.root.name, started=started)

    def _write_files(self) -> None:
        for inside, text in self.launch.files.items():
            path = self.view.to_outside(inside)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


class _Guarded:
    """A reader that may raise, since it may be somebody else's: the rest of its stream is not read, and that is all.

    What it cost is known to the meter, and the attempt is recorded as one whose stream has no ending.
    """

    def __init__(self, reader: StreamReader) -> None:
        self._reader: StreamReader | None = reader

    def events(self, read: Callable[[StreamReader], Iterable[Event]]) -> tuple[Event, ...]:
        if self._reader is None:
            return ()
        heard: list[Event] = []
        try:
            heard.extend(read(self._reader))
        except Exception as error:
            self._reader = None
            said = f"{type(error).__name__}: {in_one_line(error)}"
            heard.append(Notice(f"the stream is read no further: its reader fails: {said}"))
        return tuple(heard)
