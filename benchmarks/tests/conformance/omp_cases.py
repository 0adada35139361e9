"""omp's part of the battery."""

from conformance.cases import (
    CUT,
    DONE,
    NOTHING,
    Case,
    Cases,
    Expected,
    KnownLimit,
    endless,
    from_the_future,
    inserted,
    made,
    of,
    repeated,
    swapped,
    torn,
)
from swetrials.records.outcome import OutcomeKind

OK = Expected(DONE, 3, (9, 18524, 9431, 29), tools={"bash": 3})
RETRY = b'{"type":"auto_retry_start","attempt":1,"delayMs":500,"errorMessage":"429 too many requests"}'
CASES: Cases = {
    "normal": Case(of("omp", "ok"), OK),
    "several blocks in a message": Case(of("omp", "ok"), OK),
    "parallel tool calls": Case(of("omp", "ok"), OK),
    "subagents": Case(
        of("omp", "subagent"),
        Expected(DONE, 2, (24, 88331, 25969, 86), tools={"task": 1}, subagents=1,
                 subagent_tokens=(18, 79105, 16594, 59)),
    ),
    # The summary that replaces the conversation is billed and in no message.
    "compaction": Case(
        of("omp", "compaction"),
        Expected(DONE, 6, (18, 59240, 20056, 70), "lower_bound", tools={"bash": 5}, compactions=1),
    ),
    "restart": Case(
        made("omp", "ok", repeated(b'"type":"message_end"')),
        Expected(DONE, 4, (12, 18524 + 9298, 9431 + 133, 31), tools={"bash": 3}),
    ),
    "retries then success": Case(
        made("omp", "ok", inserted(RETRY, after=b'"role":"user"')),
        Expected(DONE, 3, (9, 18524, 9431, 29), tools={"bash": 3}, retries=1),
    ),
    # It sends a failing request eleven times before it tells of one retry.
    "retries then failure": Case(of("omp", "err429"), Expected(OutcomeKind.RATE_LIMITED, 0, NOTHING)),
    "limit": Case(of("omp", "max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 1, (3, 0, 9226, 3))),
    "permission denied": KnownLimit("it is started with --auto-approve, and denies nothing"),
    "no end": Case(of("omp", "killed"), Expected(CUT, 1, (3, 0, 9226, 1), "lower_bound")),
    "torn": Case(
        made("omp", "ok", torn), Expected(CUT, 3, (9, 18524, 9431, 29), "lower_bound", tools={"bash": 3})
    ),
    "two results": Case(made("omp", "ok", repeated(b'"type":"agent_end"')), OK),
    "error inside a success": Case(
        of("omp", "cut"), Expected(OutcomeKind.PROVIDER_ERROR, 1, (3, 0, 9226, 1), "lower_bound")
    ),
    "unknown events and fields": Case(made("omp", "ok", from_the_future), OK),
    "invalid UTF-8": Case(made("omp", "ok", swapped(b'"Done."', b'"Done.\xff\xfe"')), OK),
    "endless": Case(endless("omp", "ok", rb"def f():\n    return 1\n"), OK),
}  # fmt: skip
