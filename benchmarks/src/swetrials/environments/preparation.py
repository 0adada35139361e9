"""Preparations: what a dataset's environment asks for, made once for equal content and seen by every attempt."""

import errno
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from anyio.to_thread import run_sync

from swetrials.environments.attaching import attached
from swetrials.environments.base import Layer, PreparationError, SetupError, View
from swetrials.environments.checkout_changes import Made, contents, made_since
from swetrials.environments.overlay import why_no_overlay
from swetrials.environments.preparation_inputs import preparation_sha256
from swetrials.environments.preparation_store import RECORD, PreparationStore, Stored
from swetrials.environments.secret_search import told_apart, values_of_secrets
from swetrials.environments.setting_up import SETUP_LIMIT_SECONDS, VENV, Setup, set_up_here, variables
from swetrials.environments.toolchain import Toolchain, find_tools
from swetrials.environments.work_context import WorkContext
from swetrials.records.dataset import repository_name
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.preparation import PreparationRecord
from swetrials.store.clock import utc_now
from swetrials.store.files import write_record
from swetrials.workspace.clearing import size_of
from swetrials.workspace.patch import apply_patch
from swetrials.workspace.space import Space, attempt_space_aside, require_room
from swetrials.workspace.tracked_files import tracked_files

CHECKOUT = "checkout"
"""The folder of a preparation for what setup made in the checkout."""

_LOG = "setup.log"
_BYTES_IN_A_GB = 1e9


@dataclass(frozen=True)
class Source:
    """What is prepared: an environment for the files of a commit, with a patch or without.

    Attributes:
        spec: what the dataset asks for.
        repo: the repository's address.
        commit: the full id.
        patch: applied on top; what does not change a manifest changes no preparation.
    """

    spec: EnvironmentSpec
    repo: str
    commit: str
    patch: bytes = b""

    @property
    def repository(self) -> str:
        """The repository's name."""
        return repository_name(self.repo)


@dataclass(frozen=True)
class Preparation:
    """A preparation that is held: it is there for as long as the block that holds it runs.

    Attributes:
        spec: what was asked for.
        stored: what was made; ``None``: nothing had to be, or nothing can be kept.
        new: whether it was made for this holder, and not kept from before.
        copied: why an attempt sees a copy of it and no overlay; empty for an overlay.
        each_time: what is done for each attempt, where an attempt's folders have no place that is everybody's.
    """

    spec: EnvironmentSpec
    stored: Stored | None = None
    new: bool = False
    copied: str = ""
    each_time: Setup | None = None

    @property
    def sha256(self) -> str | None:
        """The hash of what it was made from; ``None``: nothing was made."""
        return self.stored.record.sha256 if self.stored else None

    @property
    def shown(self) -> tuple[Path, ...]:
        """What of the machine commands have to be shown for it."""
        return tuple(map(Path, self.stored.record.shown)) if self.stored else ()

    async def attach(self, view: View) -> View:
        """Put the preparation into an attempt's folders and its view, apart from every other's.

        The checkout is there already, and so is what a patch or hidden files have put into it: where they have put
        something in place of what was prepared, theirs stays.

        Args:
            view: the attempt's, from :meth:`Environment.view`.

        Raises:
            LayerError: a folder has to be copied, and cannot be.
            PreparationError: it is done for each attempt, and failed.
            OSError: a file cannot be copied.
        """
        given = replace(
            view, variables={**view.variables, **variables(view, self.spec)}, shown=(*view.shown, *self.shown)
        )
        if self.each_time is not None:
            return await set_up_here(self.each_time, given)
        if self.stored is None:
            return given
        record, folder = self.stored.record, self.stored.folder
        put = partial(
            attached,
            given,
            venv=folder / VENV / "merged" if record.python else None,
            checkout=folder / CHECKOUT,
            made=Made(record.folders, record.files, record.changed),
            copied=bool(self.copied),
        )
        return await run_sync(put)


@dataclass(frozen=True)
class Preparations:
    """What prepares environments on this machine, and keeps them for later.

    Attributes:
        place: where the attempts are made. Its working folder decides whether they can see overlays.
        user: the user's variables.
        limit_seconds: longest time for one command of a setup.
    """

    place: WorkContext
    user: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    limit_seconds: float = SETUP_LIMIT_SECONDS

    @property
    def store(self) -> PreparationStore:
        """Where they are kept."""
        return PreparationStore.of(self.place.project)

    @asynccontextmanager
    async def holding(self, source: Source) -> AsyncIterator[Preparation]:
        """Hold the preparation of a source for as long as the block runs; it is made first where it is not there.

        Raises:
            SetupError: a command of setup failed.
            PreparationError: something else did, or a secret is left in what setup made.
            ToolMissingError: this machine has not the Python, the Node or the uv that is asked for.
            SecretError: a secret that setup is to see is not set.
            PatchError: the patch does not fit the commit.
            GitError: the commit is not in the cache.
            OSError: the disk is full, or cannot be written.
        """
        tools = await run_sync(find_tools, source.spec, self.place.project)
        if not source.spec.prepares:
            yield Preparation(source.spec)
            return
        if self._has_no_place_for_all(source):
            yield Preparation(source.spec, each_time=self._setup(source, tools))
            return
        sha256 = await run_sync(self._sha256, source, tools)
        made: list[PreparationRecord] = []
        await run_sync(self.store.make_room, self.place.preparations_max_gb * _BYTES_IN_A_GB)

        async def make() -> None:
            made.append(await self._make(source, tools, sha256))

        async with self.store.holding(sha256, make) as stored:
            if made:
                await run_sync(self.store.make_room, self.place.preparations_max_gb * _BYTES_IN_A_GB)
            copied = await run_sync(why_no_overlay, self.store.making, self.place.work_root)
            yield Preparation(source.spec, stored, bool(made), copied)

    async def changed_by_patch(self, source: Source) -> bool:
        """Return whether a source's patch changes what is prepared: a manifest, or another file that setup depends on.

        Where it does, a command of setup that fails (``SetupError``) is the patch's fault.

        Raises:
            ToolMissingError: this machine has not the Python, the Node or the uv that is asked for.
            PatchError: the patch does not fit the commit.
            GitError: the commit is not in the cache.
        """
        if not (source.spec.setup and source.patch.strip()):
            return False
        tools = await run_sync(find_tools, source.spec, self.place.project)
        patched = await run_sync(self._sha256, source, tools)
        return patched != await run_sync(self._sha256, replace(source, patch=b""), tools)

    async def sets_up(self, source: Source) -> bool:
        """Return whether setup works for a source at this moment, whatever was kept of it; nothing of it is kept.

        Raises:
            KnownError: as :meth:`holding`, where something else than a command of setup fails.
        """
        tools = await run_sync(find_tools, source.spec, self.place.project)
        try:
            async with self._set_up(source, tools):
                return True
        except SetupError:
            return False

    def _sha256(self, source: Source, tools: Toolchain) -> str:
        tracked = tracked_files(self.place.repositories, source.repo, source.commit, source.patch)
        kind = self.place.environment.kind
        return preparation_sha256(source.spec, kind, source.repository, tools.versions, tracked)

    def _has_no_place_for_all(self, source: Source) -> bool:
        """Whether each attempt's folders are where they lie: what was prepared for one would not work in another."""
        view = self.place.environment.view(Space.at(self.place.work_root, "any"), source.repository)
        return view.inside == view.outside

    def _setup(self, source: Source, tools: Toolchain) -> Setup:
        values = values_of_secrets(source.spec.setup_secrets, self.user)
        redactor = self.place.redactor.and_also(told_apart(values))
        return Setup(source.spec, tools, self.place.environment, redactor, values, self.limit_seconds)

    async def prove(self, source: Source) -> float:
        """Prepare a checkout that nobody uses, where preparations cannot be kept; return the seconds that it took.

        Raises:
            PreparationError: it failed.
            KnownError: as :meth:`holding`.
        """
        began = time.monotonic()
        async with (
            self.holding(source) as preparation,
            attempt_space_aside(self.place.work_root, f"prepare-{secrets.token_hex(6)}") as space,
        ):
            await run_sync(self._check_out, source, space)
            self.place.environment.hand_over(space)
            await preparation.attach(self.place.environment.view(space, source.repository))
        return time.monotonic() - began

    async def _make(self, source: Source, tools: Toolchain, sha256: str) -> PreparationRecord:
        try:
            return await self._made_anew(source, tools, sha256)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise PreparationError(
                f"the disk is full where preparations are kept, {self.store.root}: {error.strerror}; "
                "free some space: swetrials clean"
            ) from None

    async def _made_anew(self, source: Source, tools: Toolchain, sha256: str) -> PreparationRecord:
        began = time.monotonic()
        async with self._set_up(source, tools, sha256) as (kept, made):
            record = PreparationRecord(
                sha256=sha256,
                made_at=utc_now(),
                seconds=round(time.monotonic() - began, 3),
                tools=dict(tools.versions),
                python=str(tools.python) if tools.python else None,
                shown=tuple(map(str, tools.shown)),
                folders=made.folders,
                files=made.files,
                changed=made.changed,
                size_bytes=await run_sync(size_of, kept),
            )
            write_record(kept / RECORD, record)
            self.store.put(kept, sha256)
        return record

    @asynccontextmanager
    async def _set_up(
        self, source: Source, tools: Toolchain, log_sha256: str | None = None
    ) -> AsyncIterator[tuple[Path, Made]]:
        """Set a source up in a space of its own, and give the folder with what was made, until the block ends."""
        setup = self._setup(source, tools)
        require_room(self.store.making)
        async with attempt_space_aside(self.store.making, f"prepare-{secrets.token_hex(6)}") as space:
            await run_sync(self._check_out, source, space)
            before = await run_sync(contents, space.checkout)
            kept = space.root / "kept"
            kept.mkdir()
            view = _with_place_for_python(self.place.environment.view(space, source.repository), source.spec, kept)
            self.place.environment.hand_over(space)
            try:
                await setup.run(view, kept / _LOG)
            except PreparationError as error:
                error.args = (f"{error}{self._log_kept(kept / _LOG, log_sha256)}",)
                raise
            made = await run_sync(made_since, before, space.checkout)
            await run_sync(_keep, made, space.checkout, kept)
            await run_sync(setup.refuse_secrets_in, kept)
            yield kept, made

    def _log_kept(self, log: Path, sha256: str | None) -> str:
        """Keep what a failed setup has printed, and return where; nothing where it is not kept."""
        if sha256 is None:
            return ""
        try:
            self.store.logs.mkdir(exist_ok=True)
            shutil.copyfile(log, self.store.log(sha256))
        except OSError:
            return ""
        return f"; its output: {self.store.log(sha256)}"

    def _check_out(self, source: Source, space: Space) -> None:
        self.place.repositories.check_out(source.repo, source.commit, space.checkout)
        apply_patch(space.checkout, source.patch)


def _with_place_for_python(view: View, spec: EnvironmentSpec, kept: Path) -> View:
    """Return a view with an empty folder where the virtual environment will be, which the command can write to."""
    if not spec.python:
        return view
    layer = Layer(kept, kept / VENV, view.inside.root / VENV, copied=True)
    layer.merged.mkdir(parents=True)
    return replace(view, layers=(*view.layers, layer))


def _keep(made: Made, checkout: Path, kept: Path) -> None:
    """Move what setup made out of its checkout and its place, into the folder that is kept."""
    (kept / CHECKOUT).mkdir()
    for name in made.names:
        (kept / CHECKOUT / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).rename(kept / CHECKOUT / name)
