"""How a trial ended, and on whose account."""

from enum import StrEnum
from typing import Self

from pydantic import Field

from swetrials.records.record import Record


class Blame(StrEnum):
    """Who has to answer for an outcome."""

    MODEL = "model"
    AGENT = "agent"
    PROVIDER = "provider"
    ENVIRONMENT = "environment"
    HARNESS = "harness"
    USER = "user"
    AMBIGUOUS = "ambiguous"


class OutcomeKind(StrEnum):
    """Every way in which an attempt or a trial can end."""

    COMPLETED = "completed"
    INCOMPLETE_ARTIFACTS = "incomplete_artifacts"
    TURN_LIMIT = "turn_limit"
    OUTPUT_LIMIT = "output_limit"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSED = "refused"
    EMPTY_SUCCESS = "empty_success"
    AGENT_CRASHED = "agent_crashed"
    TIMED_OUT = "timed_out"
    IDLE = "idle"
    UNFINISHED = "unfinished"
    RATE_LIMITED = "rate_limited"
    PROVIDER_ERROR = "provider_error"
    AUTH_FAILED = "auth_failed"
    ROUTE_NOT_USED = "route_not_used"
    CHECKOUT_FAILED = "checkout_failed"
    DISK_FULL = "disk_full"
    OUT_OF_MEMORY = "out_of_memory"
    PREPARATION_FAILED = "preparation_failed"
    NOT_SEALED = "not_sealed"
    BUDGET_SPENT = "budget_spent"
    INTERRUPTED = "interrupted"


USUAL_BLAME: dict[OutcomeKind, Blame] = {
    OutcomeKind.INCOMPLETE_ARTIFACTS: Blame.MODEL,
    OutcomeKind.TURN_LIMIT: Blame.MODEL,
    OutcomeKind.OUTPUT_LIMIT: Blame.MODEL,
    OutcomeKind.CONTEXT_OVERFLOW: Blame.MODEL,
    OutcomeKind.REFUSED: Blame.MODEL,
    OutcomeKind.EMPTY_SUCCESS: Blame.MODEL,
    OutcomeKind.AGENT_CRASHED: Blame.AGENT,
    OutcomeKind.TIMED_OUT: Blame.MODEL,
    OutcomeKind.IDLE: Blame.AMBIGUOUS,
    OutcomeKind.UNFINISHED: Blame.AMBIGUOUS,
    OutcomeKind.RATE_LIMITED: Blame.PROVIDER,
    OutcomeKind.PROVIDER_ERROR: Blame.PROVIDER,
    OutcomeKind.AUTH_FAILED: Blame.USER,
    OutcomeKind.ROUTE_NOT_USED: Blame.HARNESS,
    OutcomeKind.CHECKOUT_FAILED: Blame.ENVIRONMENT,
    OutcomeKind.DISK_FULL: Blame.ENVIRONMENT,
    OutcomeKind.OUT_OF_MEMORY: Blame.ENVIRONMENT,
    OutcomeKind.PREPARATION_FAILED: Blame.ENVIRONMENT,
    OutcomeKind.NOT_SEALED: Blame.ENVIRONMENT,
    OutcomeKind.BUDGET_SPENT: Blame.USER,
    OutcomeKind.INTERRUPTED: Blame.HARNESS,
}
"""Whom a kind is laid at when nothing more precise is known; a completed trial has nobody to blame."""


class Outcome(Record):
    """One ending: what, on whose account, and the detail a person needs to act on it."""

    kind: OutcomeKind
    blame: Blame | None = None
    detail: str = ""
    missing: tuple[str, ...] = Field(
        (),
        exclude_if=lambda names: not names,
        description="incomplete_artifacts: the files that are missing; absent otherwise, and in records of before",
    )

    @classmethod
    def of(cls, kind: OutcomeKind, detail: str = "", blame: Blame | None = None) -> Self:
        """Return an outcome with the kind's usual blame, unless another is given."""
        return cls(kind=kind, blame=blame or USUAL_BLAME.get(kind), detail=detail)

    @property
    def valid(self) -> bool:
        """Whether the trial says something about model or agent, and so belongs in the quality mean."""
        return self.blame in {None, Blame.MODEL, Blame.AGENT}
