"""Families that anybody can add a member to: agents, providers, judges, executors, environments.

A member comes from one of three places:

- this package;
- an installed package that names it as an entry point, of the group ``swetrials.agents``, ``swetrials.providers``,
  ``swetrials.judges``, ``swetrials.executors`` or ``swetrials.environments`` (Python Packaging User Guide, "Entry
  points specification");
- ``module:Name``, in what the user types or writes into runner.yaml.

The user alone names code to load. What a results tree or a dataset names is looked up in the first two places, and
among what the user has named in the same process.
"""

import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from swetrials.errors import UsageError, in_one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class PluginError(UsageError):
    """A member of a family is not to be had: its name is unknown, or its code cannot be loaded or is no such thing."""


class Family(Mapping[str, T]):
    """The members of one kind by name: this package's own, and what installed packages add.

    As a mapping it is what may be looked up by anybody's word. It passes over what an installed package names and
    nobody can load; :meth:`named` says why.
    """

    def __init__(self, kind: str, own: Mapping[str, T], protocol: type, *, made_by_call: bool) -> None:
        """Gather a family.

        Args:
            kind: what one member is called, such as ``agent``; the entry points' group is ``swetrials.agents`` then.
            own: this package's members.
            protocol: what every member is; what is loaded has to have all of its attributes.
            made_by_call: whether a member makes what the protocol describes when it is called, and is not that itself.
        """
        self._kind = kind
        self._own = dict(own)
        self._protocol = protocol
        self._made_by_call = made_by_call
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._own:
            return self._own[name]
        if name not in self._loaded and name in self._installed:
            try:
                return self.named(name)
            except PluginError:
                raise KeyError(name) from None
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._installed if self.get(name) is not None)
        yield from (name for name in list(self._loaded) if name not in self._installed)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def own(self) -> tuple[str, ...]:
        """The names of this package's own members."""
        return tuple(self._own)

    def named(self, name: str) -> T:
        """Return what the user has named: a member by its name, or code as ``module:Name``.

        Raises:
            PluginError: there is none; the message lists those that there are, or says why it cannot be loaded.
        """
        if (member := self._own.get(name) or self._loaded.get(name)) is not None:
            return member
        point = self._installed.get(name) or self._typed(name)
        if point is None:
            known = ", ".join([*self._own, *self._installed])
            raise PluginError(f"{self._kind}: {name!r} is not one of {known}; name one of your own as module:Name")
        self._loaded[name] = member = self._checked(self._resolved(point), point.value)
        return member

    @functools.cached_property
    def _installed(self) -> "dict[str, EntryPoint]":
        from importlib.metadata import entry_points  # takes as long as all else that a quick command imports

        found = entry_points(group=f"swetrials.{self._kind}s")
        return {point.name: point for point in found if point.name not in self._own}

    def _typed(self, name: str) -> "EntryPoint | None":
        from importlib.metadata import EntryPoint

        module, _, attribute = name.partition(":")
        parts = (*module.split("."), *attribute.split("."))
        return EntryPoint(name, name, f"swetrials.{self._kind}s") if all(map(str.isidentifier, parts)) else None

    def _resolved(self, point: "EntryPoint") -> object:
        # Where a module is named, the folder of the command is searched, behind all that is installed. An installed
        # package has no business there: it may be a results tree of somebody else's.
        here = [] if point.name in self._installed else [str(Path.cwd())]
        sys.path.extend(here)
        try:
            return point.load()
        except (Exception, SystemExit) as error:  # whatever somebody else's module raises while it is loaded
            reason = in_one_line(error) or "without a word"
            raise PluginError(
                f"{self._kind}: {point.value} cannot be loaded: {type(error).__name__}: {reason}"
            ) from None
        finally:
            for folder in here:
                sys.path.remove(folder)

    def _checked(self, found: object, value: str) -> T:
        if isinstance(found, type) and not self._made_by_call:
            try:
                found = found()
            except (Exception, SystemExit) as error:  # somebody else's code again
                said = f"{type(error).__name__}: {in_one_line(error)}"
                raise PluginError(f"{self._kind}: {value}() fails: {said}") from None
        if self._made_by_call and not callable(found):
            raise PluginError(f"{self._kind}: {value} cannot be called; see docs/plugins.md")
        # Of what is yet to be made its methods are known; its attributes may be set when it is.
        wanted = _methods(self._protocol) if self._made_by_call else _attributes(self._protocol)
        described = not self._made_by_call or isinstance(found, type)
        if described and (missing := sorted(wanted - set(dir(found)))):
            raise PluginError(f"{self._kind}: {value} lacks {', '.join(missing)}; see docs/plugins.md")
        if not self._made_by_call:
            self._refuse_taken_names(found, value)
        return cast(T, found)

    def _refuse_taken_names(self, found: object, value: str) -> None:
        """Raise where a member has the name, or the results' folder, of one of ours: nobody could tell them apart."""
        for attribute in ("name", "folder"):
            taken = {getattr(member, attribute, None) for member in self._own.values()} - {None}
            if (name := getattr(found, attribute, None)) in taken:
                raise PluginError(
                    f"{self._kind}: {value} has the {attribute} of another, {name!r}: give it one of its own"
                )


def _attributes(protocol: type) -> set[str]:
    annotated = {name for base in protocol.__mro__[:-1] for name in getattr(base, "__annotations__", ())}
    named = annotated | {name for base in protocol.__mro__[:-1] for name in vars(base)}
    return {name for name in named if not name.startswith("_")}


def _methods(protocol: type) -> set[str]:
    return {name for name in _attributes(protocol) if inspect.isfunction(getattr(protocol, name, None))}
