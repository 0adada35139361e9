"""A judge with a route of its own, in e2e and in batch: what the run is told of it reaches the judge's server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, needs_agent
from swetrials.store.documents import load_document
from swetrials.wire.rehearsal import RehearsalServer, Scenario, rehearse

pytestmark = [pytest.mark.slow, needs_agent("claude"), needs_agent("codex")]

KEY, JUDGES_KEY = "key-of-the-candidate", "key-of-the-judge"
SCENARIO = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)


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
    place = Workplace(tmp_path, keys)
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
