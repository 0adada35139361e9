"""Regions, credentials and models as a machine may have them, with STS and the model lists on loopback."""

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hosting.fake_aws import ACCOUNT, GOOD_KEY, PROFILE_ARN, fake_aws
from swetrials.hosting import PROVIDERS
from swetrials.hosting.base import ProviderError
from swetrials.hosting.bedrock import Bedrock
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.rehearsal import Scenario, rehearse
from swetrials.wire.route import Route

pytestmark = pytest.mark.anyio

MODEL = "us.anthropic.claude-opus-5[1m]"
EMPTY = Scenario(schema_version="1.0", name="empty", scripts=())


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without anything of AWS but the fake; gives its home."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "CLAUDE_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    with fake_aws() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield tmp_path


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", GOOD_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")


def config(**keys: object) -> RunnerConfig:
    return RunnerConfig.model_validate({"provider": "bedrock", "model": MODEL, "aws_region": "us-east-1", **keys})


async def look(**keys: object) -> tuple[dict[str, Check], Route]:
    """Return the checks by name, and an attempt's route, with a runtime on loopback."""
    async with rehearse(EMPTY) as server, Bedrock().open(config(endpoint=server.base_url, **keys)) as hosting:
        checks = await hosting.checks()
        assert len({check.name for check in checks}) == len(checks)
        assert server.requests == []
        return {check.name: check for check in checks}, hosting.route("attempt-1")


def write_profile(home: Path, name: str, **settings: str) -> None:
    section = name if name == "default" else f"profile {name}"
    lines = [f"[{section}]", *(f"{key} = {value}" for key, value in settings.items())]
    (home / ".aws" / "config").write_text("\n".join(lines) + "\n")


def temporary_keys(home: Path, until: datetime) -> str:
    """Return a ``credential_process`` that gives keys with an end, numbered by how often it was asked."""
    program = home / "keys.py"
    answer = {"Version": 1, "AccessKeyId": GOOD_KEY, "SessionToken": "token", "Expiration": until.isoformat()}
    program.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(home / 'count')!r})\n"
        "asked = len(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text('x' * asked)\n"
        f"print(json.dumps({{**{answer!r}, 'SecretAccessKey': f'secret-{{asked}}'}}))\n"
    )
    return f"{sys.executable} {program}"


def test_it_is_in_the_registry() -> None:
    assert isinstance(PROVIDERS["bedrock"], Bedrock)
    assert PROVIDERS["bedrock"].priced == "tokens"


@pytest.mark.parametrize(
    ("given", "environment", "profile", "region"),
    [
        ("eu-west-1", {"AWS_REGION": "us-east-1"}, "default", "eu-west-1"),
        (None, {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-west-2"}, "default", "us-east-1"),
        (None, {"AWS_DEFAULT_REGION": "us-west-2"}, "default", "us-west-2"),
        (None, {}, "default", "ap-southeast-2"),
        (None, {"AWS_PROFILE": "dev"}, "dev", "ap-southeast-2"),
    ],
)
def test_the_region_is_the_nearest_one_said(
    machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
    environment: dict[str, str],
    profile: str,
    region: str,
) -> None:
    write_profile(machine, profile, region="ap-southeast-2")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    route = Bedrock().preview(config(aws_region=given))
    assert (route.region, route.base_url) == (region, f"https://bedrock-runtime.{region}.amazonaws.com")
    assert (route.dialects, route.model, route.aws, route.api_key.get_secret_value()) == (
        frozenset({"bedrock"}),
        MODEL,
        None,
        "",
    )


@pytest.mark.parametrize("text", [None, "[default]\n", "[profile dev]\nregion = us-east-1\n", "no ini at all"])
def test_no_region_is_said_before_anything_else(machine: Path, text: str | None) -> None:
    if text is not None:
        (machine / ".aws" / "config").write_text(text)
    with pytest.raises(ProviderError, match=r"^aws_region: .*--aws-region us-east-1, or set AWS_REGION$"):
        Bedrock().preview(config(aws_region=None))


@pytest.mark.parametrize("region", ["US East", "us-east-1.evil.example/", "useast1"])
def test_a_region_has_the_shape_of_one(region: str) -> None:
    with pytest.raises(ProviderError, match="is not a region"):
        Bedrock().preview(config(aws_region=region))


async def test_keys_of_the_environment_are_shown_to_sts_and_given_to_the_attempt(keys: None) -> None:
    checks, route = await look()
    assert {name: check.status for name, check in checks.items()} == dict.fromkeys(
        ("region", "endpoint", "credentials", "model"), "ok"
    )
    assert checks["credentials"].detail.endswith(f"account {ACCOUNT}, assumed-role/Developer/jo")
    assert route.aws is not None and route.aws.session_token is None
    assert (route.aws.access_key, route.aws.secret_key.get_secret_value()) == (GOOD_KEY, "secret-of-the-test")
    assert route.api_key.get_secret_value() == ""
    assert "secret-of-the-test" not in repr(route)


async def test_a_bearer_token_comes_first(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-of-the-test")
    checks, route = await look()
    assert (route.api_key.get_secret_value(), route.aws) == ("bearer-of-the-test", None)
    assert checks["credentials"].status == "ok"
    assert "bearer-of-the-test" not in repr((checks, route))


async def test_keys_that_sts_refuses_are_a_failure(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOTHER")
    checks, _ = await look()
    assert (checks["credentials"].status, checks["model"].status) == ("failed", "skipped")
    assert "InvalidClientTokenId" in checks["credentials"].detail
    assert "aws sso login" in checks["credentials"].fix
    assert "AccessDeniedException" in checks["model"].detail


async def test_an_sts_out_of_reach_is_no_failure(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    checks, _ = await look()
    assert checks["credentials"].status == "warning"
    assert "could not be asked" in checks["credentials"].detail


async def test_nothing_to_log_in_with_names_what_to_set() -> None:
    checks, route = await look()
    assert checks["credentials"].status == "failed"
    assert "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in checks["credentials"].fix
    assert (route.aws, route.api_key.get_secret_value()) == (None, "")


async def test_half_a_pair_of_keys_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", GOOD_KEY)
    checks, _ = await look()
    assert checks["credentials"].status == "failed"
    assert "AWS_SECRET_ACCESS_KEY" in checks["credentials"].detail


async def test_an_unknown_profile_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    checks, _ = await look()
    assert checks["credentials"].status == "failed"
    assert "nobody" in checks["credentials"].detail


async def test_keys_of_a_profile_are_found_by_boto3(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "dev")
    write_profile(machine, "dev", aws_access_key_id=GOOD_KEY, aws_secret_access_key="secret-of-dev")
    checks, route = await look()
    assert checks["credentials"].status == "ok"
    assert route.aws is not None and route.aws.secret_key.get_secret_value() == "secret-of-dev"
    assert "expiry" not in checks


async def test_temporary_keys_say_when_they_end(machine: Path) -> None:
    until = datetime.now(UTC) + timedelta(hours=3)
    write_profile(machine, "default", credential_process=temporary_keys(machine, until))
    checks, route = await look()
    assert checks["expiry"].status == "warning"
    assert f"{until:%Y-%m-%d %H:%M} UTC" in checks["expiry"].detail
    assert route.aws is not None and route.aws.session_token is not None
    assert route.aws.session_token.get_secret_value() == "token"
    assert (machine / "count").read_text() == "x"


async def test_each_attempt_starts_with_fresh_keys(machine: Path) -> None:
    until = datetime.now(UTC) + timedelta(minutes=2)
    write_profile(machine, "default", credential_process=temporary_keys(machine, until))
    async with Bedrock().open(config()) as hosting:
        secrets = [route.aws.secret_key.get_secret_value() for n in "12" if (route := hosting.route(n)).aws]
    assert len(set(secrets)) == 2


async def test_keys_that_have_ended_are_a_failure(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00+00:00")
    checks, _ = await look()
    assert (checks["expiry"].status, checks["expiry"].detail) == (
        "failed",
        "the credentials expired at 2020-01-01 00:00 UTC",
    )


async def test_without_boto3_the_environment_is_enough(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("boto3", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    checks, route = await look()
    assert (checks["credentials"].status, checks["model"].status) == ("warning", "skipped")
    assert checks["credentials"].fix == checks["model"].fix == "install the aws extra: uv sync --extra aws"
    assert route.aws is not None


async def test_without_boto3_a_profile_is_out_of_reach(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    write_profile(machine, "default", aws_access_key_id=GOOD_KEY, aws_secret_access_key="secret")
    checks, _ = await look()
    assert checks["credentials"].status == "failed"
    assert checks["credentials"].fix.endswith("uv sync --extra aws")


async def test_no_credentials_are_sent_to_loopback_alone(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SKIP_BEDROCK_AUTH", "1")
    checks, route = await look()
    assert (route.aws, route.api_key.get_secret_value()) == (None, "")
    assert (checks["credentials"].status, checks["model"].status) == ("warning", "skipped")
    for endpoint in (None, "https://gateway.example", "http://127.0.0.1.example"):
        with pytest.raises(ProviderError, match="CLAUDE_CODE_SKIP_BEDROCK_AUTH is set"):
            Bedrock().preview(config(endpoint=endpoint))
    for endpoint in ("http://localhost:4000/", "http://[::1]:4000", "http://127.0.0.2:4000"):
        assert Bedrock().preview(config(endpoint=endpoint)).base_url == endpoint.rstrip("/")


@pytest.mark.parametrize(
    ("model", "status", "detail", "fix"),
    [
        ("us.anthropic.claude-opus-5[1m]", "ok", "us.anthropic.claude-opus-5 is listed", ""),
        (PROFILE_ARN, "ok", "is listed", ""),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", "ok", "is listed", ""),
        (
            "anthropic.claude-opus-5",
            "warning",
            "called through an inference profile",
            "--model global.anthropic.claude-opus-5 or --model us.anthropic.claude-opus-5",
        ),
        ("us.anthropic.claude-opus-51", "warning", "is not listed in us-east-1", "--model us.anthropic.claude-opus-5"),
        ("claude-haiku-4-5", "warning", "is not listed", "--model anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("qwen.qwen3-32b", "warning", "is not an Anthropic model", "--provider litellm"),
    ],
)
async def test_the_model_is_looked_up(keys: None, model: str, status: str, detail: str, fix: str) -> None:
    check = (await look(model=model))[0]["model"]
    assert check.status == status
    assert detail in check.detail
    assert check.fix.startswith(fix) and bool(check.fix) is bool(fix)


async def test_a_key_meant_for_another_provider_is_not_sent(keys: None) -> None:
    checks, route = await look(api_key="sk-of-another")
    assert route.api_key.get_secret_value() == ""
    assert "AWS_BEARER_TOKEN_BEDROCK" in checks["api_key"].fix


async def test_a_closed_port_is_a_failure(keys: None) -> None:
    async with Bedrock().open(config(endpoint="http://127.0.0.1:9")) as hosting:
        [endpoint] = [check for check in await hosting.checks() if check.name == "endpoint"]
        assert endpoint.status == "failed"
        assert endpoint.fix == "mend --aws-region or --endpoint"
        assert hosting.served("attempt-1") is None


@pytest.mark.parametrize(
    ("endpoint", "variable", "control"),
    [
        (None, None, "https://bedrock.us-east-1.amazonaws.com"),
        (None, "http://127.0.0.1:7", "http://127.0.0.1:7"),
        ("http://127.0.0.1:9", None, None),
        ("http://127.0.0.1:9", "http://127.0.0.1:7", "http://127.0.0.1:7"),
    ],
)
def test_the_control_plane_is_the_regions_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, endpoint: str | None, variable: str | None, control: str | None
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_BEDROCK")
    if variable:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK", variable)
    assert Bedrock().preview(config(endpoint=endpoint)).control_url == control
