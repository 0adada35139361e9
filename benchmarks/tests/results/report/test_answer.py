"""``swetrials answer``: its words are held against the records that they come from."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from results.simulated import failed, published, row
from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.cli.answer import show
from swetrials.records.answer import Answer, AnswerPart
from swetrials.records.outcome import OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.results.report.answer import answer
from swetrials.results.results_tree import ResultsTreeError, read_rows
from swetrials.results.trial_row import TrialRow
from swetrials.store.project import find_project

EXAMPLE = find_project().root / "swe-benchmark-data" / "example"
TREE = Path("tree")


def part(rows: list[TrialRow]) -> AnswerPart:
    [found] = answer(rows, TREE).parts
    return found


def codes(rows: list[TrialRow]) -> dict[str, str]:
    return {missing.code: missing.text for missing in part(rows).not_earned}


def test_a_rehearsal_ranks_nothing_and_leads_to_a_real_run() -> None:
    found = answer(read_rows(EXAMPLE), EXAMPLE)
    assert [one.scope for one in found.parts] == ["hello-world", "quickstart"]
    quickstart = found.parts[1]
    text = " ".join(quickstart.sentences)
    assert "On 3 tasks of quickstart, verified by their tests: 3 sealed trials of a scripted model" in text
    assert "2 of 3 valid trials completed; 2 of 3 resolved their task." in text
    assert "scores highest" not in text and "$" not in text
    texts = {missing.code: missing.text for missing in quickstart.not_earned}
    assert texts["rehearsal"] == "rehearsal: scripted model, ranks nothing"
    assert texts["made_by_hand"].startswith("3 tasks made by hand")
    assert texts.keys() >= {"one_model", "one_run_each", "few_tasks"}
    assert not texts.keys() & {"scored_by_rubric", "exit_codes_only"}, "single tests decided"
    assert "not_sealed" not in texts, "its trials were sealed"
    assert found.next_command.startswith("swetrials e2e --provider endpoint")


def test_the_published_figures_name_the_best_what_ties_and_what_that_costs() -> None:
    found = part(published())
    text = " ".join(found.sentences)
    assert "On 21 tasks of scope, scored by a rubric (judge not told): 378 trials of 18 models behind omp" in text
    assert "claude-opus-5 scores highest: 82.8" in text
    assert "do not tell it apart from glm-5.3" in text and "qwen3.8-27b, at $1.47" in text
    texts = {missing.code: missing.text for missing in found.not_earned}
    assert "exit_codes_only" not in texts
    assert texts["heavy_task"].startswith("one task is over a quarter of the cost of 1 model: such")
    assert (found.trials, found.tasks, found.candidates) == (378, 21, 18)


def resolving(model: str, resolved: int, tasks: int = 21, cost_usd: float = 1.0) -> list[TrialRow]:
    """Return the trials of a model that resolves the first few tasks."""
    alike = row(None, model=model, evidence="tests", rank_by="resolved", cost_usd=cost_usd)
    return [replace(alike, task=f"t{n:02}", resolved=n < resolved, tests_passed=n < resolved) for n in range(tasks)]


def test_resolve_rates_are_told_with_the_price_of_a_resolved_task() -> None:
    rows = [*resolving("good", 14, cost_usd=0.56), *resolving("as-good", 13, cost_usd=0.1), *resolving("bad", 1)]
    found = part(rows)
    done, best, tied, cheapest = found.sentences
    assert done.startswith("On 21 tasks of scope, verified by their tests: 63 trials of 3 models behind omp")
    assert re.fullmatch(
        r"good resolves the most, 67 % \(45 to 83\), at \$0\.84 \(\S+ to \S+\) per resolved task\.", best
    )
    assert tied == "These trials do not tell it apart from as-good (62 %)."
    assert cheapest.startswith("The cheapest of them is as-good, at $0.16 (")
    assert cheapest.endswith(" per resolved task (81% less).")
    assert (found.rank_by, found.rubric, found.tests) == ("resolved", False, True)
    assert {"scored_by_rubric", "exit_codes_only", "unscored"}.isdisjoint(codes(rows))


def test_what_nobody_resolves_has_no_price_but_what_was_spent() -> None:
    one, both = resolving("a", 0, 6), [*resolving("a", 0, 6), *resolving("b", 0, 6)]
    assert part(one).sentences[1] == "a does not resolve any task: 0 % (0 to 39), for over $6.00."
    assert part(both).sentences[1] == "No model resolves any task: 0 % (0 to 39), for over $6.00."


def test_what_there_is_to_doubt_in_a_rate_is_told_with_its_number() -> None:
    rows = resolving("a", 4, 8)
    changed = {
        0: {"evidence": "exit-code"},
        1: {"evidence": "weak"},
        2: {"doubtful": True},
        6: {"resolved": None, "tests_passed": None, "void_reason": "gold fails as well"},
        7: {"resolved": None, "tests_passed": None, "evidence": None},
    }
    told = codes([replace(one, **changed.get(n, {})) for n, one in enumerate(rows)])  # type: ignore[arg-type]
    assert told["exit_codes_only"].startswith("exit codes only in 1 of 6 verdicts: ")
    assert told["weak_evidence"].startswith("weak evidence in 1 verdict: ")
    assert told["doubtful"].startswith("1 doubtful verdict: ")
    assert told["void"].startswith("1 trial void: ")
    assert told["unchecked"] == "1 completed trial that no test has checked"
    assert answer([replace(rows[0], resolved=None, tests_passed=None)], TREE).next_command == (
        "swetrials judge --recursive --no-overwrite --judge tests --folder tree"
    )


def test_beside_a_rubric_exit_codes_tell_passed_tests() -> None:
    rows = [
        row(None, model=model, task=f"t{task}", tests_passed=task < passes, cost_usd=cost)
        for model, passes, cost in (("good", 20, 3.0), ("as-good", 19, 1.0), ("bad", 2, 0.5))
        for task in range(21)
    ]
    text = " ".join(part(rows).sentences)
    assert "scored by the exit codes of their tests" in text
    assert re.search(r"good passes the tests of the most tasks, 95% \(77% to 99%\), at \$3\.00 .* a trial\.", text)
    assert "cannot be told apart from as-good (90%, at $1.00" in text
    assert "bad" not in text.split("apart from")[1]
    assert "scored_by_rubric" not in codes(rows)
    assert "unscored" not in codes(rows)


@pytest.mark.parametrize(
    ("passes", "models", "said"),
    [
        (1, ("a",), "a passes the tests of 50% of the tasks ("),
        (0, ("a",), "a passes the tests of 0% of the tasks ("),
        (0, ("a", "b"), "No model passes the tests of any task ("),
    ],
)
def test_the_tests_word_is_a_sentence_and_leads_with_nobody_who_passes_none(
    passes: int, models: tuple[str, ...], said: str
) -> None:
    rows = [row(None, model=model, task=f"t{n}", tests_passed=n < passes) for model in models for n in (0, 1)]
    assert said in " ".join(part(rows).sentences)


def test_how_the_tasks_of_imported_figures_were_made_is_not_claimed() -> None:
    told = codes([replace(row(60, task=task), source="somebody") for task in "ab"])
    assert "made_by_hand" not in told
    assert "how their tasks were made is not told: somebody" in told["imported"]


def test_what_failed_is_told_with_its_number() -> None:
    rows = [row(60, task="a"), row(None, task="b"), *(failed(valid=False, task="c", repeat=r) for r in (1, 2))]
    told = codes(rows)
    assert told["infrastructure"].startswith("2 trials failed for infrastructure")
    assert told["unscored"].startswith("1 completed trial without a score")
    assert told["one_model"].startswith("one model")
    assert "one_run_each" not in told
    assert answer(rows, TREE).next_command == "swetrials judge --recursive --no-overwrite --folder tree"


def test_costs_that_are_not_known_are_told() -> None:
    told = codes([row(60, task="a", cost_usd=None), row(50, task="b", cost_is_lower_bound=True)])
    assert told["cost_unknown"] == "the cost of 1 completed trial is not known"
    assert told["cost_is_lower_bound"] == "the cost of 1 completed trial is at least what is told"


def test_several_judges_give_no_answer_and_say_what_settles_it() -> None:
    rows = [row(60, task="a", judge="codex/x"), row(50, task="b", judge="codex/y")]
    assert codes(rows)["mixed"] == "over several: 2 judges"
    assert "Choose one with --judge NAME" in part(rows).sentences[-1]
    assert "highest" not in " ".join(part(rows).sentences)


def test_what_nobody_scored_is_said() -> None:
    rows = [row(None, task="a")]
    assert codes(rows)["not_scored"].startswith("not scored yet")
    assert "not scored yet" in part(rows).sentences[0]


def test_real_models_come_before_rehearsals_and_are_never_mixed(tmp_path: Path) -> None:
    for rehearsal in (True, False):
        record = metrics(task="t", rehearsal=rehearsal, model_slug="script" if rehearsal else "real")
        tests = TestsEvaluation(status="scored", passed=True)
        write_trial(tmp_path, record, evaluation(record, rubric(20), tests))
    real, scripted = answer(read_rows(tmp_path), tmp_path).parts
    assert (real.rehearsal, scripted.rehearsal) == (False, True)
    assert "real scores: 80.0" in " ".join(real.sentences)
    assert "80.0" not in " ".join(scripted.sentences)


def test_it_is_wrapped_for_people_and_a_record_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(EXAMPLE, None, as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:-1])) <= 100
    assert lines[-1].strip().startswith("swetrials ")
    assert show(EXAMPLE, None, as_json=True) == 0
    assert Answer.model_validate(json.loads(capsys.readouterr().out)).parts[1].tasks == 3
    record = metrics(OutcomeKind.COMPLETED, task="torn")
    folder = write_trial(tmp_path, metrics(task="whole"))
    (write_trial(tmp_path, record) / "metrics.json").write_text("{")
    assert folder.exists()
    assert show(tmp_path, None, as_json=False) == 1
    with pytest.raises(ResultsTreeError, match="no such folder"):
        show(tmp_path / "empty", None, as_json=False)
