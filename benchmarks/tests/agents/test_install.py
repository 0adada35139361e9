"""Installing agents: real npm and real uv against a registry on loopback and a folder of wheels."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from swetrials.agents import install as install_module
from swetrials.agents.install import InstallError, Package, Wheel, find, install
from swetrials.agents.packages import CLAUDE, CODEX
from swetrials.store.project import find_project

PROGRAM = b"#!/bin/sh\necho tiny 1.2.3\n"

TINY = Package(
    name="tiny",
    npm="@tiny/agent",
    version="1.2.3",
    executable="node_modules/@tiny/agent/bin/tiny*",
    wheel=None,
)
TINY_WITH_WHEEL = replace(TINY, wheel=Wheel("tiny-agent-sdk", "0.1.0", "tiny_agent_sdk/tiny"))


@dataclass
class Registry:
    """A registry of one package that counts what it is asked."""

    url: str
    downloads: list[str]


def npm_archive() -> bytes:
    """Return the tarball of a package with one program, and with a script that must not run."""
    manifest = {"name": TINY.npm, "version": TINY.version, "scripts": {"postinstall": "touch ../../../../script-ran"}}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data, mode in (
            ("package/package.json", json.dumps(manifest).encode(), 0o644),
            ("package/bin/tiny-here", PROGRAM, 0o755),
        ):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Registry]:
    """Serve the package on loopback, to an npm with an empty home."""
    archive = npm_archive()
    downloads: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = f"http://{self.headers['Host']}"
            if self.path == "/@tiny%2fagent":
                integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
                dist = {"tarball": f"{host}/tiny.tgz", "integrity": integrity}
                manifest = {"name": TINY.npm, "version": TINY.version, "dist": dist, "hasInstallScript": True}
                body = json.dumps({"name": TINY.npm, "versions": {TINY.version: manifest}, "dist-tags": {}}).encode()
            elif self.path == "/tiny.tgz":
                downloads.append(self.path)
                body = archive
            else:
                return self.send_error(404)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("npm_config_registry", url)
    yield Registry(url, downloads)
    server.shutdown()
    server.server_close()


@pytest.fixture
def no_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave uv and a shell on PATH, with a folder of wheels as its only index, and no npm."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "tiny_agent_sdk-0.1.0.dist-info"
    with zipfile.ZipFile(wheels / "tiny_agent_sdk-0.1.0-py3-none-any.whl", "w") as wheel:
        program = zipfile.ZipInfo("tiny_agent_sdk/tiny")
        program.external_attr = 0o100755 << 16
        wheel.writestr(program, PROGRAM)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-agent-sdk\nVersion: 0.1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uv").symlink_to(real_uv())
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    monkeypatch.setenv("UV_NO_CONFIG", "1")


def real_uv() -> Path:
    """Return the uv that the project itself would use."""
    script = find_project().root / "scripts" / "uv.sh"
    asked = subprocess.run(
        [script, "run", "--no-project", "--quiet", "printenv", "UV"], capture_output=True, check=True
    )
    return Path(asked.stdout.decode().strip())


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert find(TINY, tmp_path) is None
    assert everything_below(tmp_path) == []


def test_npm_installs_into_the_tools_folder_alone(registry: Registry, tmp_path: Path) -> None:
    tools, said = tmp_path / "tools", list[str]()

    installed = install(TINY, tools, said.append)

    assert installed.version == "1.2.3"
    assert subprocess.run([installed.binary], capture_output=True, check=True).stdout == b"tiny 1.2.3\n"
    assert find(TINY, tools) == installed
    assert said == ["installing tiny 1.2.3 (npm, one time)"]
    assert sorted(path.name for path in tools.iterdir()) == ["cache", "tiny", "tiny.lock"]
    assert everything_below(tmp_path / "home") == []
    assert not list(tmp_path.rglob("script-ran"))


def test_a_second_installation_does_nothing_and_says_nothing(registry: Registry, tmp_path: Path) -> None:
    first = install(TINY, tmp_path / "tools", lambda line: None)
    said: list[str] = []

    assert install(TINY, tmp_path / "tools", said.append) == first

    assert said == []
    assert registry.downloads == ["/tiny.tgz"]


def test_two_at_once_install_once(registry: Registry, tmp_path: Path) -> None:
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: install(TINY, tmp_path / "tools", said.append), range(2)))

    assert both[0] == both[1]
    assert len(said) == 1
    assert registry.downloads == ["/tiny.tgz"]


def test_a_machine_that_installs_globally_is_overruled(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_global", "true")
    monkeypatch.setenv("npm_config_omit", "optional")
    assert install(TINY, tmp_path / "tools", lambda line: None).binary.is_relative_to(tmp_path / "tools" / "tiny")


def test_another_version_is_replaced(registry: Registry, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    old = tools / "tiny" / "node_modules" / "@tiny" / "agent"
    (old / "bin").mkdir(parents=True)
    (old / "package.json").write_text('{"version": "1.2.2"}')
    (old / "bin" / "tiny-here").write_bytes(PROGRAM)
    (old / "bin" / "tiny-here").chmod(0o755)
    (old / "left-over").touch()
    assert find(TINY, tools) is None

    install(TINY, tools, lambda line: None)

    assert find(TINY, tools) is not None
    assert not (old / "left-over").exists()


def test_what_an_interruption_left_is_cleared(registry: Registry, tmp_path: Path) -> None:
    partial = tmp_path / "tools" / "tiny.partial"
    partial.mkdir(parents=True)
    (partial / "half-a-file").touch()

    install(TINY, tmp_path / "tools", lambda line: None)

    assert not partial.exists()
    assert not list((tmp_path / "tools").rglob("half-a-file"))


@pytest.mark.parametrize("manifest", [b"", b"{}", b"[]", b'{"version": 3}', b"\xff"])
def test_a_broken_manifest_counts_as_not_installed(manifest: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "tiny" / "node_modules" / "@tiny" / "agent"
    folder.mkdir(parents=True)
    (folder / "package.json").write_bytes(manifest)
    assert find(TINY, tmp_path) is None


def test_npm_says_in_one_line_why_it_failed(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(InstallError) as caught:
        install(replace(TINY, npm="@tiny/absent"), tmp_path / "tools", lambda line: None)

    message = str(caught.value)
    assert message.startswith("tiny: npm could not install @tiny/absent 1.2.3: ")
    assert "404" in message
    assert "\n" not in message
    assert sorted(path.name for path in (tmp_path / "tools").iterdir()) == ["cache", "tiny.lock"]


def test_a_package_without_its_program_is_an_error(registry: Registry, tmp_path: Path) -> None:
    package = replace(TINY, executable="node_modules/@tiny/agent/bin/other")
    with pytest.raises(InstallError, match=r"no program for this machine in @tiny/agent 1\.2\.3"):
        install(package, tmp_path / "tools", lambda line: None)


def test_the_wheel_serves_where_npm_is_missing(no_npm: None, tmp_path: Path) -> None:
    tools, said = tmp_path / "tools", list[str]()

    installed = install(TINY_WITH_WHEEL, tools, said.append)

    assert installed.version == "1.2.3"
    assert os.access(installed.binary, os.X_OK)
    assert find(TINY_WITH_WHEEL, tools) == installed
    assert said == ["installing tiny 1.2.3 (wheel of tiny-agent-sdk 0.1.0, one time)"]


def test_the_wheel_serves_where_npm_fails(registry: Registry, no_npm: None, tmp_path: Path) -> None:
    npm = tmp_path / "programs" / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n")
    npm.chmod(0o755)
    said: list[str] = []

    install(TINY_WITH_WHEEL, tmp_path / "tools", said.append)

    assert [line.split(" (")[1] for line in said] == ["npm, one time)", "wheel of tiny-agent-sdk 0.1.0, one time)"]


def test_without_npm_and_wheel_the_error_says_what_is_needed(no_npm: None, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="tiny: npm is needed and was not found: install Node"):
        install(TINY, tmp_path / "tools", lambda line: None)


def test_a_missing_wheel_names_both_failures(no_npm: None, tmp_path: Path) -> None:
    package = replace(TINY, wheel=Wheel("tiny-agent-sdk", "9.9.9", "tiny_agent_sdk/tiny"))
    with pytest.raises(InstallError) as caught:
        install(package, tmp_path / "tools", lambda line: None)
    assert "npm is needed" in str(caught.value)
    assert "no version of tiny-agent-sdk==9.9.9" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_noticed_before_the_download(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_module, "FREE_BYTES_NEEDED", 10**18)
    with pytest.raises(InstallError, match=r"GB free below .*, 1000000000 GB needed: make room"):
        install(TINY, tmp_path / "tools", lambda line: None)
    assert registry.downloads == []


@pytest.mark.slow
@pytest.mark.parametrize("package", [CLAUDE, CODEX], ids=lambda package: package.name)
def test_the_installed_program_is_the_pinned_version(package: Package, tmp_path: Path) -> None:
    installed = find(package, find_project().tools)
    assert installed is not None, "run: make setup"

    environment = {"HOME": str(tmp_path), "PATH": os.defpath}
    said = subprocess.run([installed.binary, "--version"], env=environment, capture_output=True, check=True).stdout

    assert package.version in said.decode()
