"""opencode's part of the battery."""

from conformance import edits
from conformance.cases import CUT, DONE, NOTHING, Battery, Case, Expected, KnownLimit, Recordings
from swetrials.records.outcome import OutcomeKind

OPENCODE = Recordings("opencode")
TOOLS = {"bash": 3, "edit": 1, "read": 1}
OK = Expected(DONE, 4, (12, 22021, 7606, 68), tools=TOOLS)
CASES: dict[str, Case | KnownLimit] = {
    **OPENCODE.usual(OK, said=b"Done.", output=rb"def f():\n    return 1\n"),
    "several blocks in a message": Case(OPENCODE.of("ok"), OK),
    "parallel tool calls": Case(OPENCODE.of("ok"), OK),
    # A subagent's tokens are in no step.
    "subagents": Case(
        OPENCODE.of("subagent"),
        Expected(DONE, 3, (9, 14634, 7482, 41), "lower_bound", tools={"task": 1, "bash": 2}, subagents=1),
    ),
    "compaction": Case(
        OPENCODE.of("compaction"), Expected(DONE, 4, (12, 14520, 11834, 48), tools={"bash": 2}, compactions=1)
    ),
    "restart": Case(
        OPENCODE.made("ok", edits.repeated(b'"type":"step_start"'),
                      edits.swapped_in_last_line(b'"id":"prt_', b'"id":"prt_again_')),
        Expected(DONE, 5, (15, 22021 + 7428, 7606 + 178, 70), tools=TOOLS),
    ),
    # It does not tell of retries: there is a step that begins twice.
    "retries then success": Case(
        OPENCODE.of("cut_then_success"),
        Expected(DONE, 3, (9, 14660, 7428, 22), "lower_bound", tools={"bash": 4}),
    ),
    "retries then failure": Case(
        OPENCODE.of("err429"), Expected(OutcomeKind.RATE_LIMITED, 1, (3, 0, 7268, 9), tools={"bash": 1})
    ),
    "limit": Case(OPENCODE.of("max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 1, (3, 0, 7268, 1))),
    "permission denied": Case(
        OPENCODE.made("ok", edits.swapped(
            b'"status":"completed","input":{"command":"cat x.py"}',
            b'"status":"error","input":{"command":"cat x.py"},"error":"The user has specified a rule which '
            b'prevents you from using this specific tool call. Here are the rules: []"',
        )),
        Expected(DONE, 4, (12, 22021, 7606, 68), tools=TOOLS, denials=1),
    ),
    "no end": Case(OPENCODE.of("killed"), Expected(CUT, 1, (3, 0, 7268, 9), "lower_bound", tools={"bash": 2})),
    # The last of four responses is lost with its line.
    "torn": Case(
        OPENCODE.made("ok", edits.torn),
        Expected(CUT, 3, (9, 22021 - 7428, 7606 - 178, 66), "lower_bound", tools=TOOLS),
    ),
    "two results": Case(
        OPENCODE.made("ok", edits.repeated(b'"type":"step_finish"')),
        Expected(DONE, 4, (12, 22021, 7606, 68), tools=TOOLS),
    ),
    "error inside a success": Case(
        OPENCODE.of("html"), Expected(OutcomeKind.PROVIDER_ERROR, 0, NOTHING, "unknown")
    ),
}  # fmt: skip
BATTERY = Battery(
    CASES,
    endings=(
        "err429",
        "err500",
        "err401",
        "err401_chat",
        "cut",
        "html",
        "html_chat",
        "empty",
        "refusal",
        "refusal_chat",
        "max_tokens",
        "killed",
    ),
    strange_lines=(
        b'{"type":"step_start","timestamp":',
        b"[1]\n",
        b'{"type":"step_finish","part":[]}\n',
        b"\xff\xfe\n",
        b"Error: x\n",
    ),
)
