"""What an evaluation may and may not say."""

import pytest
from pydantic import ValidationError

from swetrials.records.evaluation import CRITERIA, UNITS, Evaluation, JudgeBlock, RubricEvaluation, UnitScore
from swetrials.records.verification import CommandResult, TestsEvaluation

UNIT = UnitScore(completeness=20, correctness=21, specificity=19, risk_awareness=18)
SCORES = dict.fromkeys(UNITS, UNIT)


def test_a_total_is_worked_out_and_never_taken_over() -> None:
    score = UnitScore.model_validate(
        {"completeness": 1, "correctness": 2, "specificity": 3, "risk_awareness": 4, "total": 100}
    )
    assert score.total == 10
    assert UnitScore.model_validate_json(score.model_dump_json()) == score


@pytest.mark.parametrize("points", [-1, 26, 12.5, "many", None])
def test_points_are_whole_numbers_from_0_to_25(points: object) -> None:
    with pytest.raises(ValidationError):
        UnitScore.model_validate({**UNIT.model_dump(), "correctness": points})


def test_an_absent_artifact_scores_zero_and_says_so() -> None:
    absent = UnitScore.absent("review.md was not written")
    assert (absent.total, absent.missing, absent.notes) == (0, True, "review.md was not written")


def test_a_scored_evaluation_carries_the_mean_of_all_units() -> None:
    scores = {**SCORES, "review": UnitScore.absent("not there")}
    assert RubricEvaluation(status="scored", task_score=62.4, scores=scores).task_score == 62.4


@pytest.mark.parametrize(
    ("score", "scores"),
    [
        (77.9, SCORES),
        (None, SCORES),
        (78.0, dict.fromkeys(UNITS[1:], UNIT)),
        (78.0, {**SCORES, "poetry": UNIT}),
    ],
)
def test_a_wrong_mean_or_other_units_are_refused(score: float | None, scores: dict[str, UnitScore]) -> None:
    with pytest.raises(ValidationError):
        RubricEvaluation(status="scored", task_score=score, scores=scores)


def test_an_unscored_evaluation_has_a_reason_and_no_score() -> None:
    assert RubricEvaluation(status="unscored", reason="the judge timed out").task_score is None
    with pytest.raises(ValidationError, match="no task_score"):
        RubricEvaluation(status="unscored", task_score=0)


@pytest.mark.parametrize(("exit_code", "passed"), [(0, True), (1, False), (-9, False), (None, False)])
def test_a_command_passes_with_exit_code_0_alone(exit_code: int | None, passed: bool) -> None:
    result = CommandResult(argv=("true",), stage="verify", exit_code=exit_code, duration_seconds=0.1)
    assert result.passed is passed


def test_a_published_total_stands_without_criteria() -> None:
    score = UnitScore(published_total=83)
    assert (score.total, score.correctness) == (83, None)
    assert UnitScore.model_validate_json(score.model_dump_json()) == score
    assert "published_total" not in UNIT.model_dump()


@pytest.mark.parametrize("fields", [{}, {"published_total": 101}, {**UNIT.model_dump(), "published_total": 78}])
def test_a_unit_has_its_criteria_or_a_published_total_and_not_both(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        UnitScore.model_validate(fields)


def rubric_of(points: int, model: str | None) -> RubricEvaluation:
    scores = dict.fromkeys(UNITS, UnitScore(**dict.fromkeys(CRITERIA, points)))
    judge = JudgeBlock(name="codex", provider="personal", model=model)
    return RubricEvaluation(status="scored", task_score=4.0 * points, scores=scores, judge=judge)


def test_a_second_rubric_judge_stands_beside_the_first_and_not_in_its_place() -> None:
    tests = TestsEvaluation(status="scored", passed=True, fraction=1.0)
    evaluation = Evaluation(task="t", trial_id="t@1").with_word("tests", tests, "t1")
    evaluation = evaluation.with_word("codex/judge-a", rubric_of(20, "judge-a"), "a1")
    evaluation = evaluation.with_word("codex/judge-b", rubric_of(5, "judge-b"), "b1")
    assert evaluation.headline == evaluation.headline_judge == "codex/judge-a"
    assert evaluation.rubric is not None and evaluation.rubric.task_score == 80.0
    assert evaluation.tests == tests
    assert {name: j.scored_sha256 for name, j in evaluation.judgments.items()} == {
        "tests": "t1", "codex/judge-a": "a1", "codex/judge-b": "b1",
    }  # fmt: skip
    evaluation = evaluation.with_word("codex/judge-a", rubric_of(10, "judge-a"), "a2")
    assert evaluation.rubric is not None and evaluation.rubric.task_score == 40.0
    assert evaluation.judgments["codex/judge-b"].scored_sha256 == "b1"
    assert Evaluation.model_validate_json(evaluation.model_dump_json()) == evaluation


@pytest.mark.parametrize(
    ("judge", "name"),
    [
        (JudgeBlock(name="codex", provider="personal"), "codex/default"),
        (JudgeBlock(name="codex", provider="bedrock", model="judge-a"), "codex/judge-a"),
        (None, "rubric"),
    ],
)
def test_a_file_of_before_there_were_judges_reads_as_judgments_of_an_unknown_version(
    judge: JudgeBlock | None, name: str
) -> None:
    old = Evaluation(
        task="t",
        trial_id="t@1",
        rubric=rubric_of(20, None).model_copy(update={"judge": judge}),
        tests=TestsEvaluation(status="scored", passed=False, fraction=0.5),
    )
    assert old.headline == name
    assert {key: (j.kind, j.scored_sha256, j.scored) for key, j in old.judgments.items()} == {
        name: ("rubric", None, True), "tests": ("tests", None, True),
    }  # fmt: skip
    assert "judges" not in old.model_dump()
    beside = old.with_word("codex/another", rubric_of(1, "another"), "x")
    if judge is None:
        assert (beside.headline, list(beside.judgments)) == ("codex/another", ["tests", "codex/another"])
        return
    assert (beside.headline, beside.rubric) == (name, old.rubric)
    assert list(beside.judgments) == [name, "tests", "codex/another"]
