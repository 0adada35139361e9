"""Who asks a registry for the repository's own package is found, and who asks for others is not."""

from pathlib import Path

import pytest

from swetrials.agents.events import ToolCall
from swetrials.agents.integrity import Bounds, scan
from swetrials.agents.package_downloads import downloads, published_names
from swetrials.agents.shell_words import simple_commands
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.records.trajectory import TrajectoryAgent
from swetrials.records.usage import UsageReport
from swetrials.store.redaction import Redactor

NAMES = frozenset({"my-pack", "@own/pack"})


def asks(script: str) -> bool:
    return any(downloads(words[0].rpartition("/")[2], words[1:], NAMES) for words in simple_commands(script))


@pytest.mark.parametrize(
    "script",
    [
        "pip download My_Pack",
        "pip install --no-deps 'my.pack[all]>=2,<3'",
        "pip3.11 install -d /tmp/x my-pack==1.0",
        "pip index versions my-pack",
        "cd /tmp && python3 -I -m pip download my-pack --no-binary :all:",
        "/usr/bin/python -m pip install -t out other my-pack",
        "uv pip install my-pack",
        "uv add 'my-pack @ https://x.example/y'",
        "uv tool install my-pack",
        "uv run --with my-pack python -c 'import x'",
        "uv run --with=my-pack python",
        "uvx my-pack",
        "pipx run my-pack",
        "poetry add my-pack@^1",
        "npm view @own/pack dist.tarball",
        "npm pack @own/pack@2.0.0",
        "npm --registry https://r.example i @own/pack",
        "npm install alias@npm:@own/pack@1",
        "pnpm add @own/pack",
        "yarn info my-pack",
        "npx -y my-pack",
        "bash -lc 'timeout 60 pip download my-pack'",
        "curl -O https://files.example/m/my_pack-1.2.tar.gz",
        "python -m urllib.request https://files.example/my_pack-1.2-py3-none-any.whl",
    ],
)
def test_what_asks_for_it(script: str) -> None:
    assert asks(script)


@pytest.mark.parametrize(
    "script",
    [
        "pip install .",
        "pip install -e . pytest",
        "pip install -e my-pack",
        "pip install ./my-pack",
        "pip install my-pack-plugin",
        "pip install -r my-pack",
        "pip show my-pack",
        "pip uninstall my-pack",
        "pip",
        "python -m",
        "python -m my-pack install my-pack",
        "uv sync",
        "uv pip list my-pack",
        "uv run my-pack",
        "uv",
        "npm install",
        "npm run my-pack",
        "npm test -- my-pack",
        "npm",
        "npx",
        "grep -rn 'pip install my-pack' README.md",
        "cat > README.md <<'E'\npip install my-pack\nE",
        "curl https://docs.example/my-pack/index.html",
    ],
)
def test_what_does_not(script: str) -> None:
    assert not asks(script)


@pytest.mark.parametrize(
    ("manifests", "names"),
    [
        ({}, {"the-repo"}),
        (
            {"pyproject.toml": "[project]\nname = 'My_Pack'\n", "package.json": '{"name": "@own/Pack"}'},
            {"my-pack", "@own/pack"},
        ),
        ({"pyproject.toml": "[tool.poetry]\nname = 'a'\n", "setup.cfg": "[metadata]\nname = b\n"}, {"a", "b"}),
        ({"pyproject.toml": "name =", "setup.cfg": "x", "package.json": "["}, {"the-repo"}),
        ({"pyproject.toml": "project = 3", "setup.cfg": "[metadata]\n", "package.json": '{"name": 3}'}, {"the-repo"}),
        ({"package.json": "[" * 100_000}, {"the-repo"}),
    ],
)
def test_names_come_from_the_manifests(manifests: dict[str, str], names: set[str]) -> None:
    assert published_names(manifests, "the_repo") == names


@pytest.mark.parametrize(("packages", "codes"), [(NAMES, ["integrity_package"]), (frozenset[str](), [])])
def test_it_is_a_finding_where_registries_could_be_reached(packages: frozenset[str], codes: list[str]) -> None:
    recorder = TrajectoryRecorder("Do it.", Redactor())
    recorder.add([ToolCall("1", "Bash", {"command": "pip download my-pack"})])
    trajectory = recorder.trajectory(
        TrajectoryAgent(name="a", version="1"), session_id=None, usage=UsageReport(), cost_usd=None, notes="", extra={}
    )
    bounds = Bounds(checkout=Path("/tmp/checkout"), allowed=(), packages=packages)
    assert [finding.code for finding in scan(trajectory, bounds)] == codes
