"""The LiteLLM proxy as a service: what it is started with, what it is told and not told, where its token is from.

A small program stands in for LiteLLM here; the real one is in tests/e2e/test_litellm.py.
"""

import base64
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ports import port_for_a_server
from swetrials.hosting import bearer, process
from swetrials.hosting.litellm import install as litellm_install
from swetrials.hosting.litellm import server as litellm
from swetrials.hosting.process import HOST, Service, ServiceError
from swetrials.store.documents import DocumentError
from swetrials.store.project import Project, find_project
from swetrials.store.yaml_source import read_yaml

ROOT = find_project().root
MANTLE = ROOT / "config" / "litellm-mantle.yaml"

STAND_IN = f"""#!{sys.executable} -S
import http.server, json, os, sys
print(json.dumps({{"argv": sys.argv[1:], "environ": dict(os.environ), "cwd": os.getcwd()}}), flush=True)
if "CRASH" in os.environ:
    sys.exit("cannot read the config")
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health/liveliness" else 404)
        self.end_headers()
    def log_message(self, *_):
        pass
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""

CONFIG = "model_list: []\nlitellm_settings: {api_key: os.environ/MANTLE_API_KEY}\n"


class Desk:
    """A user's folder: a program, a configuration, an environment without AWS credentials."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "run"
        self.config = root / "c.yaml"
        self.config.write_text(CONFIG)
        self.program = root / "litellm"
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        self.environment = {"PATH": "/usr/bin:/bin", "MANTLE_API_KEY": "bearer-value-1"}

    def start(self, **environment: str) -> Service:
        """Start the stand-in."""
        return litellm.start(
            self.folder,
            self.program,
            self.config,
            port=port_for_a_server(),
            region="eu-west-1",
            environment={**self.environment, **environment},
        )

    def seen(self) -> dict[str, str]:
        """Return the environment that the program was started with."""
        environ: dict[str, str] = json.loads(process.tail(self.folder / "litellm.log")[0])["environ"]
        return environ


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def credentials(no_credentials: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aws_bedrock_token_generator", reason="the aws extra is not installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example-secret")


@pytest.fixture
def desk(tmp_path: Path, no_credentials: None) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    litellm.stop(desk.folder)


def test_it_starts_serves_and_stops(desk: Desk) -> None:
    service = desk.start()
    status = litellm.status(desk.folder, datetime.now(UTC))
    assert status is not None
    assert (status.service, status.healthy, status.warning) == (service, True, "")
    assert service.notes == {
        "config": str(desk.config),
        "region": "eu-west-1",
        "token": "MANTLE_API_KEY of the environment",
        "token_since": service.notes["token_since"],
    }
    words = json.loads(process.tail(service.log)[0])["argv"]
    assert words == ["--config", str(desk.config), "--host", HOST, "--port", str(service.port), "--telemetry", "False"]

    assert litellm.stop(desk.folder) is not None

    assert litellm.status(desk.folder, datetime.now(UTC)) is None
    assert not process.running(service)


def test_it_is_told_what_it_needs_and_nothing_else(desk: Desk) -> None:
    desk.config.write_text(f"{CONFIG}general_settings: {{alerting: os.environ/HOOK}}\n")
    strangers = {"DATABASE_URL": "postgres://mine", "AWS_SECRET_ACCESS_KEY": "s", "LITELLM_LOG": "DEBUG"}
    desk.start(HOOK="hook-value", **strangers)
    seen = desk.seen()
    assert seen["MANTLE_API_KEY"] == "bearer-value-1"
    assert seen["MANTLE_API_BASE"] == "https://bedrock-mantle.eu-west-1.api.aws/v1"
    assert seen["HOOK"] == "hook-value"
    assert seen["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert seen["LITELLM_USE_CHAT_COMPLETIONS_URL_FOR_ANTHROPIC_MESSAGES"] == "true"
    assert seen["LITELLM_MODE"] == "PRODUCTION"
    assert seen["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] == "true"
    assert not seen.keys() & strangers.keys()
    assert Path(seen["HOME"]).is_relative_to(desk.folder)


def test_a_base_url_of_the_users_own_goes_before_the_regions(desk: Desk) -> None:
    desk.start(MANTLE_API_BASE="http://127.0.0.1:9/v1")
    assert desk.seen()["MANTLE_API_BASE"] == "http://127.0.0.1:9/v1"


def test_no_key_is_written_to_disk(desk: Desk) -> None:
    service = desk.start(LITELLM_MASTER_KEY="sk-master-value-1")
    environ = desk.seen()
    assert environ["LITELLM_MASTER_KEY"] == "sk-master-value-1"
    assert "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY" not in environ
    # The log is where the stand-in says what it was told; LiteLLM itself does not.
    files = [path for path in desk.folder.rglob("*") if path.is_file() and path != service.log]
    assert desk.folder / "litellm.json" in files
    for path in files:
        assert b"sk-master-value-1" not in path.read_bytes()
        assert b"bearer-value-1" not in path.read_bytes()


def test_a_proxy_that_does_not_start_is_cleared_up_and_says_why(desk: Desk) -> None:
    desk.config.write_text("x: os.environ/CRASH\n")
    with pytest.raises(ServiceError, match=r"litellm ended after \d+ s, before it was ready") as caught:
        desk.start(CRASH="1")
    assert str(caught.value).splitlines()[-1] == "  cannot read the config"
    assert process.find(desk.folder, "litellm") is None
    assert not (desk.folder / "litellm.json").exists()


def test_a_variable_that_the_configuration_names_and_nobody_set(desk: Desk) -> None:
    desk.config.write_text("a: os.environ/ONE_THING\nb: {c: os.environ/OTHER_THING}\n# os.environ/NOT_THIS\n")
    with pytest.raises(ServiceError, match=r"c\.yaml: names environment variables that are not set: ONE_THING$"):
        desk.start(OTHER_THING="x")
    assert not desk.folder.exists()


def test_the_shipped_configuration_is_one_that_the_proxy_starts_with(desk: Desk) -> None:
    desk.config.write_bytes(MANTLE.read_bytes())
    desk.start(MANTLE_API_KEY="k", MANTLE_API_BASE="http://127.0.0.1:9/v1")
    assert litellm.status(desk.folder, datetime.now(UTC)) is not None


def test_a_configuration_that_is_no_yaml(desk: Desk) -> None:
    desk.config.write_text("model_list:\n\t- x\n")
    with pytest.raises(DocumentError, match=r"c\.yaml:2: not well-formed YAML"):
        desk.start()


def test_without_credentials_and_without_a_key_one_line_says_so(desk: Desk) -> None:
    with pytest.raises(ServiceError, match=r"no token for Bedrock: .*, and MANTLE_API_KEY is not set: run") as caught:
        desk.start(MANTLE_API_KEY="")
    assert "\n" not in str(caught.value)


def test_no_token_is_looked_for_when_no_model_needs_one(desk: Desk) -> None:
    desk.config.write_text("model_list: []\n")
    service = desk.start(MANTLE_API_KEY="")
    assert "token" not in service.notes
    assert "MANTLE_API_KEY" not in desk.seen()


def test_a_token_is_minted_from_credentials(credentials: None) -> None:
    obtained = bearer.obtain("eu-west-1", {"MANTLE_API_KEY": "older"})
    token = obtained.token.get_secret_value()
    assert obtained.source == "minted from the AWS credentials"
    assert datetime.now(UTC) - obtained.since < timedelta(minutes=1)
    assert token.startswith("bedrock-api-key-")
    assert b"AKIAEXAMPLE%2F" in base64.b64decode(token.removeprefix("bedrock-api-key-"))
    assert b"eu-west-1" in base64.b64decode(token.removeprefix("bedrock-api-key-"))
    assert token not in repr(obtained)


def test_without_credentials_the_given_token_is_taken(no_credentials: None) -> None:
    obtained = bearer.obtain("us-east-1", {"MANTLE_API_KEY": " given \n"})
    assert (obtained.token.get_secret_value(), obtained.source) == ("given", "MANTLE_API_KEY of the environment")


@pytest.mark.parametrize(
    ("hours", "warning"),
    [
        (0.0, ""),
        (10.9, ""),
        (11.5, "the token expires in 30 min at the latest"),
        (12.0, "the token is older than 12 h, which is all that a bearer token is good for"),
    ],
)
def test_an_ageing_token_is_warned_of(desk: Desk, hours: float, warning: str) -> None:
    service = desk.start()
    since = litellm.token_since(service)
    assert since is not None
    status = litellm.status(desk.folder, since + timedelta(hours=hours))
    assert status is not None
    assert status.warning == (f"{warning}: swetrials proxy stop && swetrials proxy start" if warning else "")


def test_every_model_of_the_shipped_configuration_goes_by_its_raw_id() -> None:
    data = read_yaml(MANTLE).data
    assert isinstance(data, dict)
    models = {entry["model_name"]: entry["litellm_params"] for entry in data["model_list"]}
    assert len(models) == len(data["model_list"]) == 26
    for name, parameters in models.items():
        assert parameters["model"] == f"openai/{name}"
        assert parameters["<<"] == data["x-mantle"]
    assert data["x-mantle"]["api_base"] == "os.environ/MANTLE_API_BASE"
    assert data["x-mantle"]["api_key"] == "os.environ/MANTLE_API_KEY"
    assert data["router_settings"] == {"disable_cooldowns": True, "num_retries": 0}


def test_only_the_pinned_release_counts_as_installed(tmp_path: Path) -> None:
    environment = tmp_path / "litellm"
    (environment / "bin").mkdir(parents=True)
    for name in ("python", "litellm"):
        (environment / "bin" / name).write_text("")
        (environment / "bin" / name).chmod(0o755)
    metadata = environment / "lib" / "python3.11" / "site-packages" / "litellm-1.0.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("")
    assert litellm_install.find(tmp_path) is None

    metadata.rename(metadata.with_name(f"litellm-{litellm_install.VERSION}.dist-info"))

    assert litellm_install.find(tmp_path) == environment / "bin" / "litellm"
    (environment / "bin" / "python").unlink()
    assert litellm_install.find(tmp_path) is None


def test_an_installation_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    uv = tmp_path / "scripts" / "uv.sh"
    uv.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '    venv*) for last; do :; done; mkdir -p "$last/bin" ;;\n'
        '    *) echo "Resolved 3 packages" >&2; echo "error: no route to the index" >&2; exit 2 ;;\n'
        "esac\n"
    )
    uv.chmod(0o755)
    said: list[str] = []

    with pytest.raises(ServiceError, match=r"^uv could not install litellm \S+: error: no route to the index$"):
        litellm_install.install(Project(tmp_path), said.append)

    assert said == [f"installing litellm {litellm_install.VERSION} (one time, 756 MB, about a minute)",
                    "  Resolved 3 packages"]  # fmt: skip
    assert [path.name for path in (tmp_path / ".tools").iterdir()] == ["litellm.lock"]
