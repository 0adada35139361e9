"""A package registry on loopback, for pip, uv, npm and git: a folder of files behind an HTTP server."""

import base64
import hashlib
import http.server
import io
import json
import ssl
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

ADDRESS = "127.0.0.2"
"""On loopback, and yet none of the names for which clients leave their proxy aside."""

PACKAGE = "tinypackage"


@dataclass
class TinyRegistry:
    """Where a registry is, and what it was asked for."""

    url: str
    paths: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        """As an allow-list has it."""
        return urlsplit(self.url).netloc


@contextmanager
def tiny_registry(folder: Path, tls: ssl.SSLContext | None = None) -> Iterator[TinyRegistry]:
    """Serve one package of each kind out of an empty folder."""
    registry = TinyRegistry("")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def do_GET(self) -> None:
            registry.paths.append(self.path)
            super().do_GET()

        def guess_type(self, path: object) -> str:
            name = Path(str(path)).name
            return (
                "text/html" if name == "index.html" else "application/json" if name == PACKAGE else "application/octet"
            )

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    registry.url = f"{'http' if tls is None else 'https'}://{ADDRESS}:{server.server_port}"
    _make_wheel(folder)
    _make_npm_package(folder, registry.url)
    _make_repository(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make_wheel(folder: Path) -> None:
    index, about = folder / "simple" / PACKAGE, f"{PACKAGE}-1.0.dist-info"
    index.mkdir(parents=True)
    name = f"{PACKAGE}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(index / name, "w") as wheel:
        wheel.writestr(f"{PACKAGE}.py", "")
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    (index / "index.html").write_text(f'<!DOCTYPE html><a href="{name}">{name}</a>')


def _make_npm_package(folder: Path, url: str) -> None:
    about = {"name": PACKAGE, "version": "1.0.0"}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        data = json.dumps(about).encode()
        member = tarfile.TarInfo("package/package.json")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    (folder / "tarballs").mkdir()
    (folder / "tarballs" / "1.0.0.tgz").write_bytes(packed.getvalue())
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    dist = {"tarball": f"{url}/tarballs/1.0.0.tgz", "integrity": f"sha512-{digest}"}
    versions = {"1.0.0": {**about, "dist": dist}}
    (folder / PACKAGE).write_text(json.dumps({**about, "dist-tags": {"latest": "1.0.0"}, "versions": versions}))


def _make_repository(folder: Path) -> None:
    repository = folder / "repository.git"
    subprocess.run(["git", "init", "-q", "--bare", repository], check=True)
    subprocess.run(["git", "-C", repository, "update-server-info"], check=True)


def make_certificates(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return a server's TLS for ``ADDRESS``, and the file of the authority that vouches for it."""
    key, authority, leaf_key, leaf = (folder / name for name in ("ca.key", "ca.pem", "leaf.key", "leaf.pem"))
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=tiny", "-keyout", key, "-out", authority)
    # npm asks for localhost in place of an address when it comes by a tunnel.
    asked, names = folder / "leaf.csr", folder / "names"
    _openssl("req", *new, "-subj", f"/CN={ADDRESS}", "-keyout", leaf_key, "-out", asked)
    names.write_text(f"subjectAltName=IP:{ADDRESS},DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signed = ["-CA", authority, "-CAkey", key, "-CAcreateserial", "-days", "2", "-extfile", names, "-out", leaf]
    _openssl("x509", "-req", "-in", asked, *signed)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf, leaf_key)
    return context, authority


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
