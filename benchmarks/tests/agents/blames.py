"""On whose account an ending is: what every table of endings goes by."""

from swetrials.records.outcome import Blame, OutcomeKind

BLAMES = {
    OutcomeKind.RATE_LIMITED: Blame.PROVIDER,
    OutcomeKind.PROVIDER_ERROR: Blame.PROVIDER,
    OutcomeKind.AUTH_FAILED: Blame.USER,
    OutcomeKind.EMPTY_SUCCESS: Blame.MODEL,
    OutcomeKind.OUTPUT_LIMIT: Blame.MODEL,
    OutcomeKind.REFUSED: Blame.MODEL,
    OutcomeKind.TIMED_OUT: Blame.MODEL,
    OutcomeKind.TURN_LIMIT: Blame.MODEL,
    OutcomeKind.IDLE: Blame.AMBIGUOUS,
    OutcomeKind.UNFINISHED: Blame.AMBIGUOUS,
}
