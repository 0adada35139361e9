"""A meter serves sockets that are handed to it, those of other network namespaces among them."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from swetrials.store.redaction import Redactor
from swetrials.wire.meter import CANARY_PATH, metered, registry_way
from wire.meter.namespaces import inside, network_namespace, socket_inside
from wire.meter.raw import MESSAGES, Request, raw_server, route_to, until

pytestmark = pytest.mark.anyio

_ASK = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(urllib.request.Request(sys.argv[1], data=b"{}"), timeout=10).status)
"""


async def ok(request: Request) -> None:
    await request.reply(b"{}", "Content-Type: application/json")


def listening_socket() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


async def ask_inside(process_id: int, url: str) -> str:
    argv = [*inside(process_id), sys.executable, "-I", "-c", _ASK, url]
    asking = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return (await asking.communicate())[0].decode().strip()


async def test_a_socket_of_another_namespace_is_served(tmp_path: Path) -> None:
    with network_namespace() as process_id:
        async with (
            raw_server(ok) as raw,
            metered(route_to(raw.base_url), tmp_path / "log", Redactor(), port=4711) as meter,
        ):
            assert meter.route.base_url.startswith("http://127.0.0.1:4711/")
            url = meter.route.base_url + MESSAGES
            assert "refused" in await ask_inside(process_id, url)
            handed = socket_inside(process_id, 4711)
            await meter.serve(handed)
            assert not handed.get_inheritable()
            assert await ask_inside(process_id, url) == "200"
            assert await ask_inside(process_id, meter.route.base_url + CANARY_PATH) == "204"
            with pytest.raises(httpx.ConnectError):  # nothing listens there outside
                httpx.post(url, json={}, trust_env=False)
        assert "refused" in await ask_inside(process_id, url)
    assert [(record.path, record.status) for record in meter.requests()] == [(MESSAGES, 200)]


async def test_nothing_listens_before_a_socket_is_handed_over(tmp_path: Path) -> None:
    handed = listening_socket()
    port = handed.getsockname()[1]
    early = socket.create_connection(("127.0.0.1", port))  # waits in the socket's queue
    async with (
        raw_server(ok) as raw,
        metered(route_to(raw.base_url), tmp_path / "log", Redactor(), port=port) as meter,
    ):
        path = meter.route.base_url.partition(str(port))[2] + MESSAGES
        early.sendall(f"POST {path} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        await meter.serve(handed)
        await until(lambda: len(raw.requests) == 1)
        early.close()
        async with httpx.AsyncClient(trust_env=False) as http:
            assert (await http.post(meter.route.base_url + MESSAGES, json={})).status_code == 200
            assert (await http.post(f"http://127.0.0.1:{port}/guessed{MESSAGES}", json={})).status_code == 401
    assert [record.refused for record in meter.requests()] == [False, False, True]
    assert handed.fileno() == -1


async def test_several_sockets_are_served_and_cut_at_the_end(tmp_path: Path) -> None:
    async def never(request: Request) -> None:
        await request.hung_up()

    first, second = listening_socket(), listening_socket()
    ports = [made.getsockname()[1] for made in (first, second)]
    async with raw_server(never) as raw:
        async with metered(route_to(raw.base_url), tmp_path / "log", Redactor(), port=ports[0]) as meter:
            await meter.serve(first)
            await meter.serve(second)
            secret = meter.route.base_url.rpartition("/")[2]
            writers = []
            for port in ports:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(f"POST /{secret}{MESSAGES} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}".encode())
                writers.append(writer)
            await until(lambda: len(raw.requests) == 2)
        assert [record.error for record in meter.requests()] == ["the attempt ended"] * 2
        for writer in writers:
            writer.close()
        for port in ports:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))


async def test_a_closed_meter_serves_no_socket(tmp_path: Path) -> None:
    async with metered(route_to("http://127.0.0.1:9"), tmp_path / "log", Redactor(), port=4711) as meter:
        pass
    handed = listening_socket()
    with pytest.raises(OSError, match="is closed"):
        await meter.serve(handed)
    assert handed.fileno() == -1


async def test_what_is_no_socket_of_streams_is_turned_down(tmp_path: Path) -> None:
    async with metered(route_to("http://127.0.0.1:9"), tmp_path / "log", Redactor(), port=4711) as meter:
        datagrams = socket.socket(type=socket.SOCK_DGRAM)
        with pytest.raises(ValueError, match=r"(?i)stream"):
            await meter.serve(datagrams)
        assert datagrams.fileno() == -1


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
async def test_a_canary_is_answered_and_not_counted(tmp_path: Path, method: str) -> None:
    async with (
        raw_server(ok) as raw,
        metered(route_to(raw.base_url), tmp_path / "log", Redactor()) as meter,
        registry_way(()) as way,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        for base_url in (meter.route.base_url, way.base_url):
            answer = await http.request(method, base_url + CANARY_PATH)
            assert (answer.status_code, answer.content) == (204, b"")
            elsewhere = await http.request(method, base_url.rpartition("/")[0] + "/guessed" + CANARY_PATH)
            assert elsewhere.status_code in {401, 404}
    assert raw.requests == []
    assert [record.refused for record in meter.requests()] == [True]
    assert way.registries() == ()
