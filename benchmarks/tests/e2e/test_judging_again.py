"""Judging what is judged: nobody is asked anything, and so nothing is paid."""

import pathlib

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, needs_agent
from swetrials.records.evaluation import Evaluation
from swetrials.rehearsal import Scenario, rehearse
from swetrials.store.documents import load_document
from swetrials.store.files import read_record

pytestmark = [pytest.mark.slow, needs_agent("claude"), needs_agent("codex")]

MODEL = "scripted"


def test_a_judge_with_nothing_to_judge_is_asked_nothing(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path, {"SWETRIALS_JUDGE_API_KEY": "key-of-the-judge"})
    done = place.run("run", "--dataset", QUICKSTART, "--tasks", "word-tally", "--skip-probe")
    assert done.returncode == 0, done.stdout + done.stderr
    played = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(played, model=MODEL)) as server,
    ):
        words = [
            "judge", "--recursive", "--no-overwrite", "--folder", str(place.results), "--judge", "codex",
            "--judge-provider", "endpoint", "--endpoint", server.base_url, "--model", MODEL,
            "--clone-root", str(place.work),
        ]  # fmt: skip
        first = place.run(*words)
        assert first.returncode == 0, first.stdout + first.stderr
        scored = read_record(place.trial("word-tally").evaluation_file, Evaluation)
        assert list(scored.judges) == [f"codex/{MODEL}"] and scored.rubric is not None
        asked = len(server.requests)
        assert asked >= 2  # the proof, and the judging

        second = place.run(*words)
        assert second.returncode == 0, second.stdout + second.stderr
        assert "(kept)" in second.stdout
        assert len(server.requests) == asked
        assert read_record(place.trial("word-tally").evaluation_file, Evaluation) == scored
