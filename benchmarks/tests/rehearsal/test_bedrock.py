"""The server as boto3 sees it: both APIs, streamed and not, its errors, and who may call."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3  # type: ignore[import-untyped]
import httpx
import pytest
from anyio.to_thread import run_sync
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from rehearsal.clients import OPENING, SCENARIO, Anthropic, Heard
from rehearsal.signatures import bearing, signed_by, unsigned
from swetrials.records.usage import Usage
from swetrials.rehearsal import FaultKind, RehearsalServer, rehearse
from swetrials.rehearsal.ledger import NOTHING

pytestmark = pytest.mark.anyio

KEY, SECRET, SESSION, REGION = "AKIDEXAMPLE", "secret-of-the-test", "session-of-the-test", "eu-west-1"
MODEL = "eu.anthropic.claude-opus-5-v1:0"
ARN = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123def"


def client(server: RehearsalServer, secret: str = SECRET, token: str | None = SESSION) -> Any:  # noqa: ANN401  no stubs
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=server.base_url,
        region_name=REGION,
        aws_access_key_id=KEY,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=1),
    )


class Invoke:
    """InvokeModel with Anthropic bodies."""

    def body(self, turns: int, opening: str = OPENING) -> bytes:
        body = {**Anthropic().body(opening, turns), "anthropic_version": "bedrock-2023-05-31"}
        return json.dumps({name: value for name, value in body.items() if name not in {"model", "stream"}}).encode()

    def whole(self, bedrock: Any, turns: int, model: str = MODEL) -> Heard:  # noqa: ANN401
        answer = bedrock.invoke_model(modelId=model, body=self.body(turns), contentType="application/json")
        assert answer["contentType"] == "application/json"
        return Anthropic().read_whole(json.loads(answer["body"].read()))

    def events(self, bedrock: Any, turns: int, model: str = MODEL) -> Iterator[dict[str, Any]]:  # noqa: ANN401
        answer = bedrock.invoke_model_with_response_stream(modelId=model, body=self.body(turns))
        for event in answer["body"]:
            yield json.loads(event["chunk"]["bytes"])

    def streamed(self, bedrock: Any, turns: int, model: str = MODEL) -> Heard:  # noqa: ANN401
        events = list(self.events(bedrock, turns, model))
        metrics = events[-1].pop("amazon-bedrock-invocationMetrics")
        heard = Anthropic().read_stream(events)
        assert heard.usage.fresh_input == metrics["inputTokenCount"]
        assert heard.usage.output == metrics["outputTokenCount"]
        assert heard.usage.cache_read == metrics["cacheReadInputTokenCount"]
        assert heard.usage.cache_write == metrics["cacheWriteInputTokenCount"]
        return heard


class Converse:
    """Converse, with the same conversation in its own shape."""

    def request(self, turns: int) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": OPENING}]}]
        for turn in range(turns):
            use = {"toolUseId": f"t{turn}", "name": "Bash", "input": {"command": "ls"}}
            result = {"toolUseId": f"t{turn}", "content": [{"text": f"result {turn}"}]}
            messages.append({"role": "assistant", "content": [{"text": "So."}, {"toolUse": use}]})
            messages.append({"role": "user", "content": [{"toolResult": result}]})
        messages[-1]["content"].append({"cachePoint": {"type": "default"}})
        specs = [
            {"toolSpec": {"name": tool["name"], "inputSchema": {"json": tool["input_schema"]}}}
            for tool in Anthropic.tools
        ]
        return {
            "system": [{"text": "You are an agent."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
            "messages": messages,
            "toolConfig": {"tools": specs},
        }

    def whole(self, bedrock: Any, turns: int, model: str = MODEL) -> Heard:  # noqa: ANN401
        answer = bedrock.converse(modelId=model, **self.request(turns))
        assert answer["metrics"]["latencyMs"] > 0
        return self._heard(answer["output"]["message"]["content"], answer["stopReason"], answer["usage"])

    def events(self, bedrock: Any, turns: int, model: str = MODEL) -> Iterator[dict[str, Any]]:  # noqa: ANN401
        yield from bedrock.converse_stream(modelId=model, **self.request(turns))["stream"]

    def streamed(self, bedrock: Any, turns: int, model: str = MODEL) -> Heard:  # noqa: ANN401
        names, blocks, inputs = [], dict[int, dict[str, Any]](), dict[int, str]()
        stop, usage = "", dict[str, Any]()
        for event in self.events(bedrock, turns, model):
            [(name, data)] = event.items()
            names.append(name)
            index, delta = data.get("contentBlockIndex"), data.get("delta", {})
            if name == "contentBlockStart":
                blocks[index] = data["start"]
            elif "text" in delta:
                block = blocks.setdefault(index, {"text": ""})
                block["text"] += delta["text"]
            elif "toolUse" in delta:
                inputs[index] = inputs.get(index, "") + delta["toolUse"]["input"]
            stop, usage = data.get("stopReason", stop), data.get("usage", usage)
        assert (names[0], names[-2:]) == ("messageStart", ["messageStop", "metadata"])
        for index, text in inputs.items():
            blocks[index]["toolUse"]["input"] = json.loads(text)
        return self._heard([blocks[index] for index in sorted(blocks)], stop, usage)

    def _heard(self, content: list[dict[str, Any]], stop: str, usage: dict[str, Any]) -> Heard:
        text = "".join(block.get("text", "") for block in content)
        calls = [(block["toolUse"]["name"], block["toolUse"]["input"]) for block in content if "toolUse" in block]
        written = {detail["ttl"]: detail["inputTokens"] for detail in usage["cacheDetails"]}
        buckets = Usage(
            fresh_input=usage["inputTokens"],
            cache_read=usage["cacheReadInputTokens"],
            cache_write=usage["cacheWriteInputTokens"],
            cache_write_5m=written.get("5m", 0),
            cache_write_1h=written.get("1h", 0),
            output=usage["outputTokens"],
            reasoning=0,
        )
        assert usage["totalTokens"] == buckets.total
        return Heard(text, calls, stop, buckets)


Api = Invoke | Converse
each_api = pytest.mark.parametrize("api", [Invoke(), Converse()], ids=lambda api: type(api).__name__)


@contextmanager
def refused(code: str, status: int) -> Iterator[None]:
    """Expect AWS's error of one kind, with a message."""
    with pytest.raises(ClientError) as caught:
        yield
    error = caught.value.response
    assert (error["Error"]["Code"], error["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    assert error["Error"]["Message"]


@each_api
async def test_streamed_whole_and_ledger_agree_to_the_token(api: Api) -> None:
    async with rehearse(SCENARIO) as server:
        bedrock, total = client(server), NOTHING
        for turns in range(5):
            whole = await run_sync(api.whole, bedrock, turns)
            assert await run_sync(api.streamed, bedrock, turns) == whole
            total += whole.usage + whole.usage
        report = server.served(KEY)
        assert (report.usage, report.completeness, report.requests) == (total, "complete", 10)
        assert [request.step for request in server.requests] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
        assert {(request.dialect, request.model) for request in server.requests} == {("bedrock", MODEL)}


@each_api
async def test_what_one_turn_writes_to_the_cache_the_next_one_reads(api: Api) -> None:
    async with rehearse(SCENARIO) as server:
        bedrock = client(server)
        first, later = [(await run_sync(api.streamed, bedrock, turns)).usage for turns in (0, 1)]
    assert first.cache_write_1h and first.cache_write_5m
    assert first.cache_write == first.cache_write_1h + first.cache_write_5m
    assert later.cache_read == first.cache_write


async def test_both_apis_play_the_same_script() -> None:
    async with rehearse(SCENARIO) as server:
        bedrock = client(server)
        for turns in range(4):
            invoked, conversed = [await run_sync(api.whole, bedrock, turns) for api in (Invoke(), Converse())]
            assert (invoked.text, invoked.calls, invoked.stop) == (conversed.text, conversed.calls, conversed.stop)
            assert invoked.usage.output == conversed.usage.output


@each_api
@pytest.mark.parametrize("model", [ARN, "us.anthropic.claude-opus-5[1m]", "anthropic.claude-haiku-4-5-20251001-v1:0"])
async def test_a_model_is_known_by_its_decoded_path(api: Api, model: str) -> None:
    async with rehearse(SCENARIO, guard=signed_by({KEY: SECRET}, REGION, SESSION)) as server:
        await run_sync(api.streamed, client(server), 0, model)
        assert [(request.model, request.status) for request in server.requests] == [(model, 200)]


async def test_the_response_names_the_model_as_anthropic_does() -> None:
    async with rehearse(SCENARIO) as server:
        events = await run_sync(list, Invoke().events(client(server), 0))
    assert events[0]["message"]["model"] == "claude-opus-5"


@each_api
@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        (FaultKind.STATUS_401, "UnrecognizedClientException", 403),
        (FaultKind.STATUS_429, "ThrottlingException", 429),
        (FaultKind.STATUS_500, "InternalServerException", 500),
        (FaultKind.STATUS_529, "ServiceUnavailableException", 503),
    ],
)
async def test_an_error_has_the_shape_of_aws(api: Api, kind: FaultKind, code: str, status: int) -> None:
    async with rehearse(SCENARIO.with_fault(kind)) as server:
        bedrock = client(server)
        for call in (api.whole, api.streamed):
            with refused(code, status):
                await run_sync(call, bedrock, 0)
        assert {(request.status, request.usage) for request in server.requests} == {(status, NOTHING)}


@each_api
@pytest.mark.parametrize("kind", [FaultKind.BROKEN_SSE, FaultKind.CUT, FaultKind.HANG_MID_STREAM])
async def test_a_stream_that_breaks_is_billed_for_what_was_sent(api: Api, kind: FaultKind) -> None:
    async with rehearse(SCENARIO) as server:
        usage = (await run_sync(api.streamed, client(server), 1)).usage
    async with rehearse(SCENARIO.with_fault(kind)) as server:
        heard: list[dict[str, Any]] = []

        def listen() -> None:
            for event in api.events(client(server), 1):
                heard.append(event)

        with pytest.raises(Exception, match=r"(?i)checksum|ended prematurely|timed out"):
            await run_sync(listen)
        report = server.served(KEY)
    assert heard
    assert report.completeness == "lower_bound"
    assert report.usage.fresh_input == usage.fresh_input
    assert 1 <= (report.usage.output or 0) < (usage.output or 0)


@each_api
@pytest.mark.parametrize(
    ("kind", "stops"), [(FaultKind.REFUSAL, {"refusal", "content_filtered"}), (FaultKind.MAX_TOKENS, {"max_tokens"})]
)
async def test_a_reply_stops_early_and_says_why(api: Api, kind: FaultKind, stops: set[str]) -> None:
    async with rehearse(SCENARIO.with_fault(kind)) as server:
        heard = await run_sync(api.streamed, client(server), 1)
    assert heard.stop in stops
    assert heard.text and heard.calls == []


async def test_one_token_is_a_probe_and_no_turn_of_the_script() -> None:
    body = json.loads(Invoke().body(0)) | {"max_tokens": 1}
    async with rehearse(SCENARIO) as server:
        bedrock = client(server)
        await run_sync(lambda: bedrock.invoke_model(modelId=MODEL, body=json.dumps(body)))
        await run_sync(Invoke().whole, bedrock, 0)
        probe, turn = server.requests
    assert (probe.probe, probe.usage.output) == (True, 1)
    assert not turn.probe and (turn.usage.output or 0) > 1


async def test_a_body_without_its_version_is_refused() -> None:
    async with rehearse(SCENARIO) as server:
        bedrock = client(server)
        with refused("ValidationException", 400):
            await run_sync(lambda: bedrock.invoke_model(modelId=MODEL, body=b'{"messages": [{"role": "user"}]}'))


async def test_a_signature_is_checked_for_real() -> None:
    async with rehearse(SCENARIO, guard=signed_by({KEY: SECRET}, REGION, SESSION)) as server:
        for api in (Invoke(), Converse()):
            assert (await run_sync(api.streamed, client(server), 0)).text
            with refused("UnrecognizedClientException", 403):
                await run_sync(api.whole, client(server, secret="another"), 0)
            with refused("UnrecognizedClientException", 403):
                await run_sync(api.whole, client(server, token=None), 0)
        assert [request.api_key for request in server.requests] == [KEY] * 6
        assert server.served(KEY).requests == 6


async def test_a_bearer_token_is_checked_and_charged() -> None:
    # boto3 bears tokens over https alone.
    path = f"/model/{MODEL}/invoke"
    async with (
        rehearse(SCENARIO, guard=bearing({"bearer-of-the-test"})) as server,
        httpx.AsyncClient(base_url=server.base_url, trust_env=False) as http,
    ):
        good = await http.post(path, content=Invoke().body(0), headers={"authorization": "Bearer bearer-of-the-test"})
        assert server.served("bearer-of-the-test").usage == Anthropic().read_whole(good.json()).usage
        bad = await http.post(path, content=Invoke().body(0), headers={"authorization": "Bearer another"})
        assert (bad.status_code, bad.headers["x-amzn-errortype"]) == (403, "UnrecognizedClientException")


async def test_a_door_for_the_unsigned_is_closed_to_signatures() -> None:
    async with rehearse(SCENARIO, guard=unsigned) as server:
        with refused("UnrecognizedClientException", 403):
            await run_sync(Invoke().whole, client(server), 0)
