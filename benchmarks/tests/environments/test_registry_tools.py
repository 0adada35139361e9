"""The real pip, uv, npm and git reach a registry by the meter's proxy, and nothing that is not listed."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from environments.tiny_registry import PACKAGE, TinyRegistry, make_certificates, tiny_registry
from swetrials.environments.registries import proxy_variables, registry_settings
from swetrials.wire.meter import RegistryWay, registry_way
from wire.meter.namespaces import inside, network_namespace, socket_inside

pytestmark = pytest.mark.anyio

_UV = Path(__file__).parents[2] / ".tools" / "uv" / "bin" / "uv"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(params=[pytest.param("http", marks=pytest.mark.slow), "https"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TinyRegistry]:
    """A registry of each scheme; ``ca.pem`` in the test's folder vouches for it."""
    folder = tmp_path / "registry"
    folder.mkdir()
    if request.param == "https" and shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    tls = make_certificates(tmp_path)[0] if request.param == "https" else None
    with tiny_registry(folder, tls) as served:
        yield served


def pip(url: str, folder: Path) -> list[str]:
    pip = shutil.which("pip3") or shutil.which("pip")
    if pip is None:
        pytest.skip("pip is not installed")
    (folder / "home/.config/pip").mkdir(parents=True)
    (folder / "home/.config/pip/pip.conf").write_text(f"[global]\nindex-url = {url}/simple\n")
    return [pip, "--retries", "0", "download", "--no-cache-dir", "-d", str(folder / "got"), PACKAGE]


def uv(url: str, folder: Path) -> list[str]:
    uv = str(_UV) if _UV.exists() else shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    (folder / "home/.config/uv").mkdir(parents=True)
    (folder / "home/.config/uv/uv.toml").write_text(f'[[index]]\nname = "own"\nurl = "{url}/simple"\ndefault = true\n')
    return [uv, "pip", "install", "--no-cache", "--python", sys.executable, "--target", str(folder / "got"), PACKAGE]


def npm(url: str, folder: Path) -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    (folder / "home").mkdir()
    (folder / "home/.npmrc").write_text(f"; own\nregistry = {url}/\n")
    return [npm, "install", "--fetch-retries", "0", "--no-audit", "--prefix", str(folder / "got"), PACKAGE]


def git(url: str, folder: Path) -> list[str]:
    (folder / "home").mkdir()
    return ["git", "clone", "-q", f"{url}/repository.git", str(folder / "got")]


Tool = Callable[[str, Path], list[str]]


async def run(argv: list[str], folder: Path, variables: Mapping[str, str], way: RegistryWay) -> tuple[int, str]:
    """Run a tool with a home of its own and by the proxy."""
    (folder / "own-home").mkdir()
    authority = str(folder / "ca.pem")
    trusted = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"), authority)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "own-home"),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
        "UV_HTTP_RETRIES": "0",
        **variables,
        **(trusted if Path(authority).exists() else {}),
        **proxy_variables(way.proxy_url),
    }
    running = await asyncio.create_subprocess_exec(
        *argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = (await running.communicate())[0].decode()
    return running.returncode or 0, said


@pytest.mark.parametrize("tool", [pip, uv, npm, git])
async def test_a_tool_reaches_what_the_machine_is_configured_with(
    tool: Tool, registry: TinyRegistry, tmp_path: Path
) -> None:
    argv = tool(registry.url, tmp_path)
    settings = registry_settings(
        [registry.host] if tool is git else [], {"PATH": os.environ["PATH"]}, tmp_path / "home", tmp_path / "etc"
    )
    assert registry.host in settings.hosts
    async with registry_way(settings.hosts) as way:
        code, said = await run(argv, tmp_path, settings.variables, way)
        counted = {traffic.host: traffic for traffic in way.registries()}
    assert code == 0, said
    assert any((tmp_path / "got").iterdir())
    assert registry.paths
    assert counted[registry.host].connections > 0
    assert counted[registry.host].received_bytes > 100
    assert [traffic.refused + traffic.failed for traffic in counted.values()] == [0] * len(counted)


@pytest.mark.parametrize("tool", [pip, uv, npm, git])
async def test_a_tool_reaches_nothing_else(tool: Tool, registry: TinyRegistry, tmp_path: Path) -> None:
    argv = tool(registry.url, tmp_path)
    variables = registry_settings([], {"PATH": os.environ["PATH"]}, tmp_path / "home", tmp_path / "etc").variables
    async with registry_way({"listed.example"}) as way:
        code, _ = await run(argv, tmp_path, variables, way)
        [traffic] = way.registries()
    assert code != 0
    assert registry.paths == []
    assert (traffic.host, traffic.connections) == (registry.host, 0)
    assert traffic.refused > 0


async def test_uv_reaches_it_from_a_namespace_without_a_network(registry: TinyRegistry, tmp_path: Path) -> None:
    argv = uv(registry.url, tmp_path)
    settings = registry_settings([], {"PATH": os.environ["PATH"]}, tmp_path / "home", tmp_path / "etc")
    with network_namespace() as process_id:
        async with registry_way(settings.hosts, port=4711) as way:
            await way.serve(socket_inside(process_id, 4711))
            code, said = await run([*inside(process_id), *argv], tmp_path, settings.variables, way)
            [traffic] = way.registries()
    assert code == 0, said
    assert (traffic.host, traffic.refused) == (registry.host, 0)
