"""Bedrock through the meter, as boto3 calls it: bearer tokens, signatures made anew, and none."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3  # type: ignore[import-untyped]
import pytest
from anyio.to_thread import run_sync
from botocore import UNSIGNED  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from pydantic import SecretStr

from rehearsal.clients import SCENARIO
from rehearsal.signatures import bearing, signed_by, unsigned
from rehearsal.test_bedrock import ARN, KEY, MODEL, REGION, SECRET, SESSION, Api, Invoke, each_api
from swetrials.rehearsal import FaultKind, rehearse
from swetrials.rehearsal.access import Guard
from swetrials.wire.meter import Meter
from swetrials.wire.route import AwsCredentials, Route
from wire.meter.raw import Request, metering, raw_server, until
from wire.meter.test_rehearsal import same

pytestmark = pytest.mark.anyio

TOKEN = "bedrock-api-key-of-the-test"
HELLO = {"role": "user", "content": "hello"}
WITHOUT = AwsCredentials(KEY, SecretStr(SECRET))
WITH_SESSION = AwsCredentials(KEY, SecretStr(SECRET), SecretStr(SESSION))

ACCESS: dict[str, tuple[str, AwsCredentials | None, Guard, str]] = {
    "bearer": (TOKEN, None, bearing([TOKEN]), TOKEN),
    "bearer before keys": (TOKEN, WITHOUT, bearing([TOKEN]), TOKEN),
    "signed": ("", WITHOUT, signed_by({KEY: SECRET}, REGION), KEY),
    "signed in a session": ("", WITH_SESSION, signed_by({KEY: SECRET}, REGION, SESSION), KEY),
    "unsigned": ("", None, unsigned, ""),
}


def route_to(base_url: str, token: str = "", aws: AwsCredentials | None = None) -> Route:
    return Route(frozenset({"bedrock"}), base_url, SecretStr(token), MODEL, region=REGION, aws=aws)


def agent(meter: Meter, *, signs: bool = False) -> Any:  # noqa: ANN401  no stubs
    """Return a client that knows what an agent knows; one that signs does so with keys that are worth nothing."""
    keys = {"aws_access_key_id": "DUMMY", "aws_secret_access_key": "dummy"} if signs else {}
    settings = {} if signs else {"signature_version": UNSIGNED}
    config = Config(retries={"total_max_attempts": 1}, read_timeout=1, **settings)
    return boto3.client("bedrock-runtime", endpoint_url=meter.route.base_url, region_name=REGION, config=config, **keys)


@each_api
@pytest.mark.parametrize("access", ACCESS.values(), ids=ACCESS)
@pytest.mark.parametrize("signs", [True, False], ids=["agent signs", "agent does not"])
async def test_the_meter_shows_its_own_credentials(
    tmp_path: Path, api: Api, access: tuple[str, AwsCredentials | None, Guard, str], signs: bool
) -> None:
    token, aws, guard, charged = access
    async with (
        rehearse(SCENARIO, guard=guard) as server,
        metering(route_to(server.base_url, token, aws), tmp_path) as (meter, _),
    ):
        bedrock = agent(meter, signs=signs)
        for turns, call in enumerate((api.whole, api.streamed)):
            heard = await run_sync(call, bedrock, turns)
            record = meter.requests()[-1]
            assert same(record.usage, heard.usage)
            assert (record.complete, record.status, record.dialect) == (True, 200, "bedrock")
            assert (record.model_asked, record.stop_reason) == (MODEL, heard.stop)
            assert record.stream == (turns == 1)
        served = server.served(charged)
    block = meter.block()
    assert same(block.usage.usage, served.usage)
    assert (block.usage.completeness, block.usage.requests, served.requests) == ("complete", 2, 2)


@pytest.mark.parametrize("model", [MODEL, ARN, "us.anthropic.claude-opus-5[1m]", "a b+c"])
async def test_a_models_name_is_signed_as_it_stands_in_the_path(tmp_path: Path, model: str) -> None:
    async with (
        rehearse(SCENARIO, guard=signed_by({KEY: SECRET}, REGION)) as server,
        metering(route_to(server.base_url, aws=WITHOUT), tmp_path) as (meter, http),
    ):
        await run_sync(Invoke().whole, agent(meter), 0, model)
        # A client that leaves in the path what need not be encoded there.
        bare = await http.post(
            f"/model/{model.replace('/', '%2F').replace(' ', '%20')}/invoke", content=Invoke().body(0)
        )
        assert bare.status_code == 200, bare.text
        assert [record.model_asked for record in meter.requests()] == [model, model]


@each_api
async def test_a_wrong_secret_is_awss_to_refuse(tmp_path: Path, api: Api) -> None:
    async with (
        rehearse(SCENARIO, guard=signed_by({KEY: "another"}, REGION)) as server,
        metering(route_to(server.base_url, aws=WITHOUT), tmp_path) as (meter, _),
    ):
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            await run_sync(api.whole, agent(meter), 0)
        [record] = meter.requests()
    assert (record.status, record.complete, record.refused) == (403, True, False)
    assert "signature" in record.error


@pytest.mark.parametrize(
    ("kind", "status", "complete", "error"),
    [
        (FaultKind.STATUS_429, 429, True, "rehearsed"),
        (FaultKind.STATUS_529, 503, True, "rehearsed"),
        (FaultKind.BROKEN_SSE, 200, False, "checksum"),
        (FaultKind.CUT, 200, False, "broke off"),
        (FaultKind.HANG_MID_STREAM, 200, False, "the agent closed the connection"),
        (FaultKind.MAX_TOKENS, 200, True, ""),
    ],
)
async def test_faults_are_told_apart(tmp_path: Path, kind: FaultKind, status: int, complete: bool, error: str) -> None:
    async with (
        rehearse(SCENARIO.with_fault(kind)) as server,
        metering(route_to(server.base_url, TOKEN), tmp_path) as (meter, _),
    ):
        try:
            await run_sync(Invoke().streamed, agent(meter), 1)
        except Exception as fault:
            # Each of boto3's layers has its own kind of error.
            assert error, fault
            await until(lambda: meter.requests()[0].error != "", seconds=3)
        [record] = meter.requests()
        assert (record.status, record.complete) == (status, complete)
        assert error in record.error
        if status == 200:
            assert record.usage is not None
            assert record.usage.cache_read == server.requests[0].usage.cache_read


async def test_questions_about_bedrock_go_to_its_control_plane(tmp_path: Path) -> None:
    async def list_profiles(request: Request) -> None:
        await request.reply(b'{"inferenceProfileSummaries": []}', "Content-Type: application/json")

    async with (
        rehearse(SCENARIO, guard=signed_by({KEY: SECRET}, REGION)) as runtime,
        raw_server(list_profiles) as control,
    ):
        route = replace(route_to(runtime.base_url, aws=WITHOUT), control_url=control.base_url)
        async with metering(route, tmp_path) as (meter, http):
            calls = []
            for _ in range(2):  # one connection of the agent, which leads now here, now there
                answer = await http.get(f"{meter.route.base_url}/inference-profiles?type=SYSTEM_DEFINED")
                assert answer.json() == {"inferenceProfileSummaries": []}
                body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 99, "messages": [HELLO]}
                calls.append(await http.post(f"{meter.route.base_url}/model/{MODEL}/invoke", json=body))
    assert [call.status_code for call in calls] == [200, 200]
    assert [request.line for request in control.requests] == [
        "GET /inference-profiles?type=SYSTEM_DEFINED HTTP/1.1"
    ] * 2
    signature = control.requests[0].header("authorization") or ""
    assert signature.startswith(f"AWS4-HMAC-SHA256 Credential={KEY}/")
    assert control.requests[0].header("host") == urlsplit(control.base_url).netloc
    block = meter.block()
    assert (block.count, block.turns, block.usage.requests, block.usage.completeness) == (4, 2, 2, "complete")
