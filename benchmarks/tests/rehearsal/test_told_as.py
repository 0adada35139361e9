"""What a scripted response tells of itself in place of its usage, and the places where it breaks off."""

import httpx
import pytest

from rehearsal.clients import CLIENTS, SCENARIO, Client, events_of, playing
from swetrials.rehearsal import Fault, FaultKind, ScriptStep
from swetrials.rehearsal.scenario import ToldAs

pytestmark = pytest.mark.anyio
each_dialect = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: type(client).__name__)
streamed_or_not = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
USAGE = {"made_up": 1}


async def bodies(step: ScriptStep, client: Client, stream: bool) -> list[dict[str, object]]:
    """Return the events of a response, or its one body."""
    script = SCENARIO.scripts[0].model_copy(update={"steps": (step,)})
    async with playing(SCENARIO.model_copy(update={"scripts": (script,)})) as (_, http):
        response = await http.post(client.path, json=client.body(stream=stream))
    assert response.status_code == 200
    return events_of(response.content) if stream else [response.json()]


def usages(found: list[dict[str, object]]) -> list[object]:
    """Return every usage that an event tells, at its top or in the object it carries."""
    told = []
    for event in found:
        for holder in (event, event.get("message"), event.get("response")):
            if isinstance(holder, dict) and "usage" in holder:
                told.append(holder["usage"])
    return told


@each_dialect
@streamed_or_not
@pytest.mark.parametrize("usage", [USAGE, None], ids=["spelt", "null"])
async def test_a_usage_is_sent_as_it_stands(client: Client, stream: bool, usage: dict[str, int] | None) -> None:
    found = usages(await bodies(ScriptStep(say="hi", usage_as=usage), client, stream))
    assert found and found[-1] == usage
    assert all(each in (usage, None) for each in found)


@each_dialect
@streamed_or_not
async def test_what_is_laid_beside_the_usage_is_sent_with_it(client: Client, stream: bool) -> None:
    step = ScriptStep(say="hi", beside_usage={"service_tier": "priority"}, model_as="another")
    found = await bodies(step, client, stream)
    assert "'service_tier': 'priority'" in str(found)
    assert "another" in str(found)


async def test_anthropic_tells_a_usage_at_the_start_and_again() -> None:
    step = ScriptStep(say="hi", usage_at_start_as={"input_tokens": 1}, usage_as=None, usage_again_as=USAGE)
    [anthropic] = [client for client in CLIENTS if type(client).__name__ == "Anthropic"]
    assert usages(await bodies(step, anthropic, stream=True)) == [{"input_tokens": 1}, None, USAGE]


def test_a_null_in_a_scenario_is_told_from_a_key_that_is_not_there() -> None:
    assert ToldAs().retold("usage_as", 1) == 1
    assert ToldAs(usage_as=None).retold("usage_as", 1) is None


@each_dialect
@streamed_or_not
async def test_a_connection_is_closed_before_any_answer(client: Client, stream: bool) -> None:
    async with playing(SCENARIO.with_fault(FaultKind.RESET_BEFORE_ANSWER)) as (server, http):
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await http.post(client.path, json=client.body(stream=stream))
        assert server.requests[0].status is None


@each_dialect
@pytest.mark.parametrize(("kind", "tells"), [(FaultKind.CUT_AFTER_USAGE, True), (FaultKind.CUT_MID_EVENT, False)])
async def test_a_stream_is_cut_behind_its_usage_or_within_an_event(
    client: Client, kind: FaultKind, tells: bool
) -> None:
    got = b""
    async with playing(SCENARIO.with_fault(kind)) as (_, http):
        with pytest.raises(httpx.RemoteProtocolError):
            async with http.stream("POST", client.path, json=client.body(turns=1, stream=True)) as response:
                async for data in response.aiter_bytes():
                    got += data
    whole = got.endswith(b"\n\n")
    last = usages(events_of(got) if whole else [])
    assert whole is tells
    assert bool(last and last[-1]) is tells


@each_dialect
async def test_a_status_says_what_the_scenario_has_for_it(client: Client) -> None:
    fault = Fault(kind=FaultKind.STATUS_429, message="context window", retry_after_seconds=60)
    async with playing(SCENARIO.model_copy(update={"fault": fault})) as (_, http):
        response = await http.post(client.path, json=client.body())
    assert (response.status_code, response.headers["retry-after"]) == (429, "60")
    assert response.json()["error"]["message"] == "context window"
