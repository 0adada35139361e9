"""What scores a trial: the dataset's own tests, and a rubric judge."""

from collections.abc import Callable

from swetrials.judging.base import Judge, JudgeSettings, Submission
from swetrials.judging.codex import CodexJudge
from swetrials.judging.routes import BedrockRoute, EndpointRoute, JudgeRoute, PersonalRoute
from swetrials.judging.tests import TestsJudge
from swetrials.plugins import Family


def _tests(settings: JudgeSettings) -> TestsJudge:
    # The dataset says all there is to say: nothing about these tests is for a person to set.
    return TestsJudge()


JUDGES: Family[Callable[[JudgeSettings], Judge]] = Family(
    "judge", {"codex": CodexJudge, "tests": _tests}, Judge, made_by_call=True
)
"""How to make each judge, by its name."""

__all__ = [
    "JUDGES",
    "BedrockRoute",
    "CodexJudge",
    "EndpointRoute",
    "Judge",
    "JudgeRoute",
    "JudgeSettings",
    "PersonalRoute",
    "Submission",
    "TestsJudge",
]
