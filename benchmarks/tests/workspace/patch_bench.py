"""A repository at one commit, checkouts of it, and the patches that are made of those."""

from pathlib import Path
from typing import Any

from swetrials.workspace.patch import WorkPatch, apply_patch, make_patch
from swetrials.workspace.repositories import Repositories
from workspace.ordinary import as_ordinary_user
from workspace.sources import git


class Bench:
    """One repository at one commit, and as many checkouts of it as a test wants."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        self.repo = str(source)
        self.repositories = Repositories(folder / "mirrors")
        self.commit = self.repositories.resolve(self.repo, "main")
        self._made = 0

    def checkout(self) -> Path:
        self._made += 1
        folder = self.folder / f"checkout{self._made}"
        self.repositories.check_out(self.repo, self.commit, folder)
        return folder

    def made(self, work_tree: Path, **more: Any) -> WorkPatch:  # noqa: ANN401
        return make_patch(self.repositories, self.repo, self.commit, work_tree, **more)

    def made_as_ordinary_user(self, work_tree: Path) -> WorkPatch:
        return as_ordinary_user(make_patch, self.repositories, self.repo, self.commit, work_tree)

    def patch(self, work_tree: Path) -> bytes:
        return self.made(work_tree).diff

    def applied(self, patch: bytes) -> Path:
        """Return a fresh checkout with the patch, which git itself has found to apply."""
        fresh = self.checkout()
        if patch:
            git(fresh, "apply", "--check", "-", stdin=patch)
        apply_patch(fresh, patch)
        return fresh
