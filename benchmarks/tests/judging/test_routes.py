"""What each way to the judge's model brings with it."""

import socket
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from swetrials.agents.codex.config import KEY_VARIABLE
from swetrials.judging import JUDGES
from swetrials.judging.base import JudgeSettings
from swetrials.judging.routes import BedrockRoute, EndpointRoute, PersonalRoute, refuses

CONFIG = """\
model_provider = "corp"
[model_providers.corp]
base_url = "https://models.corp.example/v1"
env_key = "CORP_KEY"
env_http_headers = { X-Team = "CORP_TEAM" }
"""


@pytest.mark.parametrize("named_by", ["HOME", "CODEX_HOME"])
def test_the_personal_route_brings_home_keys_and_what_the_configuration_names(tmp_path: Path, named_by: str) -> None:
    folder = tmp_path if named_by == "CODEX_HOME" else tmp_path / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(CONFIG)
    personal = {
        "HOME": "/nowhere",
        named_by: str(tmp_path),
        "CORP_KEY": "k1",
        "CORP_TEAM": "k2",
        "OPENAI_API_KEY": "k3",
        "AWS_PROFILE": "judge",
        "https_proxy": "http://user:pass@proxy.example",
    }
    route = PersonalRoute({**personal, "ANTHROPIC_API_KEY": "candidate", "GITHUB_TOKEN": "other"})
    assert route.environment() == personal
    assert route.config() is None


@pytest.mark.parametrize("config", [None, b"not toml", b"model_providers = 7", b"\xff\xfe"])
def test_an_unreadable_configuration_is_left_to_codex_to_complain_about(tmp_path: Path, config: bytes | None) -> None:
    if config is not None:
        (tmp_path / "config.toml").write_bytes(config)
    invoker = {"CODEX_HOME": str(tmp_path), "CORP_KEY": "k1"}
    assert PersonalRoute(invoker).environment() == {"CODEX_HOME": str(tmp_path)}


def test_the_bedrock_route_keeps_aws_credentials_reachable_from_a_private_home() -> None:
    proxy = {"HTTPS_PROXY": "http://user:pass@proxy.example"}
    aws = {"AWS_PROFILE": "p", "AWS_REGION": "eu-west-1"}
    route = BedrockRoute("us-east-2", {"HOME": "/people/me", **aws, "KEY": "x", **proxy})
    assert route.environment() == {
        **proxy,
        "AWS_PROFILE": "p",
        "AWS_REGION": "us-east-2",
        "AWS_CONFIG_FILE": "/people/me/.aws/config",
        "AWS_SHARED_CREDENTIALS_FILE": "/people/me/.aws/credentials",
    }
    config = route.config()
    assert config is not None
    assert tomllib.loads(config)["model_provider"] == "amazon-bedrock"


def test_no_route_shows_its_secrets() -> None:
    endpoint = EndpointRoute("http://127.0.0.1:1", SecretStr("sk-secret-123"))
    assert endpoint.environment() == {KEY_VARIABLE: "sk-secret-123"}
    assert "sk-secret-123" not in f"{endpoint!r} {endpoint.config()}"
    assert "k1" not in repr(PersonalRoute({"CORP_KEY": "k1"}))


def test_every_judge_is_registered_under_its_own_name() -> None:
    settings = JudgeSettings(Path("codex"), EndpointRoute("http://127.0.0.1:1", SecretStr("sk-secret-123")))
    assert {name: make(settings).name for name, make in JUDGES.items()} == {"codex": "codex", "tests": "tests"}


def test_an_address_where_nothing_listens_is_told_from_one_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert refuses(url)  # nobody listens yet
        taken.listen()
        assert not refuses(url)


def test_what_only_a_proxy_can_reach_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert not refuses("http://127.0.0.1:9")
