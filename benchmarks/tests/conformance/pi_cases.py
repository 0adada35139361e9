"""pi's part of the battery."""

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
    made,
    of,
    repeated,
    swapped,
    torn,
    without_last_line,
)
from swetrials.records.outcome import OutcomeKind

OK = Expected(DONE, 3, (9, 2725, 1514, 29), tools={"bash": 3})
CASES: Cases = {
    "normal": Case(of("pi", "ok"), OK),
    "several blocks in a message": Case(of("pi", "ok"), OK),
    "parallel tool calls": Case(of("pi", "ok"), OK),
    "subagents": KnownLimit("it has none"),
    "compaction": KnownLimit("one prompt is one go, within which it never compacts"),
    "restart": Case(
        made("pi", "ok", repeated(b'"type":"message_end"')),
        Expected(DONE, 4, (12, 2725 + 1395, 1514 + 119, 31), tools={"bash": 3}),
    ),
    "retries then success": Case(
        of("pi", "retry_then_success"), Expected(DONE, 3, (9, 2725, 1514, 29), tools={"bash": 3}, retries=1)
    ),
    "retries then failure": Case(of("pi", "err429"), Expected(OutcomeKind.RATE_LIMITED, 0, NOTHING, retries=1)),
    "limit": Case(of("pi", "max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 1, (3, 0, 1330, 3))),
    "permission denied": KnownLimit("it has no permissions: it has a tool, or has it not"),
    "no end": Case(
        made("pi", "ok", without_last_line),
        Expected(CUT, 3, (9, 2725, 1514, 29), "lower_bound", tools={"bash": 3}),
    ),
    "torn": Case(made("pi", "ok", torn), Expected(CUT, 3, (9, 2725, 1514, 29), "lower_bound", tools={"bash": 3})),
    "two results": Case(made("pi", "ok", repeated(b'"type":"agent_end"')), OK),
    "error inside a success": Case(of("pi", "html"), Expected(OutcomeKind.PROVIDER_ERROR, 0, NOTHING)),
    "unknown events and fields": Case(made("pi", "ok", from_the_future), OK),
    "invalid UTF-8": Case(made("pi", "ok", swapped(b'"Done."', b'"Done.\xff\xfe"')), OK),
    "endless": Case(endless("pi", "ok", rb"def f():\n    return 1\n"), OK),
}  # fmt: skip
