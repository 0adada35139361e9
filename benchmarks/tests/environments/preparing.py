"""What tests of preparations share: a repository, an environment, and a command in an attempt of it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from swetrials.environments.base import Environment, View
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.preparation import Preparation, Preparations, Source
from swetrials.environments.work_context import WorkContext
from swetrials.records.environment import EnvironmentSpec
from swetrials.store.project import Project, find_project
from swetrials.store.redaction import Redactor
from swetrials.workspace.patch import make_patch
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import Space, attempt_space

_GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main")


def commit(folder: Path, files: dict[str, str]) -> str:
    """Make or go on with a repository, and return the new commit's id."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for words in (("init", "-q"), ("add", "-A", "-f"), ("commit", "-qm", "x")):
        subprocess.run([*_GIT, "-C", str(folder), *words], check=True, capture_output=True)
    return subprocess.run(
        [*_GIT, "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


@dataclass(frozen=True)
class Bench:
    """A folder with a repository, a store of preparations and a working folder of its own."""

    root: Path
    project: Project
    environment: Environment

    @classmethod
    def at(cls, root: Path, environment: Environment | None = None) -> "Bench":
        """Make one. The project's own folder is a new one, with the uv of the real one."""
        home = root / "project"
        (home / ".tools").mkdir(parents=True, exist_ok=True)
        if not (home / ".tools" / "uv").exists():
            (home / ".tools" / "uv").symlink_to(find_project().tools / "uv")
        project = Project(home, brought_along=root / "none")
        return cls(root, project, environment or BubblewrapEnvironment.here((project.private,), ()))

    @property
    def repo(self) -> Path:
        """The subject repository."""
        return self.root / "subject"

    @property
    def work_root(self) -> Path:
        """The working folder."""
        folder = self.root / "work"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def preparations(self, *, limit_seconds: float = 120, max_gb: float = 20, **user: str) -> Preparations:
        """Return what prepares."""
        repositories = Repositories.below(self.work_root)
        place = WorkContext(repositories, self.work_root, self.environment, Redactor(), self.project, max_gb)
        return Preparations(place, {**os.environ, **user}, limit_seconds)

    def source(self, commit_id: str, **spec: object) -> Source:
        """Return what is prepared: an environment at a commit of the repository."""
        Repositories.below(self.work_root).resolve(str(self.repo), commit_id)
        return Source(EnvironmentSpec.model_validate(spec), str(self.repo), commit_id)

    async def attempt(
        self, preparation: Preparation, source: Source, script: str, *, place: Sequence[str] = ()
    ) -> "Tried":
        """Run a shell's script in a new attempt, with the network cut, and return what came of it."""
        with attempt_space(self.work_root, f"try-{os.urandom(4).hex()}") as space:
            repositories = Repositories.below(self.work_root)
            repositories.check_out(source.repo, source.commit, space.checkout)
            for name in place:
                (space.checkout / name).parent.mkdir(parents=True, exist_ok=True)
                (space.checkout / name).write_text("placed\n")
            view = await preparation.attach(self.environment.view(space, "subject"))
            said = self.run(view, space, preparation, script)
            patch = make_patch(repositories, source.repo, source.commit, space.checkout, view.prepared).diff
        assert not space.root.exists(), "something of the attempt is left"
        return Tried(said, patch.decode())

    def run(self, view: View, space: Space, preparation: Preparation, script: str) -> str:
        """Run a script in a view, and return what it printed."""
        command = self.environment.command(
            ["sh", "-c", script],
            view,
            variables={},
            writable=(space.checkout, space.home, space.temporary),
            shown=preparation.shown,
        )
        done = subprocess.run(
            command.argv, cwd=command.cwd, env=dict(command.environment), capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@dataclass(frozen=True)
class Tried:
    """What a script printed, and the patch that it left."""

    said: str
    patch: str


def held(bench: Bench, source: Source, script: str = "true", **how: object) -> tuple[Preparation, str, str]:
    """Hold a preparation, run a script in an attempt, and return it, what the script said, and the patch."""

    async def hold() -> tuple[Preparation, str, str]:
        async with bench.preparations(**how).holding(source) as preparation:  # type: ignore[arg-type]
            tried = await bench.attempt(preparation, source, script)
            return preparation, tried.said, tried.patch

    return anyio.run(hold)


def elsewhere(bench: Bench, head: str, setup: str, script: str = "true") -> subprocess.Popen[str]:
    """Do what :func:`held` does in a process of its own, which prints whether it prepared, and what the script said."""
    program = (
        "import pathlib, sys; from environments.preparing import Bench, held; "
        "root, head, setup, script = sys.argv[1:]; bench = Bench.at(pathlib.Path(root)); "
        "preparation, said, _ = held(bench, bench.source(head, setup=[['sh', '-c', setup]]), script); "
        "print(preparation.new, said)"
    )
    words = (sys.executable, "-c", program, str(bench.root), head, setup, script)
    return subprocess.Popen(words, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True)
