"""Which variables take Claude Code where, and what the real one then does."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path_

from hosting.stand_in_vllm import SCENARIO, listening
from rehearsal.signatures import bearing, signed_by, unsigned
from swetrials.agents.base import Job, Launch
from swetrials.agents.claude.driver import ClaudeCode
from swetrials.agents.claude.route import AWS_SECRETS
from swetrials.agents.install import find
from swetrials.records.config import RunnerConfig
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.access import Guard
from swetrials.store.project import find_project
from swetrials.wire.route import AwsCredentials, Dialect, Route
from swetrials.workspace.variables import allowed_environment

pytestmark = pytest.mark.anyio

MODEL = "us.anthropic.claude-opus-5[1m]"
TOKEN = "bearer-of-the-test"
AWS = AwsCredentials("AKIDEXAMPLE", SecretStr("secret-of-the-test"), SecretStr("session-of-the-test"))
SIGNED = signed_by({"AKIDEXAMPLE": "secret-of-the-test"}, "us-east-1", "session-of-the-test")
OUTPUT_BYTES = 20_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Place:
    """An attempt's folders."""

    def __init__(self, root: Path) -> None:
        self.home, self.checkout, self.artifacts, self.temporary = (root / n for n in ("home", "src", "out", "tmp"))
        for folder in (self.home, self.checkout, self.artifacts, self.temporary):
            folder.mkdir()

    def launch(
        self, route: Route, keys: Mapping[str, object] | None = None, binary: Path = Path("/bin/claude")
    ) -> Launch:
        config = RunnerConfig.model_validate({"model": route.model, "request_retries": 0, **(keys or {})})
        job = Job("task_id: x", None, route, self.checkout, self.home, self.temporary, self.artifacts, config)
        return ClaudeCode().launch(binary, job)

    async def run(self, route: Route) -> list[dict[str, Any]]:
        """Run the real Claude Code to its end, and return its events."""
        installed = find(ClaudeCode.package, find_project().tools)
        if installed is None:
            pytest.skip("claude is not installed: make setup")
        launch = self.launch(route, {"allowed_tools": ["Bash"]}, installed.binary)
        for path, text in launch.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = allowed_environment(self.home, self.temporary, launch.environment)
        assert launch.stdin is not None
        prompt = launch.files[launch.stdin].encode()
        with anyio.fail_after(120):
            done = await anyio.run_process(launch.argv, cwd=self.checkout, env=environment, input=prompt, check=False)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def bedrock(base_url: str = "https://bedrock.example", token: str = "", aws: AwsCredentials | None = None) -> Route:
    return Route(frozenset({"bedrock"}), base_url, SecretStr(token), MODEL, region="us-east-1", aws=aws)


def pinned(launch: Launch) -> dict[str, str]:
    """Return the variables of the settings file that wins over the repository's."""
    [settings] = [json.loads(text) for path, text in launch.files.items() if path.name == "settings.json"]
    environment: dict[str, str] = settings["env"]
    return environment


@pytest.mark.parametrize(
    ("token", "aws", "secrets", "skips"),
    [
        (TOKEN, None, {"AWS_BEARER_TOKEN_BEDROCK": TOKEN}, "0"),
        (
            "",
            AWS,
            {
                "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
                "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
                "AWS_SESSION_TOKEN": "session-of-the-test",
            },
            "0",
        ),
        ("", None, {}, "1"),
    ],
    ids=["bearer", "sigv4", "skip-auth"],
)
def test_bedrock_is_reached_with_what_the_route_holds(
    place: Place, token: str, aws: AwsCredentials | None, secrets: dict[str, str], skips: str
) -> None:
    launch = place.launch(bedrock(token=token, aws=aws))
    assert {name: launch.environment[name] for name in AWS_SECRETS} == {**dict.fromkeys(AWS_SECRETS, ""), **secrets}
    assert (
        launch.environment["CLAUDE_CODE_SKIP_BEDROCK_AUTH"] == pinned(launch)["CLAUDE_CODE_SKIP_BEDROCK_AUTH"] == skips
    )
    assert launch.environment["CLAUDE_CODE_USE_BEDROCK"] == pinned(launch)["CLAUDE_CODE_USE_BEDROCK"] == "1"
    assert pinned(launch)["ANTHROPIC_BEDROCK_BASE_URL"] == "https://bedrock.example"
    assert (pinned(launch)["AWS_REGION"], pinned(launch)["ANTHROPIC_MODEL"]) == ("us-east-1", MODEL)
    for value in secrets.values():
        assert value not in "".join((*launch.argv, *launch.files.values()))


@pytest.mark.parametrize("dialects", [{"anthropic"}, {"anthropic", "bedrock"}])
def test_anthropic_messages_come_first(place: Place, dialects: set[Dialect]) -> None:
    route = Route(frozenset(dialects), "https://api.example", SecretStr("sk-1"), "m")
    launch = place.launch(route)
    assert pinned(launch)["ANTHROPIC_BASE_URL"] == "https://api.example"
    assert pinned(launch)["CLAUDE_CODE_USE_BEDROCK"] == launch.environment["CLAUDE_CODE_USE_BEDROCK"] == "0"
    assert not set(AWS_SECRETS) & set(launch.environment)


@pytest.mark.parametrize(
    ("keys", "reserve", "window", "percentage"),
    [
        ({"context_window": 200_000}, "32000", "200000", 100 * 128_000 / 180_000),
        ({"context_window": 64_000}, "10666", "100000", 100 * 40_534 / 89_334),
        ({"context_window": 200_000, "max_output_tokens": 8_000}, "8000", "200000", 100 * 152_000 / 192_000),
        ({"context_window": 200_000, "auto_compact_fraction": 0.5}, "32000", "200000", 100 * 68_000 / 180_000),
        ({"context_window": 8_000, "max_output_tokens": 8_000}, "8000", "100000", 1),
    ],
)
def test_the_window_is_told_in_claude_codes_own_terms(
    place: Place, keys: dict[str, object], reserve: str, window: str, percentage: float
) -> None:
    environment = pinned(place.launch(bedrock(), keys))
    assert environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == reserve
    assert environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] == window
    assert float(environment["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"]) == pytest.approx(percentage, abs=0.001)


def test_an_unknown_window_leaves_claude_code_to_itself(place: Place) -> None:
    assert not [name for name in pinned(place.launch(bedrock())) if "COMPACT" in name or "MAX_OUTPUT" in name]
    limited = pinned(place.launch(bedrock(), {"max_output_tokens": 5_000}))
    assert limited["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "5000"


def growing(turns: int) -> Scenario:
    # What is said serves as the summary, too, when the step is asked for once more to compact the conversation.
    steps = [
        {"say": f"Step {n}.", "shell": f"seq -w {n}00000 {n}99999 | head -c {OUTPUT_BYTES}"}
        for n in range(1, turns + 1)
    ]
    script = {"when": "task_id: x", "steps": [*steps, {"say": "Done."}]}
    return Scenario.model_validate({"schema_version": "1.0", "name": "growing", "scripts": [script]})


@pytest.mark.slow
@pytest.mark.parametrize("model", ["qwen3-coder-30b", "claude-opus-5"], ids=["unknown", "known"])
@pytest.mark.parametrize(("window", "turns"), [(32_000, 3), (64_000, 7)])
async def test_the_real_one_compacts_before_a_small_window_is_full(
    place: Place, model: str, window: int, turns: int
) -> None:
    async with rehearse(growing(turns)) as server:
        route = Route(frozenset({"anthropic"}), server.base_url, SecretStr("k"), model, context_window=window)
        events = await place.run(route)
        sizes = [(r.usage.total or 0) - (r.usage.output or 0) for r in server.requests]
        limits = {request.max_tokens or 0 for request in server.requests}
    assert [event for event in events if event.get("subtype") == "compact_boundary"]
    assert max(sizes) + max(limits) <= window
    # A threshold that is far too low would do that as well: more than half of the window has to be used.
    assert max(sizes) > window / 2


def scripted(server: RehearsalServer) -> int:
    return sum(request.script is not None and request.status == 200 for request in server.requests)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "aws", "guard"),
    [(TOKEN, None, bearing({TOKEN})), ("", AWS, SIGNED), ("", None, unsigned)],
    ids=["bearer", "sigv4", "skip-auth"],
)
async def test_the_real_one_gets_in_at_bedrock(
    place: Place, token: str, aws: AwsCredentials | None, guard: Guard
) -> None:
    async with rehearse(growing(1), guard=guard) as server:
        *_, result = await place.run(bedrock(server.base_url, token, aws))
        assert scripted(server) == 2
        # The [1m] hint is no part of the path.
        assert {request.model for request in server.requests if not request.probe} == {"us.anthropic.claude-opus-5"}
        assert bool([request for request in server.requests if request.probe]) is bool(token or aws)
    assert (result["is_error"], result["result"]) == (False, "Done.")


@pytest.mark.slow
async def test_a_repository_cannot_bring_credentials_of_its_own(place: Place, tmp_path: Path) -> None:
    own = {
        "AWS_BEARER_TOKEN_BEDROCK": "of-the-repository",
        "AWS_ACCESS_KEY_ID": "AKIDREPOSITORY",
        "AWS_SECRET_ACCESS_KEY": "of-the-repository",
        "AWS_PROFILE": "repository",
        "AWS_REGION": "eu-west-1",
        "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:9",
    }
    commands = {name: f"touch {tmp_path / name}; echo {{}}" for name in ("awsAuthRefresh", "awsCredentialExport")}
    (place.checkout / ".claude").mkdir()
    (place.checkout / ".claude" / "settings.json").write_text(json.dumps({"env": own, **commands}))
    async with rehearse(growing(1), guard=unsigned) as server:
        *_, result = await place.run(bedrock(server.base_url))
        assert scripted(server) == len(server.requests) == 2
    assert result["result"] == "Done."
    assert not [name for name in commands if (tmp_path / name).exists()]


def test_the_effort_of_a_route_is_pinned_in_the_process_and_in_the_settings(place: Place) -> None:
    effort = "CLAUDE_CODE_EFFORT_LEVEL"
    route = Route(frozenset({"anthropic"}), "http://127.0.0.1:9", SecretStr("sk-1"), "qwen3.8-27b")
    launch = place.launch(replace(route, effort="xhigh"))
    assert (launch.environment[effort], pinned(launch)[effort]) == ("xhigh", "xhigh")
    assert effort not in place.launch(route).environment


@pytest.mark.slow
@pytest.mark.parametrize(("effort", "asked"), [(None, "high"), ("xhigh", "xhigh")])
async def test_the_effort_of_a_route_is_what_the_real_one_asks_for(
    place: Place, effort: str | None, asked: str
) -> None:
    """By itself it asks for ``high``, which the chat template of Qwen3.8 answers with an error."""
    said = list[object]()
    async with rehearse(SCENARIO, model="qwen3.8-27b") as server:

        async def pass_on(request: Request) -> Response:
            body = await request.body()
            if request.url.path == "/v1/messages":
                said.append(json.loads(body).get("output_config"))
            async with httpx.AsyncClient() as client:
                kept = {
                    name: value for name, value in request.headers.items() if name not in {"host", "content-length"}
                }
                answer = await client.request(
                    request.method, server.base_url + request.url.path, content=body, headers=kept
                )
            return Response(answer.content, answer.status_code, {"content-type": answer.headers["content-type"]})

        application = Starlette(routes=[Path_("/{path:path}", pass_on, methods=["GET", "HEAD", "POST"])])
        async with listening(application) as base_url:
            await place.run(Route(frozenset({"anthropic"}), base_url, SecretStr("sk-1"), "qwen3.8-27b", effort=effort))
    assert said
    assert said == [{"effort": asked}] * len(said)
