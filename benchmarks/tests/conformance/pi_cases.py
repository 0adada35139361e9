"""pi's part of the battery."""

from conformance import edits
from conformance.cases import CUT, DONE, NOTHING, Battery, Case, Expected, KnownLimit, Recordings
from swetrials.records.outcome import OutcomeKind

PI = Recordings("pi")
OK = Expected(DONE, 3, (9, 2725, 1514, 29), tools={"bash": 3})
CASES: dict[str, Case | KnownLimit] = {
    **PI.usual(OK, said=b"Done.", output=rb"def f():\n    return 1\n"),
    "several blocks in a message": Case(PI.of("ok"), OK),
    "parallel tool calls": Case(PI.of("ok"), OK),
    "subagents": KnownLimit("it has none"),
    "compaction": KnownLimit("one prompt is one go, within which it never compacts"),
    "restart": Case(
        PI.made("ok", edits.repeated(b'"type":"message_end"')),
        Expected(DONE, 4, (12, 2725 + 1395, 1514 + 119, 31), tools={"bash": 3}),
    ),
    "retries then success": Case(
        PI.of("retry_then_success"), Expected(DONE, 3, (9, 2725, 1514, 29), tools={"bash": 3}, retries=1)
    ),
    "retries then failure": Case(PI.of("err429"), Expected(OutcomeKind.RATE_LIMITED, 0, NOTHING, "unknown", retries=1)),
    "limit": Case(PI.of("max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 1, (3, 0, 1330, 3))),
    "permission denied": KnownLimit("it has no permissions: it has a tool, or has it not"),
    "no end": Case(
        PI.made("ok", edits.without_last_line),
        Expected(CUT, 3, (9, 2725, 1514, 29), "lower_bound", tools={"bash": 3}),
    ),
    "torn": Case(PI.made("ok", edits.torn), Expected(CUT, 3, (9, 2725, 1514, 29), "lower_bound", tools={"bash": 3})),
    "two results": Case(PI.made("ok", edits.repeated(b'"type":"agent_end"')), OK),
    "error inside a success": Case(PI.of("html"), Expected(OutcomeKind.PROVIDER_ERROR, 0, NOTHING, "unknown")),
}  # fmt: skip
BATTERY = Battery(
    CASES,
    endings=(
        "err429",
        "err401",
        "html",
        "cut",
        "cut_chat",
        "empty",
        "refusal",
        "refusal_chat",
        "max_tokens",
        "killed",
        "killed_while_waiting",
    ),
    strange_lines=(
        b'{"type":"message_end","message":',
        b"[1]\n",
        b'{"type":"message_end","message":[]}\n',
        b"\xff\xfe\n",
    ),
)
