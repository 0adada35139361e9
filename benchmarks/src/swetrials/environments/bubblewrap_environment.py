"""Namespaces with the machine's own files: what is private is hidden, the rest is read-only, the network can be cut."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from swetrials.environments.base import Absence, AbsentError, Held, Network, View
from swetrials.environments.bubblewrap import Bubblewrap, UncoveredError, confined, given_up, hand_over, probe, version
from swetrials.environments.hiding import covered, toolchains
from swetrials.environments.sealing import hold_words
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
        words = confined(
            hold_words(held, argv) if held else argv,
            bwrap=self.bwrap,
            writable=writable,
            hidden=self.hidden,
            readable=[*self.readable, *view.shown, *shown, *(folder for folder in places if folder not in writable)],
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
