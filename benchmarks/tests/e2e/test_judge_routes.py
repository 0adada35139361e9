"""A judge with a route of its own, in e2e and in batch: what the run is told of it reaches the judge's server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, needs_agent
from e2e.intercepting import Interception, intercepted
from e2e.test_bedrock import BEARER, MODEL, REGION, SECRET, SESSION, SIGV4, TOKEN, Way, bedrock, check_secrets
from hosting.fake_aws import GOOD_KEY
from rehearsal.signatures import bearing, signed_by
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.access import Guard
from swetrials.store.documents import load_document
from swetrials.store.project import find_project

pytestmark = [pytest.mark.slow, needs_agent("claude"), needs_agent("codex")]

KEY, JUDGES_KEY = "key-of-the-candidate", "key-of-the-judge"
JUDGES_MODEL = "openai.gpt-5.5"
SCENARIO = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)


def own_clone(root: Path) -> dict[str, str]:
    """Make a clone for one test, for there is one batch at a time in each; return the variable that names it."""
    real, clone = find_project(), root / "clone" / "benchmarks"
    (clone / "src" / "swetrials").mkdir(parents=True)
    (clone / "pyproject.toml").touch()
    (clone / "config").symlink_to(real.config)
    (clone.parent / ".claude").mkdir()
    (clone.parent / ".claude" / "skills").symlink_to(real.skills)
    (clone / ".tools").mkdir()
    for agent in ("claude-code", "codex"):
        (clone / ".tools" / agent).symlink_to(real.tools / agent)
    return {"SWETRIALS_HOME": str(clone)}


@contextmanager
def served(model: str) -> Iterator[RehearsalServer]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(SCENARIO, model=model)) as server,
    ):
        yield server


@pytest.mark.parametrize("command", ["e2e", "batch"])
@pytest.mark.parametrize("shared", [False, True], ids=["its own endpoint", "the run's endpoint"])
def test_the_judge_reaches_its_endpoint_with_its_key(tmp_path: Path, command: str, shared: bool) -> None:
    keys = {"SWETRIALS_API_KEY": KEY} if shared else {"SWETRIALS_API_KEY": KEY, "SWETRIALS_JUDGE_API_KEY": JUDGES_KEY}
    place = Workplace(tmp_path, keys | own_clone(tmp_path))
    with served("m-1") as server, served("j-1") as other:
        judge = ["--judge", "codex", "--judge-provider", "endpoint", "--judge-model", "m-1" if shared else "j-1"]
        judge += [] if shared else ["--judge-endpoint", other.base_url]
        model = ["m-1", "--no-detach"] if command == "batch" else ["--model", "m-1"]
        probe = ["--skip-probe"] if command == "e2e" else []
        done = place.run(
            command, *model, "--provider", "endpoint", "--endpoint", server.base_url, "--dataset", str(QUICKSTART),
            "--tasks", "word-tally", *probe, *judge,
        )  # fmt: skip
        asked = {(request.model, request.api_key) for request in (server if shared else other).requests}
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("m-1", KEY) in asked if shared else asked == {("j-1", JUDGES_KEY)}
    [record] = place.records().values()
    assert record.evaluation is not None and record.evaluation.rubric is not None
    assert (record.evaluation.rubric.status, record.evaluation.rubric.judge.provider) == ("scored", "endpoint")  # type: ignore[union-attr]


@contextmanager
def mantle(region: str, guard: Guard, folder: Path) -> Iterator[tuple[RehearsalServer, Interception]]:
    """Serve what Codex takes for Bedrock in a region; all else that it would reach is refused."""
    folder.mkdir()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(SCENARIO, guard=guard)) as server,
        portal.wrap_async_context_manager(
            intercepted(f"bedrock-mantle.{region}.api.aws", server.base_url, folder)
        ) as interception,
    ):
        yield server, interception


@pytest.mark.parametrize("command", ["e2e", "batch"])
@pytest.mark.parametrize(
    ("way", "region", "guard"),
    [
        (SIGV4, "us-east-2", signed_by({GOOD_KEY: SECRET}, "us-east-2", SESSION, "bedrock-mantle")),
        (BEARER, None, bearing({TOKEN})),
    ],
    ids=["sigv4, its own region", "bearer, the run's region"],
)
def test_the_judge_reaches_bedrock_as_the_agent_does(
    tmp_path: Path, command: str, way: Way, region: str | None, guard: Guard
) -> None:
    with (
        bedrock(way) as (server, environment),
        mantle(region or REGION, guard, tmp_path / "certificates") as (judges, interception),
    ):
        place = Workplace(tmp_path, {**environment, **interception.environment, **own_clone(tmp_path)})
        model = [MODEL, "--no-detach"] if command == "batch" else ["--model", MODEL]
        judge = ["--judge", "codex", "--judge-provider", "bedrock", "--judge-model", JUDGES_MODEL]
        judge += ["--judge-aws-region", region] if region else []
        done = place.run(
            command, *model, "--provider", "bedrock", "--endpoint", server.base_url, "--dataset", str(QUICKSTART),
            "--tasks", "word-tally", *judge,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert {request.model for request in server.requests} == {"us.anthropic.claude-opus-5"}
        assert {request.model for request in judges.requests} == {JUDGES_MODEL}
        # No other host was asked for: the answers can only be from here.
        assert set(interception.asked) == {f"CONNECT bedrock-mantle.{region or REGION}.api.aws:443 HTTP/1.1"}
    [record] = place.records().values()
    assert record.evaluation is not None and record.evaluation.rubric is not None
    rubric = record.evaluation.rubric
    assert rubric.judge is not None
    assert (rubric.status, rubric.judge.provider, rubric.judge.model) == ("scored", "bedrock", JUDGES_MODEL)
    assert rubric.judge.grounding.repo_grounded
    check_secrets(place)
