"""opencode's part of the battery."""

from conformance.cases import (
    CUT,
    DONE,
    NOTHING,
    Case,
    Cases,
    Expected,
    endless,
    from_the_future,
    made,
    of,
    repeated,
    swapped,
    torn,
)
from swetrials.records.outcome import OutcomeKind

TOOLS = {"bash": 3, "edit": 1, "read": 1}
OK = Expected(DONE, 4, (12, 22021, 7606, 68), tools=TOOLS)
CASES: Cases = {
    "normal": Case(of("opencode", "ok"), OK),
    "several blocks in a message": Case(of("opencode", "ok"), OK),
    "parallel tool calls": Case(of("opencode", "ok"), OK),
    # A subagent's tokens are in no step.
    "subagents": Case(
        of("opencode", "subagent"),
        Expected(DONE, 3, (9, 14634, 7482, 41), "lower_bound", tools={"task": 1, "bash": 2}, subagents=1),
    ),
    "compaction": Case(
        of("opencode", "compaction"), Expected(DONE, 4, (12, 14520, 11834, 48), tools={"bash": 2}, compactions=1)
    ),
    "restart": Case(
        made("opencode", "ok", repeated(b'"type":"step_start"'),
             lambda lines: [*lines[:-1], lines[-1].replace(b'"id":"prt_', b'"id":"prt_again_')]),
        Expected(DONE, 5, (15, 22021 + 7428, 7606 + 178, 70), tools=TOOLS),
    ),
    # It does not tell of retries: there is a step that begins twice.
    "retries then success": Case(
        of("opencode", "cut_then_success"),
        Expected(DONE, 3, (9, 14660, 7428, 22), "lower_bound", tools={"bash": 4}),
    ),
    "retries then failure": Case(
        of("opencode", "err429"), Expected(OutcomeKind.RATE_LIMITED, 1, (3, 0, 7268, 9), tools={"bash": 1})
    ),
    "limit": Case(of("opencode", "max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 1, (3, 0, 7268, 1))),
    "permission denied": Case(
        made("opencode", "ok",
             swapped(b'"status":"completed","input":{"command":"cat x.py"}',
                     b'"status":"error","input":{"command":"cat x.py"},"error":"The user has specified a rule which '
                     b'prevents you from using this specific tool call. Here are the rules: []"')),
        Expected(DONE, 4, (12, 22021, 7606, 68), tools=TOOLS, denials=1),
    ),
    "no end": Case(of("opencode", "killed"), Expected(CUT, 1, (3, 0, 7268, 9), "lower_bound", tools={"bash": 2})),
    # The last of four responses is lost with its line.
    "torn": Case(
        made("opencode", "ok", torn),
        Expected(CUT, 3, (9, 22021 - 7428, 7606 - 178, 66), "lower_bound", tools=TOOLS),
    ),
    "two results": Case(
        made("opencode", "ok", repeated(b'"type":"step_finish"')),
        Expected(DONE, 4, (12, 22021, 7606, 68), tools=TOOLS),
    ),
    "error inside a success": Case(
        of("opencode", "html"), Expected(OutcomeKind.PROVIDER_ERROR, 0, NOTHING, "lower_bound")
    ),
    "unknown events and fields": Case(made("opencode", "ok", from_the_future), OK),
    "invalid UTF-8": Case(made("opencode", "ok", swapped(b'"Done."', b'"Done.\xff\xfe"')), OK),
    "endless": Case(endless("opencode", "ok", rb"def f():\n    return 1\n"), OK),
}  # fmt: skip
