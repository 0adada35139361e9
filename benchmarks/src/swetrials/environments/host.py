"""The machine as it is: nothing keeps a command from anything that its user may do."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from swetrials.environments.base import NOT_WANTED, Absence, Held, Network, View
from swetrials.records.check import Check
from swetrials.workspace.processes import Command
from swetrials.workspace.space import Space
from swetrials.workspace.variables import allowed_environment


@dataclass(frozen=True)
class Host:
    """The ``host`` environment. A network that is asked to be closed stays open, and :attr:`seals` says so.

    Attributes:
        absence: why there is nothing stronger.
    """

    kind: ClassVar[str] = "host"
    engine: ClassVar[str | None] = None
    keeps: ClassVar[frozenset[str]] = frozenset()
    seals: ClassVar[bool] = False
    readable: ClassVar[tuple[Path, ...]] = ()

    absence: Absence = NOT_WANTED

    @classmethod
    def here(cls, private: Sequence[Path], programs: Sequence[Path]) -> Self:
        """Return the machine; it hides nothing."""
        return cls()

    @property
    def as_root(self) -> str:
        """Why a command has the rights of root; empty when it has not."""
        return self.absence.why if os.geteuid() == 0 else ""

    def checks(self) -> Iterator[Check]:
        """Say what a command may do here."""
        whom = (
            "running as root, the agent can read and change the whole machine"
            if self.as_root
            else "the agent can read whatever you can"
        )
        detail = f"host, {self.absence.why}: {whom}, and reach the network; run only repositories and models you trust"
        yield Check("environment", "warning", detail, self.absence.fix)

    def view(self, space: Space, repository: str) -> View:
        """Return the folders where they lie."""
        return View(space, space)

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
        """Return the command as it is."""
        space = view.outside
        given = {**view.variables, **variables}
        return Command(tuple(argv), space.checkout, allowed_environment(space.home, space.temporary, given))

    def hand_over(self, space: Space) -> None:
        """Leave the folders to whom they belong, who is the one that commands run as."""
