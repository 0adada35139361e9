"""The main job as a newcomer does it: the quickstart dataset, end to end, with the real agent and the real judge."""

import json
import pathlib

import pytest

import test_front_page
from e2e.harness import QUICKSTART, Workplace, check_witness, needs_agent
from swetrials.records.evaluation import Evaluation
from swetrials.records.outcome import OutcomeKind
from swetrials.records.summary import RunSummary
from swetrials.store.files import read_record
from swetrials.workspace.patch import apply_patch
from swetrials.workspace.repositories import Repositories

pytestmark = [pytest.mark.slow, needs_agent("claude"), needs_agent("codex")]

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-secret-123",
    "AWS_SECRET_ACCESS_KEY": "aws-secret-value-0",
    "MY_TOKEN": "tok-9f3e2d1c",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """One whole run that the tests below look at."""
    place = Workplace(tmp_path_factory.mktemp("quickstart"), SECRETS)
    done = place.run("e2e", "--provider", "rehearsal", "--model", "rehearsal", "--dataset", QUICKSTART, "--yes",
                     "--keep-checkouts")  # fmt: skip
    (place.root / "stdout.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.mark.once
def test_three_endings(place: Workplace) -> None:
    records = place.records()
    assert {name: record.outcome.kind for name, record in records.items()} == {
        "word-tally": OutcomeKind.COMPLETED,
        "slugify-unicode": OutcomeKind.COMPLETED,
        "temperature-table": OutcomeKind.INCOMPLETE_ARTIFACTS,
    }
    assert records["temperature-table"].outcome.detail == "missing: review.md, testing.md"
    passed = {name: r.evaluation.tests.passed for name, r in records.items() if r.evaluation and r.evaluation.tests}
    assert passed == {"word-tally": True, "slugify-unicode": False, "temperature-table": True}


@pytest.mark.once
def test_tokens_agree_to_the_token_in_disjoint_buckets(place: Workplace) -> None:
    for record in place.records().values():
        told = record.usage
        assert told.served is not None
        assert told.reported == told.served
        check_witness(told.metered, told.served.usage)
        assert (told.source, told.headline) == ("metered", told.metered)
        usage = record.usage.headline.usage
        assert record.usage.headline.completeness == "complete"
        assert (record.input_tokens, record.output_tokens) == (usage.fresh_input, usage.output)
        assert usage.cache_read and usage.cache_write and usage.fresh_input and usage.output
        assert usage.cache_write == (usage.cache_write_5m or 0) + (usage.cache_write_1h or 0)
        assert record.cost.basis == "free"
        assert record.findings == ()


@pytest.mark.once
def test_scores_name_their_judge_and_what_it_read(place: Workplace) -> None:
    for name, record in place.records().items():
        evaluation = read_record(place.trial(name).evaluation_file, Evaluation)
        assert evaluation == record.evaluation
        assert evaluation.rubric is not None and evaluation.rubric.judge is not None
        assert evaluation.rubric.status == "scored"
        assert evaluation.rubric.judge.provider == "rehearsal"
        assert evaluation.rubric.judge.commit == record.provenance.commit
        assert evaluation.rubric.judge.grounding.repo_grounded is True
    left_out = place.records()["temperature-table"].evaluation
    assert left_out is not None and left_out.rubric is not None
    assert left_out.rubric.scores["review"].missing
    assert left_out.rubric.scores["review"].total == 0


@pytest.mark.once
def test_the_summary_is_labelled_and_has_both_denominators(place: Workplace) -> None:
    summary = read_record(place.scope / "run-summary.json", RunSummary)
    assert (summary.rehearsal, summary.num_tasks, summary.num_scored, summary.num_failed) == (True, 3, 3, 1)
    assert summary.failed_tasks == ("temperature-table",)
    assert (summary.tests_passed, summary.tests_run) == (2, 3)
    assert summary.valid_trials.num_trials == summary.all_trials.num_trials == 3
    assert "REHEARSAL" in (place.scope / "run-summary.md").read_text()
    assert "REHEARSAL" in (place.root / "stdout.txt").read_text()


@pytest.mark.once
def test_the_front_page_shows_what_was_printed(place: Workplace) -> None:
    printed = (place.root / "stdout.txt").read_text()
    if "ok   bubblewrap" not in printed:
        pytest.skip("the front page shows a machine with bubblewrap")
    shown = [line for line in test_front_page.sample() if not line.startswith("written to ")]
    missing = [line for line in test_front_page.shape(shown) if line not in test_front_page.shape(printed.splitlines())]
    assert missing == []


@pytest.mark.once
def test_the_patch_applies_to_a_fresh_checkout(place: Workplace, tmp_path: pathlib.Path) -> None:
    record = place.records()["word-tally"]
    assert record.provenance.commit is not None
    repositories = Repositories(place.work / "mirrors")
    bundle = str(QUICKSTART.parent / "quickstart" / "word-tally.bundle")
    assert repositories.resolve(bundle, record.ref) == record.provenance.commit
    repositories.check_out(bundle, record.provenance.commit, tmp_path / "fresh")
    apply_patch(tmp_path / "fresh", (place.trial("word-tally").path / "patch.diff").read_bytes())
    assert "--top" in (tmp_path / "fresh" / "word_tally" / "cli.py").read_text()


@pytest.mark.once
def test_the_invokers_secrets_are_nowhere(place: Workplace) -> None:
    homes = [path for path in place.work.glob("*/home") if path.is_dir()]
    assert len(homes) == 3
    for path in place.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            for value in SECRETS.values():
                assert value.encode() not in data, path


def test_an_agent_sees_neither_secrets_nor_the_harness(tmp_path: pathlib.Path) -> None:
    place = Workplace(tmp_path, SECRETS)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        'schema_version: "1.0"\nname: spy\nscripts:\n  - when: "task_id: word-tally"\n    steps:\n'
        "      - shell: env > ${artifacts_dir}/lld.md; pwd >> ${artifacts_dir}/lld.md\n"
        "      - shell: (git log --all --oneline; git remote -v) > ${artifacts_dir}/review.md\n"
    )
    done = place.run("run", "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario", scenario, "--skip-probe")
    assert done.returncode == 0, done.stdout + done.stderr
    seen = (place.trial("word-tally").path / "lld.md").read_text()
    assert "PATH=" in seen
    names = {line.split("=", 1)[0] for line in seen.splitlines()}
    assert not names & {"AWS_SECRET_ACCESS_KEY", "MY_TOKEN"}
    assert not [name for name in names if name.startswith("SWETRIALS")]
    assert str(QUICKSTART.parent) not in seen
    assert len((place.trial("word-tally").path / "review.md").read_text().splitlines()) == 1


def test_judging_again_keeps_what_is_scored_and_retries_what_is_not(place: Workplace) -> None:
    metrics = place.trial("word-tally").metrics()
    before = place.trial("slugify-unicode").evaluation_file.read_bytes()
    evaluation = metrics.evaluation
    assert evaluation is not None
    spoilt = json.loads(place.trial("word-tally").evaluation_file.read_text())
    spoilt["rubric"] = {"status": "unscored", "reason": "timed out"}
    place.trial("word-tally").evaluation_file.write_text(json.dumps(spoilt))
    done = place.run("judge", "--recursive", "--no-overwrite", "--folder", place.results, "--clone-root", place.work)
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.trial("slugify-unicode").evaluation_file.read_bytes() == before
    again = place.trial("word-tally").metrics().evaluation
    assert again is not None and again.rubric is not None and evaluation.rubric is not None
    assert again.rubric.task_score == evaluation.rubric.task_score


def test_a_second_run_is_refused_without_a_word_on_the_first(place: Workplace) -> None:
    before = {p: p.read_bytes() for p in place.scope.rglob("*") if p.is_file() and p.name != ".lock"}
    done = place.run("run", "--dataset", QUICKSTART, "--skip-probe")
    assert done.returncode == 3
    assert "--resume" in done.stdout
    assert {p: p.read_bytes() for p in place.scope.rglob("*") if p.is_file() and p.name != ".lock"} == before
