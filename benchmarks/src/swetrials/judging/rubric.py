"""The rubric: what is scored, by which criteria, what the points mean, and what is scored by rule."""

from swetrials.judging.base import Submission
from swetrials.records.evaluation import CRITERIA, UNITS, UnitScore
from swetrials.records.metrics import documents_in

UNIT_ARTIFACTS: dict[str, tuple[str, ...]] = {
    "github_issue": ("github-issue.md",),
    "lld": ("lld.md",),
    "review": ("review.md",),
    "testing": ("testing.md",),
    "implementation": ("patch.diff", "implementation.md"),
}
"""The files behind each unit. The first one decides whether the unit is there at all."""

DOCUMENTS = documents_in(name for names in UNIT_ARTIFACTS.values() for name in names)
"""The files among them that an agent writes, where its skill asks for them."""

UNIT_PURPOSE = {
    "github_issue": "states the problem so that another engineer could pick it up: context, scope, acceptance criteria",
    "lld": "the low-level design: which files, functions and data change, how, and which alternatives were rejected",
    "review": "a critical review of that design: what could go wrong, what was missed, what must change before merging",
    "testing": "how the change is tested: cases, data, commands, and what is deliberately left untested",
    "implementation": "the change itself (patch.diff) and its description (implementation.md)",
}

CRITERIA_TEXT = {
    "completeness": "covers everything that the task asks for, and everything that follows from it",
    "correctness": "true of this repository and of the problem: names, paths, behaviour and logic hold when checked",
    "specificity": "about this code base rather than any code base: real files, real functions, exact behaviour",
    "risk_awareness": "sees edge cases, compatibility, failure modes, security and roll-back, and deals with them",
}

ANCHORS = """\
 5  of 25: a token effort. Mostly generic or wrong; somebody would have to start again.
12  of 25: half of it stands. The idea is there, with gaps or mistakes that a reviewer must find and mend.
18  of 25: competent. A reviewer would accept it after small remarks; the claims that were checked hold.
23  of 25: excellent. Complete, verified against the code, with insight that the task did not hand over.
25 is for work in which a specialist of this code base finds nothing to add; 0 is for nothing relevant at all."""

CALIBRATION = """\
Most competent work lands between 60 and 80 of 100. Above 85 is rare and needs evidence from the code that you can name;
below 40 means that the artifact would mislead its reader. Length earns nothing. A fluent text with claims that the
repository contradicts scores lower than a short one that is right. Judge each artifact for itself: a good design does
not lift a patch that does not do what the design says."""


def present_units(submission: Submission) -> tuple[str, ...]:
    """Return the units that there is something to score of, in the order of ``UNITS``."""
    return tuple(unit for unit in UNITS if _is_present(submission, UNIT_ARTIFACTS[unit][0]))


def absent_scores(submission: Submission) -> dict[str, UnitScore]:
    """Return the zeros of the units whose artifact a trial did not leave."""
    present = present_units(submission)
    return {unit: UnitScore.absent(f"no {UNIT_ARTIFACTS[unit][0]}") for unit in UNITS if unit not in present}


def artifact_text(submission: Submission, name: str) -> str | None:
    """Return an artifact as the judge will read it, ``None`` when it is missing or blank."""
    if name == "patch.diff":
        content = submission.patch.decode(errors="replace") if submission.patch else None
    else:
        content = submission.artifacts.get(name)
    return content if content and content.strip() else None


def reply_schema(units: tuple[str, ...]) -> dict[str, object]:
    """Return the JSON Schema of a reply about ``units``, in the strict form that structured output wants."""
    points = {"type": "integer", "minimum": 0, "maximum": 25}
    unit = _strict_object(
        {
            **dict.fromkeys(CRITERIA, points),
            "total": {"type": "integer", "minimum": 0, "maximum": 100},
            "notes": {"type": "string"},
        }
    )
    return _strict_object(
        {
            "task": {"type": "string"},
            "units": _strict_object(dict.fromkeys(units, unit)),
            "verdict": {"type": "string"},
        }
    )


def _strict_object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _is_present(submission: Submission, name: str) -> bool:
    return artifact_text(submission, name) is not None
