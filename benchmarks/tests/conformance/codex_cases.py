"""Codex's part of the battery."""

from conformance import edits
from conformance.cases import CUT, DONE, NOTHING, Battery, Case, Expected, KnownLimit, Recordings
from swetrials.records.outcome import OutcomeKind

CODEX = Recordings("codex")
TOOLS = {"shell": 3, "apply_patch": 1}
OK = Expected(DONE, 0, (10679, 30873, 0, 57), tools=TOOLS)  # it tells of no responses, so of no turns
CASES: dict[str, Case | KnownLimit] = {
    **CODEX.usual(OK, said=b"Done.", output=rb"def f():\n    return 1\n"),
    "several blocks in a message": Case(CODEX.of("ok"), OK),
    "parallel tool calls": Case(CODEX.of("ok"), OK),  # the second and the third command begin side by side
    "subagents": Case(
        CODEX.of("subagent"),
        Expected(DONE, 0, (1500, 0, 0, 35), "lower_bound", subagents=1,
                 tools={"spawn_agent": 1, "wait": 1, "apply_patch": 1, "shell": 1}),
    ),
    # It does not tell of a compaction, but its sum has the tokens.
    "compaction": Case(CODEX.of("compaction"), Expected(DONE, 0, (27130, 29175, 0, 35), tools={"shell": 3})),
    "restart": Case(
        CODEX.of("cut_then_success"),
        Expected(DONE, 0, (10679, 30873, 0, 57), "lower_bound", tools=TOOLS, retries=1),
    ),
    "retries then success": Case(
        CODEX.of("retry_then_success"), Expected(DONE, 0, (10679, 30873, 0, 57), tools=TOOLS, retries=1)
    ),
    "retries then failure": Case(
        CODEX.of("err429"),
        Expected(OutcomeKind.RATE_LIMITED, 0, NOTHING, "unknown", tools={"shell": 1}, retries=2),
    ),
    "limit": Case(CODEX.of("max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 0, NOTHING, "unknown")),
    "permission denied": KnownLimit("what its sandbox refuses is told to the model alone"),
    "no end": Case(CODEX.of("killed"), Expected(CUT, 0, NOTHING, "unknown", tools={"shell": 1})),
    "torn": Case(CODEX.made("ok", edits.torn), Expected(CUT, 0, NOTHING, "unknown", tools=TOOLS)),
    # The counts are the thread's, so the last has all of it.
    "two results": Case(
        CODEX.made("ok", edits.repeated(b"turn.completed"),
                   edits.swapped_in_last_line(b'"output_tokens":57', b'"output_tokens":99')),
        Expected(DONE, 0, (10679, 30873, 0, 99), tools=TOOLS),
    ),
    "error inside a success": Case(
        CODEX.of("html"), Expected(OutcomeKind.PROVIDER_ERROR, 0, NOTHING, "unknown", retries=2)
    ),
}  # fmt: skip
BATTERY = Battery(
    CASES,
    endings=("err429", "err500", "err401", "html", "cut", "empty", "refusal", "max_tokens", "killed"),
    strange_lines=(
        b"not json\n",
        b'{"type":"item.completed"}\n',
        b'{"type":"item.completed","item":7}\n',
        b'{"type":["a"]}\n',
        b"\xff\xfe{\n",
        b'{"type":"turn.comp',
    ),
)
