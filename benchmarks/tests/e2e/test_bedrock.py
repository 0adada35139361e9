"""The quickstart tasks through Bedrock, with each kind of credentials: Claude Code, pi and omp."""

import json
import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.agents import OMP, PI, AgentUnderTest, each
from e2e.harness import QUICKSTART, Workplace, check_witness, needs_agent
from hosting.fake_aws import GOOD_KEY, fake_aws
from rehearsal.signatures import bearing, signed_by, unsigned
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.access import Guard
from swetrials.store.documents import load_document
from swetrials.store.results import trial_folders

pytestmark = pytest.mark.slow

MODEL, REGION = "us.anthropic.claude-opus-5[1m]", "us-east-1"
TOKEN, SECRET, SESSION = "bearer-of-the-test", "secret-of-the-test", "session-of-the-test"
SCENARIO = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)


@dataclass(frozen=True)
class Way:
    """One way to be let in: what a person sets, what the server accepts, and whether the CLI looks around with it."""

    name: str
    environment: dict[str, str]
    guard: Guard
    looks_around: bool


KEYS = {"AWS_ACCESS_KEY_ID": GOOD_KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": SESSION}
BEARER = Way("bearer", {"AWS_BEARER_TOKEN_BEDROCK": TOKEN}, bearing({TOKEN}), looks_around=True)
SIGV4 = Way("sigv4", KEYS, signed_by({GOOD_KEY: SECRET}, REGION, SESSION), looks_around=True)
SKIP_AUTH = Way("skip-auth", {"CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"}, unsigned, looks_around=False)
each_way = pytest.mark.parametrize("way", [BEARER, SIGV4, SKIP_AUTH], ids=lambda way: way.name)


@contextmanager
def bedrock(way: Way, scenario: Scenario = SCENARIO) -> Iterator[tuple[RehearsalServer, dict[str, str]]]:
    """Serve Bedrock, STS and the model lists on loopback; give a person's environment for them."""
    with (
        fake_aws() as aws,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(scenario, guard=way.guard)) as server,
    ):
        yield server, {**aws, "AWS_REGION": REGION, **way.environment}


def arguments(server: RehearsalServer, *more: str) -> list[str]:
    route = ["--provider", "bedrock", "--endpoint", server.base_url, "--model", MODEL]
    return ["run", *route, "--dataset", str(QUICKSTART), *more]


UNMETERED = ("--no-meter", "--environment", "host")
"""Without the meter no way leads out of a seal."""


@needs_agent("claude")
@each_way
@pytest.mark.parametrize("metered", [True, False], ids=["metered", "no meter"])
def test_what_is_reported_is_what_was_served(tmp_path: pathlib.Path, way: Way, metered: bool) -> None:
    tasks = ["--tasks", "word-tally", "--tasks", "temperature-table"]  # the two ways in which a task ends
    with bedrock(way) as (server, environment):
        place = Workplace(tmp_path, environment)
        done = place.run(*arguments(server, *tasks, *([] if metered else UNMETERED)))
        assert done.returncode == 0, done.stdout + done.stderr
        requests = server.requests
    records = place.records()
    assert {name: record.outcome.kind for name, record in records.items()} == {
        "word-tally": OutcomeKind.COMPLETED,
        "temperature-table": OutcomeKind.INCOMPLETE_ARTIFACTS,
    }
    for name, record in records.items():
        served = Usage.sum(request.usage for request in requests if request.script == f"task_id: {name}")
        check_witness(record.usage.reported, served)
        assert served.cache_read and served.cache_write and served.fresh_input and served.output
        written = record.usage.headline.usage
        assert (written.cache_write_5m, written.cache_write_1h) == (served.cache_write, 0)
        assert [finding for finding in record.findings if finding.severity != "info"] == []
        check_metered(record, served if metered else None)
        assert (record.provider, record.model, record.model_slug) == ("bedrock", MODEL, "claude-opus-5")
    if metered and way.name == "sigv4":
        check_profiles_were_found(place)
    check_probes(server, looks_around=way.looks_around and not metered)
    check_secrets(place)


def check_metered(record: Metrics, served: Usage | None) -> None:
    """What the meter saw is what was served, and the headline is taken from it."""
    usage = record.usage
    if served is None:
        assert (usage.source, usage.headline, usage.metered) == ("reported", usage.reported, None)
    else:
        assert (usage.source, usage.headline) == ("metered", usage.metered)
        check_witness(usage.metered, served)


def check_profiles_were_found(place: Workplace) -> None:
    """The CLI asks its one base URL for inference profiles, and the control plane answers to the meter's signature."""
    logs = "".join(path.read_text() for path in place.results.rglob("requests.jsonl"))
    asked = [record for line in logs.splitlines() if (record := json.loads(line))["path"] == "/inference-profiles"]
    assert asked and {record["status"] for record in asked} == {200}


def check_probes(server: RehearsalServer, *, looks_around: bool) -> None:
    """The CLI's calls for one token go to models that nobody asked for, and are no part of any figure.

    Behind the meter it has no credentials, and does not look around.
    """
    probes = [request for request in server.requests if request.probe]
    turns = [request for request in server.requests if not request.probe]
    assert bool(probes) is looks_around
    assert all(request.script is None and request.usage.output == 1 for request in probes)
    assert {request.model for request in turns} == {"us.anthropic.claude-opus-5"}
    assert "us.anthropic.claude-opus-5" not in {request.model for request in probes}


def check_secrets(place: Workplace) -> None:
    for path in place.results.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not [secret for secret in (TOKEN, SECRET, SESSION) if secret.encode() in data], path


@needs_agent("claude")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (FaultKind.STATUS_429, OutcomeKind.RATE_LIMITED),
        (FaultKind.STATUS_500, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.STATUS_529, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.STATUS_401, OutcomeKind.AUTH_FAILED),
        (FaultKind.BROKEN_SSE, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.CUT, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.HANG_MID_STREAM, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.REFUSAL, OutcomeKind.REFUSED),
    ],
)
def test_a_fault_of_bedrock_ends_in_the_outcome_that_names_it(
    tmp_path: pathlib.Path, fault: FaultKind, kind: OutcomeKind
) -> None:
    with bedrock(SKIP_AUTH, SCENARIO.with_fault(fault)) as (server, environment):
        place = Workplace(tmp_path, environment)
        limits = ["--request-retries", "1", "--max-retries", "0", "--timeout-seconds", "60"]
        limits += ["--idle-timeout-seconds", "15", "--skip-probe"]
        place.run(*arguments(server, "--tasks", "word-tally", *limits))
    record = place.records()["word-tally"]
    assert record.outcome.kind is kind, record.outcome.detail
    assert record.attempts[0].survivors == 0


@needs_agent("claude")
def test_credentials_that_are_refused_cost_nothing(tmp_path: pathlib.Path) -> None:
    with bedrock(SIGV4) as (server, environment):
        place = Workplace(tmp_path, {**environment, "AWS_ACCESS_KEY_ID": "AKIDOTHER"})
        done = place.run(*arguments(server))
        assert server.requests == []
    assert done.returncode == 3, done.stdout + done.stderr
    assert "refused by STS" in done.stdout
    assert not list(trial_folders(place.results))


# Behind the meter an agent has no credentials, whatever the user's are. Without one there is no skip-auth: both agents
# then sign with a key that they make up, which the strict server refuses.
@pytest.mark.parametrize(
    ("meter", "way"),
    [(("--meter",), SIGV4), (UNMETERED, SIGV4), (UNMETERED, BEARER)],
    ids=["metered", "sigv4", "bearer"],
)
@each(PI, OMP)
def test_it_is_reached_by_way_of_converse(
    tmp_path: pathlib.Path, agent: AgentUnderTest, meter: tuple[str, ...], way: Way
) -> None:
    with bedrock(way) as (server, environment):
        place = Workplace(tmp_path, environment)
        done = place.run(*arguments(server, "--agent", agent.name, "--tasks", "word-tally", *meter))
        assert done.returncode == 0, done.stdout + done.stderr
        served = Usage.sum(request.usage for request in server.requests if request.script)
        models = {request.model for request in server.requests}
    record = place.records()["word-tally"]
    assert (record.outcome.kind, models) == (OutcomeKind.COMPLETED, {"us.anthropic.claude-opus-5"})
    assert record.usage.reported is not None
    assert agent.buckets(record.usage.reported.usage) == agent.buckets(served)
    # pi 0.74 knows no model after Claude 4 and asks Bedrock to cache nothing.
    assert bool(served.cache_read) is (agent is OMP)
