"""Claude Code's part of the battery."""

from conformance import edits
from conformance.cases import CUT, DONE, Battery, Case, Expected, KnownLimit, Recordings
from swetrials.records.outcome import OutcomeKind

CLAUDE = Recordings("claude")
OK = Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1})
RETRY = b'{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":900,"error_status":529,"error":"busy"}'
COMPACTION = b'{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9}}'
CASES: dict[str, Case | KnownLimit] = {
    **CLAUDE.usual(OK, said=b"All done.", output=b"made_by_bash_0.txt"),
    # A text and a tool call, in two events, each of which tells the usage of their one message.
    "several blocks in a message": Case(CLAUDE.of("partial"), OK),
    "parallel tool calls": Case(
        CLAUDE.of("subagents_background"),
        Expected(DONE, 4, (24, 52056, 28428, 118), tools={"Agent": 2, "Bash": 2}, subagents=2,
                 subagent_tokens=(12, 14034, 14982, 32)),
    ),
    "subagents": Case(
        CLAUDE.of("subagents"),
        Expected(DONE, 2, (12, 20231, 20983, 56), tools={"Agent": 1, "Bash": 1}, subagents=1,
                 subagent_tokens=(6, 8125, 8597, 13)),
    ),
    "compaction": Case(
        CLAUDE.made("ok", edits.inserted(COMPACTION, after=b'"tool_result"')),
        Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1}, compactions=1),
    ),
    # A background task wakes the agent: it introduces itself anew, and ``result.usage`` begins at zero.
    "restart": Case(
        CLAUDE.of("subagents_background"),
        Expected(DONE, 4, (24, 52056, 28428, 118), tools={"Agent": 2, "Bash": 2}, subagents=2,
                 subagent_tokens=(12, 14034, 14982, 32)),
    ),
    "retries then success": Case(
        CLAUDE.made("ok", edits.inserted(RETRY, RETRY, after=b'"init"')),
        Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1}, retries=2),
    ),
    "retries then failure": Case(
        CLAUDE.of("err429"), Expected(OutcomeKind.RATE_LIMITED, 0, (0, 0, 0, 0), retries=2)
    ),
    "limit": Case(
        CLAUDE.of("maxturns"), Expected(OutcomeKind.TURN_LIMIT, 3, (3600, 2700, 900, 171), tools={"Bash": 3})
    ),
    "permission denied": Case(
        CLAUDE.of("denied"), Expected(DONE, 2, (2400, 1800, 600, 80), tools={"Bash": 1}, denials=1)
    ),
    "no end": Case(
        CLAUDE.made("partial", edits.without_last_line),
        Expected(CUT, 2, (2400, 1800, 600, 80), "lower_bound", tools={"Bash": 1}),
    ),
    "torn": Case(
        CLAUDE.made("partial", edits.torn), Expected(CUT, 2, (2400, 1800, 600, 80), "lower_bound", tools={"Bash": 1})
    ),
    "two results": Case(
        CLAUDE.made("ok", edits.repeated(b'"type":"result"'),
                    edits.swapped_in_last_line(b'"outputTokens":80', b'"outputTokens":99')),
        Expected(DONE, 2, (2400, 1800, 600, 99), tools={"Bash": 1}),
    ),
    "error inside a success": Case(
        CLAUDE.of("broken_sse"),
        Expected(OutcomeKind.PROVIDER_ERROR, 3, (9, 24278, 12291, 37), "lower_bound", retries=1),
    ),
}  # fmt: skip
BATTERY = Battery(
    CASES,
    endings=(
        "err429",
        "maxturns",
        "hangterm",
        "broken_sse",
        "refusal",
        "max_tokens",
        "output_limit_vllm",
        "empty",
        "hang_mid_stream",
    ),
    strange_lines=(
        b'{"type":"assistant","message":',
        b"[1,2]\n",
        b'{"type":5,"message":[]}\n',
        b"\xff\xfe\n",
    ),
)
