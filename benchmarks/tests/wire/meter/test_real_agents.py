"""Real agents through the meter: what they report, what is metered and what was served are the same tokens."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

from rehearsal.signatures import bearing, signed_by, unsigned
from rehearsal.test_real_agents import SCENARIO, Workplace, binary
from swetrials.records.usage import Usage
from swetrials.rehearsal import Fault, FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.access import Guard, anyone
from swetrials.wire.meter import Meter
from swetrials.wire.route import AwsCredentials, Dialect, Route
from wire.meter.raw import metering, until
from wire.meter.test_rehearsal import same

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "key-of-attempt-1"
REGION = "us-east-1"
MODEL = "us.anthropic.claude-opus-5"
FLAGS = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


@asynccontextmanager
async def between(
    folder: Path,
    dialect: Dialect,
    *,
    guard: Guard = anyone,
    aws: AwsCredentials | None = None,
    key: str = KEY,
    scenario: Scenario = SCENARIO,
) -> AsyncIterator[tuple[Meter, RehearsalServer]]:
    """Serve a scenario with a meter in front of it."""
    async with rehearse(scenario, guard=guard) as server:
        route = Route(frozenset({dialect}), server.base_url, SecretStr(key), MODEL, region=REGION, aws=aws)
        async with metering(route, folder) as (meter, _):
            yield meter, server


def claude(place: Workplace) -> list[str | Path]:
    argv: list[str | Path] = [binary("claude"), "-p", place.prompt, "--output-format", "stream-json", "--verbose"]
    argv += ["--model", MODEL, "--permission-mode", "acceptEdits", "--add-dir", place.artifacts]
    return [*argv, "--allowedTools", "Bash,Edit,Write,Read"]


def environment(meter: Meter) -> dict[str, str]:
    """Return what Claude Code needs to know of the meter's route, in either dialect."""
    route = meter.route
    if "anthropic" in route.dialects:
        return {**FLAGS, "ANTHROPIC_BASE_URL": route.base_url, "ANTHROPIC_API_KEY": route.api_key.get_secret_value()}
    assert not route.api_key.get_secret_value()
    bedrock = {"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1", "AWS_REGION": REGION}
    return {**FLAGS, **bedrock, "ANTHROPIC_BEDROCK_BASE_URL": route.base_url}


def reported(result: dict[str, object]) -> Usage:
    models = result["modelUsage"]
    assert isinstance(models, dict)
    [used] = models.values()
    return Usage(
        fresh_input=used["inputTokens"],
        cache_read=used["cacheReadInputTokens"],
        cache_write=used["cacheCreationInputTokens"],
        cache_write_5m=used["cacheCreationEphemeral5mInputTokens"],
        cache_write_1h=used["cacheCreationEphemeral1hInputTokens"],
        output=used["outputTokens"],
    )


WAYS: dict[str, tuple[Dialect, Guard, str, AwsCredentials | None, str]] = {
    "anthropic": ("anthropic", anyone, KEY, None, KEY),
    "bedrock, bearer": ("bedrock", bearing([KEY]), KEY, None, KEY),
    "bedrock, signed": (
        "bedrock",
        signed_by({"AKID": "secret-of-the-test"}, REGION),
        "",
        AwsCredentials("AKID", SecretStr("secret-of-the-test")),
        "AKID",
    ),
    "bedrock, unsigned": ("bedrock", unsigned, "", None, ""),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_claude_code_reports_what_is_metered_and_served(
    tmp_path: Path, way: tuple[Dialect, Guard, str, AwsCredentials | None, str]
) -> None:
    dialect, guard, key, aws, charged = way
    place = Workplace(tmp_path)
    async with between(tmp_path, dialect, guard=guard, aws=aws, key=key) as (meter, server):
        *_, result = await place.run(claude(place), environment(meter))
        served, block, records = server.served(charged), meter.block(), meter.requests()
    place.check_effects()
    assert (result["is_error"], result["result"]) == (False, "Done.")
    assert same(block.usage.usage, served.usage)
    assert block.usage.usage.model_dump(exclude={"reasoning"}) == reported(result).model_dump(exclude={"reasoning"})
    assert (block.usage.completeness, block.usage.requests) == ("complete", served.requests)
    assert (block.turns, block.probes, block.retries) == (5, 0, 0)
    calls = [record for record in records if record.dialect is not None]
    assert [(record.error, record.model_asked) for record in calls] == [("", MODEL)] * 5
    # On Bedrock it also looks for inference profiles, wherever its endpoint is.
    assert {record.path for record in records if record not in calls} <= {"/inference-profiles"}


async def test_codex_reports_what_is_metered_and_served(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    argv: list[str | Path] = [binary("codex"), "exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only"]
    async with between(tmp_path, "openai-responses") as (meter, server):
        provider = f'name = "x"\nbase_url = "{meter.route.base_url}/v1"\nwire_api = "responses"\nenv_key = "KEY"\n'
        config = f'model = "rehearsal"\nmodel_provider = "x"\n[model_providers.x]\n{provider}'
        (place.home / "config.toml").write_text(config)
        key = meter.route.api_key.get_secret_value()
        *_, ended = await place.run([*argv, place.prompt], {"CODEX_HOME": str(place.home), "KEY": key})
        served, block = server.served(KEY), meter.block()
    assert same(block.usage.usage, served.usage)
    assert (block.turns, block.usage.completeness) == (5, "complete")
    usage = block.usage.usage
    assert ended["usage"]["input_tokens"] == (usage.fresh_input or 0) + (usage.cache_read or 0)
    assert ended["usage"]["cached_input_tokens"] == usage.cache_read
    assert ended["usage"]["output_tokens"] == usage.output


async def test_an_agent_that_is_killed_in_mid_stream_leaves_a_lower_bound(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    fault = Fault(kind=FaultKind.HANG_MID_STREAM, at_step=2)
    scenario = SCENARIO.model_copy(update={"scripts": (SCENARIO.scripts[0].model_copy(update={"fault": fault}),)})
    async with between(tmp_path, "anthropic", scenario=scenario) as (meter, server):
        process = await anyio.open_process(
            [str(word) for word in claude(place)],
            cwd=place.checkout,
            env={"PATH": os.environ["PATH"], "HOME": str(place.home), "TMPDIR": str(place.home), **environment(meter)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        await until(lambda: len(server.requests) == 3 and meter.requests()[-1].model_served is not None, seconds=60)
        before = meter.block()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await until(lambda: meter.requests()[-1].error != "")
        after, served = meter.block(), server.served(KEY)
    assert (before.usage.completeness, after.usage.completeness) == ("lower_bound", "lower_bound")
    assert (after.turns, after.count, served.completeness) == (2, 3, "lower_bound")
    assert after.usage.usage.cache_read == served.usage.cache_read
    assert after.usage.usage.cache_write == served.usage.cache_write
    assert after.usage.usage.fresh_input == served.usage.fresh_input
    assert 0 < (after.usage.usage.output or 0) <= (served.usage.output or 0)
