"""Namespaces with the machine's own files: what is private is hidden, the rest is read-only, the network can be cut."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from swetrials.environments.base import Absence, AbsentError, Held, Network, View
from swetrials.environments.bubblewrap import (
    EMPTIED,
    Bubblewrap,
    UncoveredError,
    confined,
    given_up,
    hand_over,
    probe,
    version,
)
from swetrials.environments.hiding import covered, toolchains
from swetrials.environments.sealing import hold_words
from swetrials.environments.seccomp import system_call_filter
from swetrials.environments.sockets_of_others import local_sockets
from swetrials.records.check import Check
from swetrials.workspace.processes import Command
from swetrials.workspace.space import Space
from swetrials.workspace.variables import allowed_environment

WORKSPACE = Path("/workspace")
"""Where checkouts are inside, each by the name of its repository: the same for every attempt."""

_ATTEMPT = Path("/attempt")
"""Where an attempt's other folders are inside."""


@dataclass(frozen=True)
class BubblewrapEnvironment:
    """The ``bubblewrap`` environment.

    Attributes:
        bwrap: the program, and as whom it runs commands.
        hidden: what of the machine is covered.
        readable: what is shown again below it: the toolchains on the search path.
    """

    kind: ClassVar[str] = "bubblewrap"
    keeps: ClassVar[frozenset[str]] = frozenset()
    seals: ClassVar[bool] = True

    bwrap: Bubblewrap
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    @classmethod
    def here(cls, private: Sequence[Path], programs: Sequence[Path]) -> Self:
        """Return the environment as this machine has it.

        Args:
            private: what has to be hidden besides the invoker's homes.
            programs: folders below what is hidden, each of which may have to be shown.

        Raises:
            AbsentError: bubblewrap does not work here.
            UncoveredError: something that is private cannot be hidden.
        """
        found = probe()
        if isinstance(found, Absence):
            raise AbsentError(found)
        hidden = tuple(dict.fromkeys(place.resolve() for place in (*private, *covered())))
        readable = toolchains(os.environ)
        try:
            confined((), bwrap=found, writable=(), hidden=hidden, readable=readable)
        except UncoveredError as error:
            raise UncoveredError(f"{error}; move it, or go without: --environment host") from None
        return cls(given_up(found, hidden, (*readable, *programs)), hidden, readable)

    @property
    def engine(self) -> str | None:
        """What bubblewrap calls itself."""
        return version(self.bwrap.path)

    @property
    def as_root(self) -> str:
        """Why a command keeps root's rights on the machine's files; empty when it does not."""
        return self.bwrap.as_root

    def checks(self) -> Iterator[Check]:
        """Say what is hidden."""
        hides = "the harness, the dataset and your home are hidden from the agent"
        if system_call_filter() is None:
            hides += f", no system call is (none is known of {os.uname().machine})"
        if self.as_root:
            detail = f"bubblewrap, running as root, {self.as_root}: {hides}, but it can read all other files of root"
            yield Check("environment", "warning", detail, "run the harness as an ordinary user")
        else:
            yield Check("environment", "ok", f"bubblewrap: {hides}")

    def view(self, space: Space, repository: str) -> View:
        """Return the folders, each at the same place for every attempt of the repository."""
        inside = Space(
            root=_ATTEMPT,
            checkout=WORKSPACE / repository,
            home=_ATTEMPT / "home",
            artifacts=_ATTEMPT / "artifacts",
            temporary=_ATTEMPT / "tmp",
        )
        return View(space, inside)

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
        """Return the command in its namespaces. Of the attempt's folders those that are not writable are readable."""
        outside, inside = view.outside, view.inside
        places = dict(zip(outside.folders, inside.folders, strict=True))
        readable = [*self.readable, *view.shown, *shown, *(folder for folder in places if folder not in writable)]
        words = confined(
            hold_words(held, argv) if held else argv,
            bwrap=self.bwrap,
            writable=writable,
            hidden=[*self.hidden, *_sockets_beside([*self.hidden, *readable, *writable])],
            readable=readable,
            places=places,
            network=network,
            held=held,
            folder=inside.checkout,
            layers=view.layers,
        )
        given = {**view.variables, **variables}
        variables = allowed_environment(inside.home, inside.temporary, given)
        return Command(words, outside.checkout, variables, held.fds if held else ())

    def hand_over(self, space: Space) -> None:
        """Give an attempt's folders to whom commands run as, before anybody looks at the state they are in."""
        hand_over(space.root, self.bwrap)


def _sockets_beside(folders: Sequence[Path]) -> Iterator[Path]:
    """Return the sockets of this machine's services, such as a database's, that are neither hidden yet nor shown.

    A read-only mount keeps nobody from connecting to them. One that lies in what is shown stays: the canary tells.
    """
    told_apart = [*EMPTIED, *(folder.resolve() for folder in folders)]
    for found in local_sockets():
        if not found.is_abstract and found.name.startswith("/"):
            path = Path(found.name).resolve()
            if not any(path.is_relative_to(folder) for folder in told_apart):
                yield path
