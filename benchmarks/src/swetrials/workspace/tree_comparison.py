"""A commit held against a work tree: what has changed, what is new, what is ignored, and what cannot be kept."""

import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from swetrials.records.metrics import NotKept
from swetrials.workspace.agents_git import tracked_by_agent
from swetrials.workspace.commit_files import GITLINK, Blob, contents_of, files_of, shown_path
from swetrials.workspace.git import lay_out_repository, run_git, sealed_environment
from swetrials.workspace.ignore_rules import ignored_by, is_rules, rules_left
from swetrials.workspace.patch_size import fitting
from swetrials.workspace.work_tree import LINK, CannotKeepError, WorkTree, blob_of, folders_of

_REMOVED = Blob(b"0", b"0" * 40)


@dataclass
class TreeComparison:
    """A commit, the work tree that began with it, and an index of our own that becomes what the work tree is.

    git sees neither the work tree nor its ``.git``: files are read here, and stored as git would store them.

    Attributes:
        tree: the work tree.
        commit: the full id.
        most_bytes: what a patch may have.
        git_dir: a repository of ours, which reads the objects of the cache and keeps new ones for itself.
        before: the commit's files, without its submodules.
        changed: what is otherwise in the work tree.
        not_kept: what should be in the patch and cannot.
    """

    tree: WorkTree
    commit: str
    most_bytes: int
    git_dir: Path
    before: dict[bytes, Blob]
    changed: dict[bytes, Blob] = field(default_factory=dict)
    not_kept: list[NotKept] = field(default_factory=list)

    @classmethod
    @contextmanager
    def of(cls, tree: WorkTree, commit: str, objects: Path, most_bytes: int) -> Iterator["TreeComparison"]:
        """Open a comparison, with a folder of its own that is thrown away.

        Raises:
            GitError: the commit cannot be read.
        """
        with tempfile.TemporaryDirectory() as folder:
            git_dir = Path(folder) / "git"
            lay_out_repository(git_dir, bare=True, alternate=objects)
            files = files_of(commit, sealed_environment(git_dir))
            before = {path: blob for path, blob in files.items() if blob.mode != GITLINK}
            yield cls(tree, commit, most_bytes, git_dir, before)

    def compare_tracked(self) -> None:
        """Note what has become of the commit's files. What nobody can look at counts as it is in the commit."""
        self.not_kept += [
            NotKept(path=shown_path(folder), reason=why) for folder, why in sorted(self.tree.closed.items())
        ]
        for path, blob in self.before.items():
            if path in self.tree.found:
                self._keep(path, blob)
            elif not self.tree.is_closed(path):
                self.changed[path] = _REMOVED

    def new_files(self, prepared: Set[bytes]) -> set[bytes]:
        """Return the files and links that the commit does not have, without those that were prepared."""
        new = {path for path in self.tree.found if path not in self.before and self.tree.is_content(path)}
        if not prepared:
            return new
        return {path for path in new if path not in prepared and prepared.isdisjoint(folders_of(path))}

    def ignored(self, new: Set[bytes], earlier: bytes) -> set[bytes]:
        """Return those new files that are ignored and no work; see :func:`swetrials.workspace.patch.make_patch`.

        Raises:
            GitError: git failed.
        """
        environment = sealed_environment(self.git_dir)
        rules = {path: blob for path, blob in self.before.items() if is_rules(path) and blob.mode != LINK}
        texts = contents_of((blob.oid for blob in rules.values()), environment)
        commits = {path: texts[blob.oid] for path, blob in rules.items()}
        scratch = self.git_dir.parent
        ignored = ignored_by(commits, sorted(new), self.git_dir, scratch / "commits-rules")
        if ignored and (left := rules_left(self.tree)) != commits:
            ignored = ignored_by(left, sorted(ignored), self.git_dir, scratch / "left-rules")
        if not ignored:
            return set()
        return ignored - tracked_by_agent(self.tree.root, self.commit) - self._files_of_patch(earlier)

    def add_new(self, new: Iterable[bytes]) -> None:
        """Note new files, without the largest where together they are larger than a patch may be."""
        by_size = sorted(new, key=lambda path: (-self.tree.found[path].st_size, path))
        total = sum(self.tree.found[path].st_size for path in by_size)
        for path in by_size:
            if total > self.most_bytes:
                total -= self.tree.found[path].st_size
                self._leave_out(path)
            else:
                self._keep(path, None)

    def difference(self) -> bytes:
        """Return the patch, without the largest of its files where it would be too large.

        Raises:
            GitError: git failed.
        """
        if not self.changed:
            return b""
        environment = sealed_environment(self.git_dir)
        run_git("read-tree", self.commit, purpose=f"read commit {self.commit[:12]}", environment=environment)
        # First what is removed: a file may stand where a folder was, and a folder where a file was.
        changes = sorted(self.changed.items(), key=lambda change: (change[1] is not _REMOVED, change[0]))
        lines = b"".join(b"%s %s\t%s\0" % (blob.mode, blob.oid, path) for path, blob in changes)
        words = ("update-index", "-z", "--index-info")
        run_git(*words, purpose="note the changed files", environment=environment, stdin=lines)
        with (self.git_dir.parent / "patch").open("w+b") as file:
            self._diff("--binary", "--full-index", stdout=file)
            if file.seek(0, os.SEEK_END) <= self.most_bytes:
                file.seek(0)
                return file.read()
            fields = self._diff("--name-status", "-z").split(b"\0")
            patch, left_out = fitting(file, dict(zip(fields[1::2], fields[::2], strict=False)), self.most_bytes)
        for path in left_out:
            self._leave_out(path)
        return patch

    def _keep(self, path: bytes, before: Blob | None) -> None:
        try:
            blob = self._blob(path, before)
        except CannotKeepError as error:
            self.not_kept.append(NotKept(path=shown_path(path), reason=str(error)))
            return
        if blob != before:
            self.changed[path] = blob

    def _blob(self, path: bytes, before: Blob | None) -> Blob:
        if self.tree.is_file(path) and self.tree.found[path].st_size > self.most_bytes:
            if before is None or not self._is_as_before(path, before):
                raise CannotKeepError(self._too_large(path))
            return Blob(self.tree.mode(path), before.oid)
        data = self.tree.read(path)
        blob = blob_of(data, self.tree.mode(path))
        if before is None or blob.oid != before.oid:
            _store(self.git_dir / "objects", blob, data)
        return blob

    def _is_as_before(self, path: bytes, before: Blob) -> bool:
        words = ("cat-file", "-s", before.oid.decode())
        size = run_git(*words, purpose="read the size of a file", environment=sealed_environment(self.git_dir))
        return int(size) == self.tree.found[path].st_size and self.tree.oid_of_large(path) == before.oid

    def _leave_out(self, path: bytes) -> None:
        self.not_kept.append(NotKept(path=shown_path(path), reason=self._too_large(path)))

    def _too_large(self, path: bytes) -> str:
        found = self.tree.found.get(path)
        size = f"has {found.st_size:,} bytes" if found is not None else "was removed"
        return f"{size}, and a patch may have {self.most_bytes:,}"

    def _files_of_patch(self, patch: bytes) -> set[bytes]:
        if not patch.strip():
            return set()
        words = ("apply", "--numstat", "-z")
        environment = sealed_environment(self.git_dir)
        listed = run_git(*words, purpose="read the earlier patch", environment=environment, stdin=patch)
        return {entry.split(b"\t", 2)[2] for entry in listed.split(b"\0") if entry}

    def _diff(self, *words: str, stdout: IO[bytes] | None = None) -> bytes:
        return run_git(
            "diff",
            "--cached",
            # As a rename, a file that moves into a folder of its own former name does not apply.
            "--no-renames",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
            *words,
            self.commit,
            "--",
            purpose="compare the work tree with the commit",
            environment=sealed_environment(self.git_dir),
            stdout=stdout,
        )


def _store(objects: Path, blob: Blob, data: bytes) -> None:
    """Add a blob to a repository as a loose object (``gitformat-loose(5)``)."""
    name = blob.oid.decode()
    place = objects / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    packer = zlib.compressobj(1)
    place.write_bytes(packer.compress(b"blob %d\0" % len(data)) + packer.compress(data) + packer.flush())
