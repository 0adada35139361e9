"""What the statistics read of ``eval.json``."""

from swetrials.records.evaluation import UNNAMED, judge_label
from swetrials.records.verification import Evidence
from swetrials.results.record_part import Points, RecordPart


class ScoresPart(RecordPart):
    """Of ``eval.json``: whose scores they are."""

    trial_id: str


class UnitPart(RecordPart):
    """Of one of ``rubric.scores``."""

    total: Points
    missing: bool = False


class GroundingPart(RecordPart):
    """Of ``rubric.judge.grounding``."""

    repo_grounded: bool | None = None


class JudgePart(RecordPart):
    """Of ``rubric.judge``."""

    name: str
    model: str | None = None
    reasoning_effort: str | None = None
    grounding: GroundingPart = GroundingPart()

    @property
    def key(self) -> str:
        """What a judge is called among several; as the records have it."""
        return judge_label(self.name, self.model)


class RubricPart(RecordPart):
    """Of ``rubric``."""

    status: str
    reason: str = ""
    task_score: Points | None = None
    scores: dict[str, UnitPart] = {}
    judge: JudgePart | None = None


class CountPart(RecordPart):
    """Of ``tests.fail_to_pass`` and ``tests.pass_to_pass``."""

    passed: int
    total: int


class TestsPart(RecordPart):
    """Of ``tests``."""

    passed: bool | None = None
    fraction: float | None = None
    report: str | None = None
    resolved: bool | None = None
    evidence: Evidence | None = None
    doubtful: bool = False
    void_reason: str = ""
    fail_to_pass: CountPart | None = None
    pass_to_pass: CountPart | None = None

    @property
    def resolves(self) -> bool | None:
        """Whether the patch resolves the task; an older record tells how commands ended, and nothing else."""
        return self.passed if self.resolved is None else self.resolved

    @property
    def stands_on(self) -> Evidence | None:
        """What the verdict stands on; an older record tells it by its report. ``None``: there is no verdict."""
        if self.resolves is None:
            return None
        return self.evidence or ("exit-code" if self.report in {None, "exit-code"} else "tests")

    @property
    def regressions(self) -> int | None:
        """How many tests that had to stay green are not; ``None``: no single test was told."""
        return None if self.pass_to_pass is None else self.pass_to_pass.total - self.pass_to_pass.passed


class JudgmentPart(RecordPart):
    """Of one of ``judges``."""

    kind: str
    scored_sha256: str | None = None
    rubric: RubricPart | None = None
    tests: TestsPart | None = None


class EvaluationPart(ScoresPart):
    """Of ``eval.json``."""

    rubric: RubricPart | None = None
    tests: TestsPart | None = None
    judges: dict[str, JudgmentPart] = {}
    headline_judge: str | None = None

    @property
    def rubric_judges(self) -> dict[str, JudgmentPart]:
        """Every judge that gives points, by name. An older record has one, which its own block names."""
        named = {name: one for name, one in self.judges.items() if one.kind == "rubric" and one.rubric}
        if named or self.rubric is None:
            return named
        name = self.rubric.judge.key if self.rubric.judge else UNNAMED
        return {name: JudgmentPart(kind="rubric", rubric=self.rubric)}

    def judged_by(self, judge: str | None) -> tuple[str | None, JudgmentPart | None]:
        """Return a judge's name and its judgment; without a name, those of the headline, else of the first there is."""
        judges = self.rubric_judges
        name = judge if judge is not None else self.headline_judge
        if judge is None and name not in judges:
            name = next(iter(judges), None)
        return (None if name == UNNAMED else name, judges[name]) if name in judges else (None, None)

    @property
    def tests_judgment(self) -> JudgmentPart | None:
        """What the tests judge says; ``None``: it was not asked."""
        named = next((one for one in self.judges.values() if one.kind == "tests" and one.tests), None)
        return named or (JudgmentPart(kind="tests", tests=self.tests) if self.tests else None)
