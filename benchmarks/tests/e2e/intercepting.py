"""A proxy that answers in the place of one host by TLS, and lets nothing through to any other."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit


@dataclass
class Interception:
    """Where the proxy is, the authority that its certificate is of, and what it was asked for."""

    url: str
    authority: Path
    asked: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What sends a program's requests here, those on loopback apart: nothing leaves this machine."""
        proxies = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), self.url)
        return {**proxies, "NO_PROXY": "127.0.0.1,localhost", "SSL_CERT_FILE": str(self.authority)}


@asynccontextmanager
async def intercepted(host: str, base_url: str, folder: Path) -> AsyncIterator[Interception]:
    """Pass what is sent to ``host`` on port 443 to ``base_url`` on this machine, byte for byte, and refuse the rest.

    Args:
        host: whose place is taken.
        base_url: what answers, in plain HTTP.
        folder: for the certificates.
    """
    authority = _certificates(host, folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "host.pem", folder / "host.key")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0].decode()
        found.asked.append(asked)
        if asked != f"CONNECT {host}:443 HTTP/1.1":
            writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.start_tls(tls)
        there = await asyncio.open_connection("127.0.0.1", urlsplit(base_url).port)
        await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer), return_exceptions=True)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    found = Interception(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", authority)
    try:
        yield found
    finally:
        server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


def _certificates(host: str, folder: Path) -> Path:
    """Make an authority and the host's certificate by it: Codex takes no authority's own for a server's."""
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    made = (
        f"req -x509 {key} -subj /CN=authority -keyout authority.key -out authority.pem",
        f"req -x509 {key} -subj /CN={host} -addext subjectAltName=DNS:{host} -addext basicConstraints=CA:FALSE "
        "-CA authority.pem -CAkey authority.key -keyout host.key -out host.pem",
    )
    for words in made:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    return folder / "authority.pem"
