"""What an environment has to offer, and what a command sees of a trial's folders in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, Self

from swetrials.errors import KnownError
from swetrials.records.check import Check
from swetrials.workspace.processes import Command
from swetrials.workspace.space import Space


@dataclass(frozen=True)
class Absence:
    """Why an environment is not to be had, and what mends that."""

    why: str
    fix: str


NOT_WANTED = Absence("as was asked for", "leave --environment host out")


class AbsentError(KnownError):
    """The environment that was asked for is not to be had on this machine.

    Attributes:
        absence: why.
    """

    def __init__(self, absence: Absence) -> None:
        """Say why, and what mends it."""
        super().__init__(absence)  # What it is made of again, where another machine has raised it.
        self.absence = absence

    def __str__(self) -> str:
        """Say why, and what mends it."""
        return f"{self.absence.why}; {self.absence.fix}"


class PreparationError(KnownError):
    """An environment cannot be prepared; the message says why, and where what was printed is kept."""


class SetupError(PreparationError):
    """A command of the dataset's setup failed, with all there that it is to be given.

    ``printed`` are the last lines that it has printed, without secrets.
    """

    def __init__(self, message: str, printed: Sequence[str] = ()) -> None:
        """Say which command, and how."""
        super().__init__(message)
        self.printed = tuple(printed)


Network = Literal["open", "none"]
"""What a command is started with: the machine's network, or a loopback of its own and nothing else."""


@dataclass(frozen=True)
class Layer:
    """A folder of a preparation, as one command sees it: what it writes there goes to a folder of its own.

    Attributes:
        lower: the prepared folder, which is never written to.
        own: a folder of the attempt's own, with ``upper`` and ``work`` for what is written, and ``merged``.
        inside: where :attr:`merged` is for the command.
        copied: whether ``merged`` is a copy of the prepared folder; else an overlay is laid over it at each start.
    """

    lower: Path
    own: Path
    inside: Path
    copied: bool = False

    @property
    def merged(self) -> Path:
        """What the command sees: empty but for a copy, until an overlay is laid over it."""
        return self.own / "merged"


@dataclass(frozen=True)
class View:
    """An attempt's folders where they lie, and where a command that runs in an environment finds them.

    Attributes:
        outside: where they lie.
        inside: where the command finds them. The checkout is at the same place for every attempt of a repository.
        layers: what was prepared for it.
        variables: what the environment sets beside the harness's own.
        shown: what of the machine it has to be shown for that, although it lies below what is hidden.
        prepared: what lies in the checkout that neither the commit nor the command has put there: files, and folders
            with all that is in them, relative to it. It is no part of a patch.
    """

    outside: Space
    inside: Space
    layers: tuple[Layer, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[Path, ...] = ()
    prepared: tuple[str, ...] = ()

    def having(self, variables: Mapping[str, str]) -> Self:
        """Return the same with further variables."""
        return replace(self, variables={**self.variables, **variables})

    def to_outside(self, path: Path) -> Path:
        """Return where something lies that a command finds at a path; what is not the attempt's is where it is."""
        for inside, lies in zip(self.inside.folders, self.outside.folders, strict=True):
            if path.is_relative_to(inside):
                return lies / path.relative_to(inside)
        return path


@dataclass(frozen=True)
class Held:
    """What a command is started with that waits for a word before it begins (:mod:`swetrials.environments.sealing`).

    Attributes:
        info_fd: where the environment tells who the first process inside is: ``{"child-pid": NUMBER}``, as the machine
            numbers it, and then the end (``bwrap --info-fd``).
        ready_fd: where the command tells that it waits.
        go_fd: where it waits for its word.
    """

    info_fd: int
    ready_fd: int
    go_fd: int

    @property
    def fds(self) -> tuple[int, ...]:
        """The open files that the command needs (:attr:`swetrials.workspace.processes.Command.pass_fds`)."""
        return self.info_fd, self.ready_fd, self.go_fd


def sandbox_name(kind: str) -> str:
    """Return what records have always called a kind of environment: ``none`` for the host as it is."""
    return "none" if kind == "host" else kind


class Environment(Protocol):
    """What the commands of agents and of verifications run in, on this machine."""

    @property
    def kind(self) -> str:
        """The name on the command line and in records."""

    @property
    def engine(self) -> str | None:
        """The program that keeps commands in it, with its version; ``None``: nothing does, or it does not say."""

    @property
    def keeps(self) -> frozenset[str]:
        """The limits that a dataset may ask for, such as ``memory_gb``, and that a command is held to in it."""

    @property
    def seals(self) -> bool:
        """Whether a command can be kept from the network in it."""

    @property
    def as_root(self) -> str:
        """Why a command in it has the rights of root on this machine's files; empty when it has not."""

    @property
    def readable(self) -> tuple[Path, ...]:
        """Folders outside of an attempt's own that it may rightly look into: toolchains."""

    def checks(self) -> Iterator[Check]:
        """Say what it keeps from a command, and what it does not."""

    def view(self, space: Space, repository: str) -> View:
        """Return where a command finds an attempt's folders.

        Args:
            space: the folders.
            repository: name of the repository that is checked out.
        """

    def command(
        self,
        argv: Sequence[str],
        view: View,
        *,
        variables: Mapping[str, str],
        writable: Sequence[Path],
        shown: Sequence[Path] = (),
        network: Network = "none",
        held: Held | None = None,
    ) -> Command:
        """Return what really runs.

        Args:
            argv: the command's words, with paths as they are inside.
            view: the folders it works in; those that are not named as writable it may read.
            variables: its own variables beside those that every command has.
            writable: those of the folders outside that it may change.
            shown: what else of the machine it may read, although it lies below what is hidden.
            network: what it can reach.
            held: let it wait for a word before it begins.
        """

    def hand_over(self, space: Space) -> None:
        """Give an attempt's folders to whom commands run as, before anybody looks at the state they are in."""
