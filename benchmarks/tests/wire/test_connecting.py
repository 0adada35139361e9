"""A certificate of one's own authority counts on this machine, too, and no proxy stands in between."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from swetrials.hosting.endpoint import Endpoint
from swetrials.records.config import RunnerConfig
from swetrials.wire.connecting import CertificateError, connection


class _Models(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"data": [{"id": "m-1", "max_model_len": 4096}]}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a list of models by TLS on loopback; give its address and the authority's certificate."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(certificate))
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject, *files]
    subprocess.run(made, check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Models)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}", certificate
    server.shutdown()
    server.server_close()
    thread.join()


def statuses(base_url: str) -> dict[str, str]:
    async def look() -> dict[str, str]:
        config = RunnerConfig(provider="endpoint", endpoint=base_url, model="m-1")
        async with Endpoint().open(config) as hosting:
            return {check.name: check.status for check in await hosting.checks()}

    return anyio.run(look)


def test_the_authority_of_the_environment_counts_and_its_proxy_does_not(
    served: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    base_url, certificate = served
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with httpx.Client(**connection(base_url)) as client:
        assert client.get(f"{base_url}/v1/models").json()["data"][0]["id"] == "m-1"
    found = statuses(base_url)
    assert (found["endpoint"], found["model"]) == ("ok", "ok")


def test_an_authority_that_nobody_named_is_refused(served: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert statuses(served[0])["endpoint"] == "failed"


def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(CertificateError, match=r"SSL_CERT_FILE: .*none\.pem"):
        connection("https://127.0.0.1:1")
