"""The router's rule, taken from the very file that people copy into their repositories: it is never repeated here."""

import importlib.machinery
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from swetrials.errors import KnownError, in_one_line
from swetrials.records.dataset import RankBy
from swetrials.records.router_evaluation import RouterStatus
from swetrials.records.router_models import ranked_figure
from swetrials.store.files import sha256_of
from swetrials.store.reading import read_bytes

T = TypeVar("T")
Entry = Mapping[str, Any]
"""One model as in ``models.json``."""

_LOWEST_FLOOR = 0.0


class RuleError(KnownError):
    """The rule cannot be loaded or asked; the message is one line."""


@dataclass(frozen=True)
class Advice:
    """What the router says of one task."""

    status: RouterStatus
    model: str | None
    """``None``: it names none."""

    expected: Mapping[str, float]
    """The score, or resolve rate, of every candidate that it has in mind for the tier, by name."""

    tied_with: tuple[str, ...] = ()
    nearest: str | None = None
    """Where nothing clears the floor: what comes nearest."""


class RouterRule:
    """``route.py`` with the lists that say which models it may pick.

    Attributes:
        sha256: of the file.
        tie_band: points within which scores are told together.
    """

    def __init__(
        self,
        folder: Path,
        *,
        allowed_file: Path | None,
        available: Sequence[str] | None,
        tie_band: float | None,
        rank_by: RankBy = "rubric",
    ) -> None:
        """Load the rule and its lists.

        Args:
            folder: the router's skill, with ``route.py`` and ``model-aliases.json``.
            allowed_file: the allow list; ``None``: every measured model is allowed.
            available: names of the models that can be had; ``None``: all.
            tie_band: in points; ``None``: the rule's own.
            rank_by: what a floor is a floor of.

        Raises:
            RuleError: a file is missing or cannot be used.
        """
        self._module, self.sha256 = _load(folder / "route.py")
        self._aliases = self._asked(lambda: self._module.load_aliases(folder / "model-aliases.json"))
        self._allowed: Sequence[str] | None = (
            None if allowed_file is None else self._asked(lambda: self._module.load_allowed(allowed_file))
        )
        self._available = available
        self._rank_by = rank_by
        self.tie_band: float = self._module.TIE_BAND if tie_band is None else tie_band

    def advise(self, entries: Sequence[Entry], tier: str, floor: float) -> Advice:
        """Ask which model to take.

        Raises:
            RuleError: tier, floor, tie band or a name cannot be used.
        """
        answer = self._route(entries, tier, floor, self._allowed, self._available)
        candidates = [*answer["cleared_floor"], *answer["below_floor"]]
        return Advice(
            status=cast(RouterStatus, answer["status"]),
            model=answer["recommended"] and answer["recommended"]["model"],
            expected={candidate["model"]: candidate["score"] for candidate in candidates},
            tied_with=tuple(candidate["model"] for candidate in answer["tied_with"]),
            nearest=answer["below_floor"][0]["model"] if answer["status"] == "nothing_clears_floor" else None,
        )

    def usable(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        """Return the models that are allowed, available and measured, by their means over everything.

        Raises:
            RuleError: a name on a list cannot be used.
        """
        return self._candidates(_overall(entries), self._allowed, self._available)

    def reasons_against(self, entries: Sequence[Entry]) -> Mapping[str, str]:
        """Return why each model or listed name is not among the usable ones.

        Raises:
            RuleError: a name on a list cannot be used.
        """
        answer = self._route(_overall(entries), self._module.TIERS[0], _LOWEST_FLOOR, self._allowed, self._available)
        return {one["model"]: one["reason"] for one in answer["excluded"]}

    def model_named(self, entries: Sequence[Entry], name: str) -> str:
        """Return the measured model that a name stands for, however it is spelled.

        Raises:
            RuleError: none, or more than one.
        """
        # Only the name counts here, so every model gets figures with which it is a candidate.
        figure = ranked_figure(self._rank_by)
        named = [{"model": entry["model"], figure: 0.0, "mean_cost_usd": 0.0} for entry in entries]
        found = self._candidates(named, None, [name])
        if len(found) != 1:
            raise RuleError(f"{name!r}: no measured model is called that; there are {_listed(entries)}")
        return found[0]

    def _candidates(
        self, entries: Sequence[Entry], allowed: Sequence[str] | None, available: Sequence[str] | None
    ) -> tuple[str, ...]:
        answer = self._route(entries, self._module.TIERS[0], _LOWEST_FLOOR, allowed, available)
        return tuple(sorted(candidate["model"] for candidate in answer["cleared_floor"]))

    def _route(
        self,
        entries: Sequence[Entry],
        tier: str,
        floor: float,
        allowed: Sequence[str] | None,
        available: Sequence[str] | None,
    ) -> dict[str, Any]:
        return self._asked(
            lambda: self._module.route(
                entries,
                tier=tier,
                floor=floor,
                allowed=allowed,
                available=available,
                aliases=self._aliases,
                tie_band=self.tie_band,
                rank_by=self._rank_by,
            )
        )

    def _asked(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except self._module.RouteError as error:
            raise RuleError(in_one_line(error)) from None


def _load(path: Path) -> tuple[ModuleType, str]:
    """Return the file as a module, and the digest of the very bytes that it was made from."""
    try:
        source = read_bytes(path)
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror or error}; the router's rule is read from there") from None
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("swe_router_rule", None, origin=str(path)))
    module.__file__ = str(path)  # the rule finds its neighbours by it
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        raise RuleError(f"{path}:{error.lineno}: {error.msg}") from None
    return module, sha256_of(source)


def _overall(entries: Sequence[Entry]) -> list[Entry]:
    # Without tiers every model stands on its overall means, so that none is out for what it did at one of them.
    return [{key: value for key, value in entry.items() if key != "tiers"} for entry in entries]


def _listed(entries: Sequence[Entry]) -> str:
    return ", ".join(entry["model"] for entry in entries)
