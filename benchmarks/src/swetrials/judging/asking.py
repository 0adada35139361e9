"""The rules around a rubric judge, whoever it is: when to ask, what to do with the reply, when to give up."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from swetrials.judging.base import Submission
from swetrials.judging.prompt import judging_prompt
from swetrials.judging.reply import Reply, ReplyError, parse_reply
from swetrials.judging.rubric import DOCUMENTS, absent_scores, present_units
from swetrials.records.evaluation import UNITS, Grounding, JudgeBlock, RubricEvaluation, task_score_of
from swetrials.records.usage import UsageReport
from swetrials.store.clock import utc_now
from swetrials.store.files import sha256_of
from swetrials.store.redaction import Redactor

MOST_REPLIES = 2
"""A malformed reply is asked for once more, with the complaint; then the trial stays unscored."""


@dataclass(frozen=True)
class JudgeAnswer:
    """What came of asking once. ``failure`` is why there is no text to read, and empty when there is."""

    text: str
    failure: str
    usage: UsageReport
    grounding: Grounding
    duration_seconds: float


Ask = Callable[[str], Awaitable[JudgeAnswer]]
"""Puts one prompt to the judge."""


def scored_by_rule(submission: Submission) -> RubricEvaluation | None:
    """Return the evaluation of a trial that no judge is needed for, ``None`` when one is.

    An infrastructure failure stays unscored, and so does work of which the documents were never asked for that the
    rubric is about: they would count as 0. A healthy trial that left nothing scores 0.
    """
    if not submission.outcome.valid:
        return unscored(f"not judged: the trial ended as {submission.outcome.kind}, which says nothing of the model")
    if not set(DOCUMENTS).issubset(submission.artifacts):
        return unscored("not judged: the skill does not ask for the documents that the rubric scores")
    if not present_units(submission):
        return _scored(submission, Reply({}, "There is nothing to judge.", ()), None, "")
    return None


async def score_by_asking(submission: Submission, block: JudgeBlock, ask: Ask, redactor: Redactor) -> RubricEvaluation:
    """Score a trial by the rubric, asking the judge about the units that there is something to read of.

    Args:
        submission: a trial that ``scored_by_rule`` leaves to the judge.
        block: the judge, as far as it is known before asking.
        ask: puts one prompt to the judge.
        redactor: takes secrets out of what the judge wrote.
    """
    units = present_units(submission)
    block = block.model_copy(update={"prompt_sha256": sha256_of(judging_prompt(submission, units, nonce=""))})
    nonce, complaint = secrets.token_hex(16), ""
    for _ in range(MOST_REPLIES):
        answer = await ask(judging_prompt(submission, units, nonce, complaint))
        block = _with_answer(block, answer)
        if answer.failure:
            return unscored(redactor.text(answer.failure), block)
        try:
            reply = parse_reply(answer.text, submission.task.id, units)
        except ReplyError as error:
            complaint = str(error)
            continue
        return _scored(submission, _redacted(reply, redactor), block, _ungrounded_remark(answer.grounding))
    return unscored(redactor.text(f"the judge's reply was malformed {MOST_REPLIES} times: {complaint}"), block)


def unscored(reason: str, block: JudgeBlock | None = None) -> RubricEvaluation:
    """Return the state of a trial that nobody could score."""
    return RubricEvaluation(status="unscored", reason=reason, judge=block, evaluated_at=utc_now())


def _scored(submission: Submission, reply: Reply, block: JudgeBlock | None, remark: str) -> RubricEvaluation:
    absent = absent_scores(submission)
    scores = {unit: (reply.scores | absent)[unit] for unit in UNITS}
    by_rule = f"scored 0 by rule: {', '.join(f'{unit} ({absent[unit].notes})' for unit in absent)}" if absent else ""
    return RubricEvaluation(
        status="scored",
        reason="; ".join(part for part in (remark, by_rule, *reply.corrections) if part),
        task_score=task_score_of(score.total for score in scores.values()),
        scores=scores,
        verdict=reply.verdict,
        judge=block,
        evaluated_at=utc_now(),
    )


def _with_answer(block: JudgeBlock, answer: JudgeAnswer) -> JudgeBlock:
    # Grounding is that of the reply that is scored; what an earlier, refused one rested on says nothing of it.
    return block.model_copy(
        update={
            "usage": answer.usage if block.replies == 0 else block.usage + answer.usage,
            "duration_seconds": (block.duration_seconds or 0.0) + answer.duration_seconds,
            "replies": block.replies + 1,
            "grounding": answer.grounding,
        }
    )


def _ungrounded_remark(grounding: Grounding) -> str:
    if grounding.repo_grounded:
        return ""
    return (
        "the judge read nothing of the repository "
        f"({grounding.commands_run} commands, {grounding.commands_failed} of them failed)"
    )


def _redacted(reply: Reply, redactor: Redactor) -> Reply:
    scores = {
        unit: score.model_copy(update={"notes": redactor.text(score.notes)}) for unit, score in reply.scores.items()
    }
    return replace(reply, scores=scores, verdict=redactor.text(reply.verdict))
