"""Families that anybody can add a member to: agents, providers, judges, executors.

A member comes from one of three places:

- this package;
- an installed package that names it as an entry point, of the group ``swetrials.agents``, ``swetrials.providers``,
  ``swetrials.judges`` or ``swetrials.executors`` (Python Packaging User Guide, "Entry points specification");
- ``module:Name``, in what the user types or writes into runner.yaml.

The user alone names code to load. What a results tree or a dataset names is looked up in the first two places, and
among what the user has named in the same process.
"""

import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from swetrials.errors import UsageError

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

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def names(self) -> list[str]:
        """Return every name that can be looked up; nothing is loaded."""
        return [*self._own, *self._installed]

    def named(self, name: str) -> T:
        """Return what the user has named: a member by its name, or code as ``module:Name``.

        Raises:
            PluginError: there is none; the message lists those that there are, or says why it cannot be loaded.
        """
        if (member := self._own.get(name) or self._loaded.get(name)) is not None:
            return member
        point = self._installed.get(name) or self._typed(name)
        if point is None:
            known = ", ".join(self.names())
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
        # A module in the folder where the command is given is meant to be found, behind all that is installed.
        sys.path.append(str(Path.cwd()))
        try:
            return point.load()
        except Exception as error:  # whatever somebody else's module raises while it is loaded
            reason = " ".join(str(error).split()) or "without a word"
            raise PluginError(
                f"{self._kind}: {point.value} cannot be loaded: {type(error).__name__}: {reason}"
            ) from None
        finally:
            sys.path.pop()

    def _checked(self, found: object, value: str) -> T:
        if isinstance(found, type) and not self._made_by_call:
            try:
                found = found()
            except Exception as error:  # somebody else's code again
                raise PluginError(f"{self._kind}: {value}() fails: {type(error).__name__}: {error}") from None
        if self._made_by_call and not callable(found):
            raise PluginError(f"{self._kind}: {value} cannot be called; see docs/plugins.md")
        described = not self._made_by_call or isinstance(found, type)
        if described and (missing := sorted(_attributes(self._protocol) - set(dir(found)))):
            raise PluginError(f"{self._kind}: {value} lacks {', '.join(missing)}; see docs/plugins.md")
        name = getattr(found, "name", value)
        if not self._made_by_call and name in self._own:
            raise PluginError(f"{self._kind}: {value} has the name of another, {name!r}: give it one of its own")
        return cast(T, found)


def _attributes(protocol: type) -> set[str]:
    named = {name for base in protocol.__mro__[:-1] for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return {name for name in named if not name.startswith("_")}
