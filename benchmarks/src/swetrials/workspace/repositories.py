"""The mirror cache: every repository fetched once, and checkouts that hold one commit and nothing after it."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from filelock import FileLock

from swetrials.records.dataset import git_ref, repository_address, repository_name
from swetrials.workspace.git import (
    FETCH_LIMIT_SECONDS,
    GitError,
    lay_out_repository,
    run_git,
    sealed_environment,
    shown,
    users_environment,
)
from swetrials.workspace.processes import MARK, stop_marked

MIRRORS = "mirrors"
"""The cache's folder in a working folder."""

BRANCH = "main"
"""The one branch of every checkout."""

_FULL_SHA = re.compile(r"[0-9a-f]{40}")
_SHA = re.compile(r"[0-9a-f]{7,40}")
_SCP_LIKE = re.compile(r"[^/]*:")

_COMMITTER = "[user]\n\tname = Developer\n\temail = developer@localhost\n"

# The user's own folder, whoever owns the files in it (a mounted volume, say). Stands for `git upload-pack` where
# git itself would refuse; the setting cannot be handed on to that process in another way.
_UPLOAD_PACK = "--upload-pack=git -c safe.directory=* upload-pack"


class Repositories:
    """A cache of bare mirrors below one folder, one for each repository address.

    Processes and threads may share the folder: one fetches, the others wait. A mirror stays usable when a fetch
    is killed at any moment.

    Submodules are not fetched: their folders are empty in a checkout. Files kept by git LFS are the pointers
    that the repository stores.
    """

    def __init__(self, root: Path) -> None:
        """Use the cache below ``root``, which is made when it is first needed."""
        self._root = root.absolute()
        self._resolved: dict[tuple[str, str], str] = {}
        self._looked_up: set[str] = set()
        self._out_of_reach: dict[str, str] = {}

    @classmethod
    def below(cls, work_root: Path) -> Self:
        """Return the cache of a working folder."""
        return cls(work_root / MIRRORS)

    def resolve(self, repo: str, ref: str) -> str:
        """Return the full id of the commit that a tag, a branch or a commit id stands for.

        A full commit id that the mirror has needs no network. A branch may move, and so may a tag: each repository is
        looked up once in the life of this object, so that all trials of a run see the same commit and a later run
        the newer one. A tag that the mirror has is good enough where the repository is out of reach
        (:meth:`out_of_reach`).

        Args:
            repo: a URL, ``user@host:path``, or the path of a repository or a git bundle.
            ref: tag, branch or commit id (a short id works when a branch or tag leads to it). A tag wins over
                a branch of the same name.

        Raises:
            GitError: the repository cannot be reached, or has no such ref.
        """
        address = _address(repo)
        _checked_ref(ref)
        if known := self._resolved.get((address, ref)):
            return known
        with self._locked(address) as mirror:
            if (address, ref) not in self._resolved:
                self._resolved[address, ref] = self._looked_up_in(mirror, address, ref)
        return self._resolved[address, ref]

    def out_of_reach(self, repo: str) -> str:
        """Return why a repository's tags are those of an earlier look at it; empty where they are not."""
        return self._out_of_reach.get(_address(repo), "")

    def _looked_up_in(self, mirror: Path, address: str, ref: str) -> str:
        if _FULL_SHA.fullmatch(ref) and (known := _commit(mirror, [ref])):
            return known
        _clear_wreckage(mirror)
        try:
            if address not in self._looked_up:
                _fetch(mirror, address, ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], "the address")
                self._looked_up.add(address)
        except GitError as error:
            if (tagged := _commit(mirror, [f"refs/tags/{ref}"])) is None:
                raise
            self._out_of_reach[address] = str(error)
            return tagged
        return _named(mirror, address, ref)

    def check_out(self, repo: str, commit: str, into: Path) -> None:
        """Make a checkout that holds the commit alone, on a branch called ``main``.

        Its repository has no remote, no tag, no reflog and no object of any other commit. Files hold the bytes that
        the repository stores (see :func:`~swetrials.workspace.git.lay_out_repository`).

        Args:
            repo: the address that the commit was resolved for.
            commit: the full id, from :meth:`resolve`.
            into: the folder to make, or an empty one.

        Raises:
            GitError: the commit is not in the cache, or the folder has something in it.
        """
        if not _FULL_SHA.fullmatch(commit):
            raise GitError(f"cannot check out {commit!r}: it is not a full commit id; resolve it first")
        if into.is_dir() and any(into.iterdir()):
            raise GitError(f"cannot check out into {into}: the folder is not empty")
        git_dir = into.absolute() / ".git"
        lay_out_repository(git_dir, bare=False, settings=_COMMITTER)
        self._pack_objects(repo, commit, git_dir)
        (git_dir / "shallow").write_text(f"{commit}\n", encoding="ascii")
        (git_dir / "refs" / "heads" / BRANCH).write_text(f"{commit}\n", encoding="ascii")
        run_git(
            "read-tree",
            "--reset",
            "-u",
            "HEAD",
            purpose=f"write the files of {commit[:12]} of {shown(repo)}",
            environment=sealed_environment(git_dir, into.absolute()),
            cwd=into,
        )

    def pack(self, repo: str, commit: str) -> bytes:
        """Return a resolved commit alone, with all of its files, as git packs it.

        Raises:
            GitError: the commit is not in the cache.
        """
        return self._pack_objects(repo, commit)

    def read(self, repo: str, commit: str, path: str) -> bytes | None:
        """Return what a file holds at a resolved commit; ``None`` where there is none."""
        try:
            return run_git(
                "cat-file",
                "blob",
                f"{commit}:{path}",
                purpose=f"read {path} of {commit[:12]} of {shown(repo)}",
                environment=sealed_environment(self._mirror(_address(repo))),
            )
        except GitError:
            return None

    def has_path(self, repo: str, commit: str, path: str) -> bool:
        """Whether a file or a folder is there at a resolved commit."""
        try:
            run_git(
                "cat-file",
                "-e",
                f"{commit}:{path}",
                purpose=f"look for {path} in {commit[:12]} of {shown(repo)}",
                environment=sealed_environment(self._mirror(_address(repo))),
            )
        except GitError:
            return False
        return True

    def holds(self, repo: str, commit: str) -> bool:
        """Whether a commit, of a full id, is in the cache."""
        with self._locked(_address(repo)) as mirror:
            return _commit(mirror, [commit]) is not None

    def take_in(self, repo: str, pack: bytes) -> None:
        """Add a :meth:`pack` from another machine's cache, whose repository may be out of reach here.

        Raises:
            GitError: it is not whole.
        """
        with self._locked(_address(repo)) as mirror:
            _clear_wreckage(mirror)
            purpose = f"take in a commit of {shown(repo)}"
            run_git("index-pack", "--stdin", purpose=purpose, environment=sealed_environment(mirror), stdin=pack)

    def objects(self, repo: str) -> Path:
        """Return the object directory of a repository's mirror, which has to be treated as read-only."""
        return self._mirror(_address(repo)) / "objects"

    def _pack_objects(self, repo: str, commit: str, into: Path | None = None) -> bytes:
        """Return a commit's objects as a pack, or write it into another repository, on whatever disk that is."""
        mirror = self._mirror(_address(repo))
        purpose = f"read commit {commit[:12]} of {shown(repo)}"
        environment = sealed_environment(mirror)
        fix = "resolve it first, or remove the mirror's folder to have it fetched again"
        listed = run_git(
            "rev-list", "--objects", "--no-walk", commit, "--", purpose=purpose, fix=fix, environment=environment
        )
        if into is not None:
            # git writes a pack beside the objects of the repository that it runs in, and renames it.
            environment = sealed_environment(into) | {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(mirror / "objects")}
        # A checkout is made anew after a crash of the machine: nothing of it has to reach the disk in time.
        words = ("-c", "core.fsync=none", "pack-objects", "--quiet", into / "objects/pack/pack" if into else "--stdout")
        return run_git(*words, purpose=purpose, fix=fix, environment=environment, stdin=listed)

    def _mirror(self, address: str) -> Path:
        digest = hashlib.sha256(os.fsencode(address)).hexdigest()[:16]
        return self._root / f"{repository_name(address)}-{digest}.git"

    @contextmanager
    def _locked(self, address: str) -> Iterator[Path]:
        self._root.mkdir(parents=True, exist_ok=True)
        mirror = self._mirror(address)
        with FileLock(mirror.with_suffix(".lock")):
            if not (mirror / "HEAD").exists():
                lay_out_repository(mirror, bare=True)
            yield mirror


def _address(repo: str) -> str:
    """Return an address that means the same from every folder."""
    try:
        repository_address(repo)
    except ValueError as error:
        raise GitError(f"cannot use the repository: {error}") from None
    if "://" in repo or _SCP_LIKE.match(repo):
        return repo
    return str(Path(repo).expanduser().absolute())


def _quoted(path: Path) -> str:
    """Return a path as one of a list that git would part at colons (``git(1)``, on that variable)."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _checked_ref(ref: str) -> None:
    try:
        git_ref(ref)
    except ValueError as error:
        raise GitError(f"cannot use the ref: {error}") from None


def _named(mirror: Path, address: str, ref: str) -> str:
    """Return the commit of a ref; the mirror's branches and tags have just been fetched."""
    names = [f"refs/tags/{ref}", f"refs/heads/{ref}"]
    if _SHA.fullmatch(ref):
        names.insert(0 if _FULL_SHA.fullmatch(ref) else 2, ref)
    if found := _commit(mirror, names):
        return found
    # A commit or ref that no branch or tag leads to, such as refs/pull/7/head: a server may give it by name.
    kept = f"refs/extra/{hashlib.sha256(ref.encode()).hexdigest()}"
    _fetch(mirror, address, [f"+{ref}:{kept}"], f"that the ref {ref!r} is a tag, a branch or a full commit id there")
    if found := _commit(mirror, [kept]):
        return found
    raise GitError(f"cannot use {ref!r} of {shown(address)}: it is not a commit; give a tag, a branch or a commit id")


def _fetch(mirror: Path, address: str, refspecs: Sequence[str], check: str) -> None:
    local = [_UPLOAD_PACK] if address.startswith(("/", "file://")) else []
    run_git(
        "-c",
        # A pack appears at once and whole; loose objects appear one by one, and a killed fetch would leave some.
        "fetch.unpackLimit=1",
        f"--git-dir={mirror}",
        "fetch",
        "--quiet",
        "--no-tags",
        "--prune",
        "--force",
        "--update-shallow",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        *local,
        "--",
        address,
        *refspecs,
        purpose=f"fetch {shown(address)}",
        fix=f"check {check}",
        environment=users_environment() | {MARK: mirror.name},
        limit_seconds=FETCH_LIMIT_SECONDS,
    )


def _clear_wreckage(mirror: Path) -> None:
    """Remove what a killed fetch has left; the caller holds the lock, so that nobody else is fetching.

    A harness that is killed leaves its git running, which is why the locks' owner is stopped first.
    """
    places = (mirror.glob("*.lock"), (mirror / "refs").rglob("*.lock"), (mirror / "objects").rglob("tmp_*"))
    wreckage = [path for place in places for path in place]
    if wreckage:
        stop_marked(mirror.name)
    for path in wreckage:
        path.unlink(missing_ok=True)


def _commit(mirror: Path, names: Sequence[str]) -> str | None:
    """Return the commit that the first of the names that exists leads to."""
    printed = run_git(
        "cat-file",
        "--batch-check",
        purpose=f"read the mirror {mirror.name}",
        fix=f"remove {mirror} to have it fetched again",
        environment=sealed_environment(mirror),
        stdin="".join(f"{name}^{{commit}}\n" for name in names).encode(),
    )
    for line in printed.decode(errors="replace").splitlines():
        match line.split():
            case [sha, "commit", _]:
                return sha
    return None
