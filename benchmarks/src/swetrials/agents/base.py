"""What a coding-agent CLI has to offer: how to launch it, and how to read its stream."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from swetrials.agents.events import Event
from swetrials.agents.install import Package, Program
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import EXPECTED_ARTIFACTS, documents_in
from swetrials.wire.route import Dialect, Route


@dataclass(frozen=True)
class Skill:
    """Instructions an agent follows: a name, the text of its SKILL.md, and the artifacts that a trial is to leave."""

    name: str
    text: str
    artifacts: tuple[str, ...] = EXPECTED_ARTIFACTS

    @property
    def documents(self) -> tuple[str, ...]:
        """The artifacts that the agent writes: all but the patch, which the harness makes."""
        return documents_in(self.artifacts)


@dataclass(frozen=True)
class Job:
    """One invocation: what to ask, where to work, what to reach.

    ``variables`` are those of its environment, which the agent's commands are to have; the proxy that leads to package
    registries is among them.
    """

    prompt: str
    skill: Skill | None
    route: Route
    checkout: Path
    home: Path
    temporary: Path
    artifacts: Path
    config: RunnerConfig
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """How to start the agent: words, environment to add, and files to put into its private home.

    ``stdin`` is the one of the files that is its standard input; without one it is empty. A file holds a prompt of any
    length, which a word of a command line does not.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[Path, str] = field(default_factory=dict)
    stdin: Path | None = None


class StreamReader(Protocol):
    """Turns a stream's bytes into events, whatever the bytes: unknown, torn and invalid ones are passed over."""

    def feed(self, data: bytes) -> Iterable[Event]:
        """Take the next bytes, cut anywhere, and return the events they complete."""

    def finish(self) -> Iterable[Event]:
        """Return what a last line without a newline still holds."""


class Agent(Protocol):
    """One coding-agent CLI.

    Attributes:
        name: what the command line and records call it.
        folder: its folder in a results tree.
        dialects: the API dialects that it speaks.
        limits: what of the configuration it cannot honour, and what it does not tell.
        server_tools: those tools of the configuration that the vendor of the model runs on its own machines, which
            have a network whatever keeps the agent from one. A driver leaves each of them out unless it is allowed.
    """

    name: str
    folder: str
    dialects: frozenset[Dialect]
    limits: tuple[str, ...]
    server_tools: frozenset[str]

    @property
    def package(self) -> Package | Program:
        """What it is, and how it is installed."""

    def launch(self, binary: Path, job: Job) -> Launch:
        """Return how to start the agent for a job; touches nothing on disk."""

    def reader(self) -> StreamReader:
        """Return a fresh reader for one stream."""

    def recognises(self, line: Mapping[str, object]) -> bool:
        """Say whether an object of a stream is this agent's way of talking, and no other program's."""

    def check_settings(self, path: Path) -> None:
        """Look at a user's extra settings file.

        Raises:
            ValueError: it cannot be read, or is not what the agent takes.
        """
