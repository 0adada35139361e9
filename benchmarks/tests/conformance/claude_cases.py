"""Claude Code's part of the battery."""

from conformance.cases import (
    CUT,
    DONE,
    Case,
    Cases,
    Expected,
    endless,
    from_the_future,
    inserted,
    made,
    of,
    repeated,
    swapped,
    torn,
    without_last_line,
)
from swetrials.records.outcome import OutcomeKind

OK = Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1})
RETRY = b'{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":900,"error_status":529,"error":"busy"}'
COMPACTION = b'{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9}}'
CASES: Cases = {
    "normal": Case(of("claude", "ok"), OK),
    # A text and a tool call, in two events, each of which tells the usage of their one message.
    "several blocks in a message": Case(of("claude", "partial"), OK),
    "parallel tool calls": Case(
        of("claude", "subagents_background"),
        Expected(DONE, 4, (24, 52056, 28428, 118), tools={"Agent": 2, "Bash": 2}, subagents=2,
                 subagent_tokens=(12, 14034, 14982, 32)),
    ),
    "subagents": Case(
        of("claude", "subagents"),
        Expected(DONE, 2, (12, 20231, 20983, 56), tools={"Agent": 1, "Bash": 1}, subagents=1,
                 subagent_tokens=(6, 8125, 8597, 13)),
    ),
    "compaction": Case(
        made("claude", "ok", inserted(COMPACTION, after=b'"tool_result"')),
        Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1}, compactions=1),
    ),
    # A background task wakes the agent: it introduces itself anew, and ``result.usage`` begins at zero.
    "restart": Case(
        of("claude", "subagents_background"),
        Expected(DONE, 4, (24, 52056, 28428, 118), tools={"Agent": 2, "Bash": 2}, subagents=2,
                 subagent_tokens=(12, 14034, 14982, 32)),
    ),
    "retries then success": Case(
        made("claude", "ok", inserted(RETRY, RETRY, after=b'"init"')),
        Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1}, retries=2),
    ),
    "retries then failure": Case(
        of("claude", "err429"), Expected(OutcomeKind.RATE_LIMITED, 1, (0, 0, 0, 0), retries=2)
    ),
    "limit": Case(
        of("claude", "maxturns"), Expected(OutcomeKind.TURN_LIMIT, 3, (3600, 2700, 900, 171), tools={"Bash": 3})
    ),
    "permission denied": Case(
        of("claude", "denied"), Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1}, denials=1)
    ),
    "no end": Case(
        made("claude", "partial", without_last_line),
        Expected(CUT, 2, (2400, 1800, 600, 80), "lower_bound", tools={"Bash": 1}),
    ),
    "torn": Case(
        made("claude", "partial", torn), Expected(CUT, 2, (2400, 1800, 600, 80), "lower_bound", tools={"Bash": 1})
    ),
    "two results": Case(
        made("claude", "ok", repeated(b'"type":"result"'),
             lambda lines: [*lines[:-1], lines[-1].replace(b'"outputTokens":80', b'"outputTokens":99')]),
        Expected(DONE, 2, (2400, 1800, 600, 99), tools={"Bash": 1}),
    ),
    "error inside a success": Case(
        of("claude", "broken_sse"),
        Expected(OutcomeKind.PROVIDER_ERROR, 3, (9, 24278, 12291, 37), "lower_bound", retries=1),
    ),
    "unknown events and fields": Case(made("claude", "ok", from_the_future), OK),
    "invalid UTF-8": Case(made("claude", "ok", swapped(b"All done.", b"All \xff\xfe done.")), OK),
    "endless": Case(endless("claude", "ok", b"made_by_bash_0.txt"), OK),
}  # fmt: skip
