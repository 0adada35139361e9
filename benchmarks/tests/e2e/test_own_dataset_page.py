"""README's dataset of one's own, typed as it stands: with pyenv's Python and the system's, as two users."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.harness import BENCHMARKS, needs_agent
from swetrials.environments.bubblewrap import Bubblewrap, probe
from swetrials.environments.preparation_store import PreparationStore
from swetrials.store.project import Project, find_project
from swetrials.store.results import TrialFolder
from workspace.sources import commit_all, git, new_repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    needs_agent("claude"),
    pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here"),
]

REPOSITORY = BENCHMARKS.parent
PYTHON = "3.11"  # the page's
KEPT = re.compile(r"(PIP|UV|SSL|REQUESTS|CURL)_.*|LANG|(?i:.*_proxy)")
PROJECT = """\
[project]
name = "orders"
version = "4.2.0"
dependencies = ["packaging"]
optional-dependencies.tests = ["pytest"]

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
py-modules = ["orders"]
"""
ORDERS = "from packaging.version import Version\n\n\ndef orders():\n    return [Version('1')] * 60\n"
HIDDEN = "from orders import orders\n\n\ndef test_cursor():\n    assert len(orders()) == 50\n"

PythonOf = Callable[[Path], tuple[Path, tuple[Path, ...]]]
"""Gives, for a home, an interpreter and the folders by which it is on somebody's PATH."""


@dataclass(frozen=True)
class Person:
    """Somebody with a home and a clone of the project, installed with a Python of their choice."""

    root: Path
    python: Path
    path: tuple[Path, ...] = ()
    user: tuple[int, int] | None = None

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def clone(self) -> Path:
        return self.root / "clone" / "benchmarks"

    def types(self, line: str, seconds: float = 300) -> str:
        """Return what a line typed into a shell prints, which has to work."""
        places = (self.clone / ".venv" / "bin", *self.path, "/usr/local/bin", "/usr/bin", "/bin")
        kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
        environment = {**kept, "HOME": str(self.home), "PATH": os.pathsep.join(map(str, places))}
        user, group = self.user or (None, None)
        done = subprocess.run(
            ["sh", "-c", line], cwd=self.home, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=seconds, check=False,
            user=user, group=group, extra_groups=[] if self.user else None,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


def shown() -> tuple[str, list[str]]:
    """Return the page's dataset, and the lines that it says to type."""
    page = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = page.partition("\n## Datasets of your own\n")[2].partition("\n## ")[0]
    [dataset] = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    [lines] = re.findall(r"```\n(swetrials .*?)```", section, re.DOTALL)
    return dataset, lines.splitlines()


def systems_python(home: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return the interpreter that the system's packages brought, which is on everybody's PATH."""
    python = Path("/usr/bin", f"python{PYTHON}")
    if not python.exists():
        pytest.skip(f"the system has no Python {PYTHON}")
    return python, ()


def pyenvs_python(home: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return an interpreter in somebody's home, as pyenv would have put it, and the folder of its launchers."""
    own, version = Path(sys.base_prefix), "{}.{}.{}".format(*sys.version_info)
    if own == Path("/usr") or not version.startswith(f"{PYTHON}."):
        pytest.skip(f"these tests do not run under a Python {PYTHON} of its own folder")
    prefix, shims = home / ".pyenv" / "versions" / version, home / ".pyenv" / "shims"
    unneeded = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a")
    shutil.copytree(own / "lib", prefix / "lib", symlinks=True, ignore=unneeded)
    (prefix / "lib" / f"python{PYTHON}" / "site-packages").mkdir()
    shutil.copytree(own / "include", prefix / "include", symlinks=True)
    (prefix / "bin").mkdir()
    shims.mkdir()
    # A build with a library of its own looks for it by its full name, which another user may not get to.
    library = os.fsencode(own / "lib")
    program = (own / "bin" / f"python{PYTHON}").read_bytes()
    (prefix / "bin" / f"python{PYTHON}").write_bytes(
        program.replace(library + b"\0", b"$ORIGIN/../lib".ljust(len(library) + 1, b"\0"))
    )
    (prefix / "bin" / f"python{PYTHON}").chmod(0o755)
    for name in ("python", "python3"):
        (prefix / "bin" / name).symlink_to(f"python{PYTHON}")
    for name in ("python", "python3", f"python{PYTHON}"):
        (shims / name).write_text(f'#!/bin/sh\nexec "{prefix}/bin/{name}" "$@"\n')
        (shims / name).chmod(0o755)
    return prefix / "bin" / f"python{PYTHON}", (shims,)


def install(person: Person) -> None:
    """Make the person's clone, with the agents that are installed here."""
    for name in (".claude", "docs", *(f"benchmarks/{part}" for part in ("src", "config", "dataset"))):
        unneeded = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, person.clone.parent / name, symlinks=True, ignore=unneeded)
    for name in ("pyproject.toml", "uv.lock", "README.md"):
        shutil.copy2(BENCHMARKS / name, person.clone / name)
    tools = find_project().tools
    for name in ("claude-code", "uv"):
        subprocess.run(["cp", "-a", str(tools / name), str(person.clone / ".tools" / name)], check=True)
    environment = {
        **os.environ, "UV_CACHE_DIR": str(tools / "cache" / "uv"),
        "UV_PROJECT_ENVIRONMENT": str(person.clone / ".venv"), "UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy",
    }  # fmt: skip
    environment.pop("VIRTUAL_ENV", None)
    uv = shutil.which("uv") or str(tools / "uv" / "bin" / "uv")
    words = [uv, "sync", "--quiet", "--frozen", "--no-dev", "--python", str(person.python)]
    done = subprocess.run(words, cwd=person.clone, env=environment, capture_output=True, text=True, check=False)
    if re.search(r"Failed to fetch|[Rr]equest failed", done.stderr):
        pytest.skip(f"no package registry is reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def lay_out(person: Person, dataset: str) -> None:
    """Write what the page shows, and make the repository that it names."""
    backend = new_repository(person.root / "upstream" / "our" / "backend.git")
    (backend / "pyproject.toml").write_text(PROJECT)
    (backend / "orders.py").write_text(ORDERS)
    (backend / ".gitignore").write_text("*.egg-info\n__pycache__\n")
    commit_all(backend, "orders")
    git(backend, "tag", "v4.2.0")
    (backend / "orders.py").write_text(ORDERS.replace("60", "50"))
    (person.home / "solutions").mkdir()
    (person.home / "solutions" / "paginate-orders.patch").write_text(f"{git(backend, 'diff')}\n")
    (person.home / "our-backend.yaml").write_text(dataset)
    (person.home / "hidden").mkdir()
    (person.home / "hidden" / "test_orders.py").write_text(HIDDEN)


def another_user() -> tuple[int, int]:
    """Return the numbers of an ordinary user and of their group."""
    others = [entry for entry in pwd.getpwall() if 1000 <= entry.pw_uid < 60_000]
    return (others[0].pw_uid, others[0].pw_gid) if others else (60_123, 60_123)


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that every user can get to."""
    with tempfile.TemporaryDirectory(prefix="own-dataset-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("who", ["myself", "another"])
@pytest.mark.parametrize("kind", [pyenvs_python, systems_python], ids=["pyenv", "system"])
def test_the_page_works_as_it_is_typed(who: str, kind: PythonOf, root: Path) -> None:
    if who == "another" and os.geteuid() != 0:
        pytest.skip("only root can try it as another user")
    (root / "home").mkdir()
    (root / "clone" / "benchmarks" / ".tools").mkdir(parents=True)
    python, path = kind(root / "home")
    person = Person(root, python, path, another_user() if who == "another" else None)
    dataset, lines = shown()
    install(person)
    lay_out(person, dataset)
    if person.user is not None:
        subprocess.run(["chown", "-R", "{}:{}".format(*person.user), str(root)], check=True)
    person.types(f"git config --global url.file://{root}/upstream/.insteadOf https://git.example/")

    said = [person.types(line) for line in lines]
    assert "our-backend.yaml: valid" in said[0]
    assert said[1].endswith("checked: 1 task holds, 0 refused, 0 unproven -> our-backend.checked.json\n"), said[1]
    assert "preparation  ok   backend: python 3.11, 1 setup command, kept from before" in said[2]
    assert "sealing      ok   proven" in said[2]
    assert "controls     ok   1 task checked on" in said[2]

    [file] = root.rglob("paginate-orders/metrics.json")
    record = TrialFolder(file.parent).metrics()
    assert record.environment is not None and record.environment.kind == "bubblewrap"
    assert record.evaluation is not None and record.evaluation.tests is not None
    tests = record.evaluation.tests
    assert (tests.status, tests.passed, len(tests.results)) == ("scored", False, 1)
    assert "FAILED tests/test_orders.py::test_cursor" in tests.results[0].output_tail, tests.results[0].output_tail
    [kept] = PreparationStore.of(Project(person.clone)).stored()
    assert kept.record.python == str(python.resolve())
