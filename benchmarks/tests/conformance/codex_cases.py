"""Codex's part of the battery."""

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
)
from swetrials.records.outcome import OutcomeKind

TOOLS = {"shell": 3, "apply_patch": 1}
OK = Expected(DONE, 0, (10679, 30873, 0, 57), tools=TOOLS)  # it tells of no responses, so of no turns
CASES: Cases = {
    "normal": Case(of("codex", "ok"), OK),
    "several blocks in a message": Case(of("codex", "ok"), OK),
    "parallel tool calls": Case(of("codex", "ok"), OK),  # the second and the third command begin side by side
    "subagents": Case(
        of("codex", "subagent"),
        Expected(DONE, 0, (1500, 0, 0, 35), "lower_bound", subagents=1,
                 tools={"spawn_agent": 1, "wait": 1, "apply_patch": 1, "shell": 1}),
    ),
    # It does not tell of a compaction, but its sum has the tokens.
    "compaction": Case(of("codex", "compaction"), Expected(DONE, 0, (27130, 29175, 0, 35), tools={"shell": 3})),
    "restart": Case(
        of("codex", "cut_then_success"),
        Expected(DONE, 0, (10679, 30873, 0, 57), "lower_bound", tools=TOOLS, retries=1),
    ),
    "retries then success": Case(
        of("codex", "retry_then_success"), Expected(DONE, 0, (10679, 30873, 0, 57), tools=TOOLS, retries=1)
    ),
    "retries then failure": Case(
        of("codex", "err429"),
        Expected(OutcomeKind.RATE_LIMITED, 0, NOTHING, "lower_bound", tools={"shell": 1}, retries=2),
    ),
    "limit": Case(of("codex", "max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 0, NOTHING, "lower_bound")),
    "permission denied": KnownLimit("what its sandbox refuses is told to the model alone"),
    "no end": Case(of("codex", "killed"), Expected(CUT, 0, NOTHING, "lower_bound", tools={"shell": 1})),
    "torn": Case(made("codex", "ok", torn), Expected(CUT, 0, NOTHING, "lower_bound", tools=TOOLS)),
    # The counts are the thread's, so the last has all of it.
    "two results": Case(
        made("codex", "ok", repeated(b"turn.completed"),
             lambda lines: [*lines[:-1], lines[-1].replace(b'"output_tokens":57', b'"output_tokens":99')]),
        Expected(DONE, 0, (10679, 30873, 0, 99), tools=TOOLS),
    ),
    "error inside a success": Case(
        of("codex", "html"), Expected(OutcomeKind.PROVIDER_ERROR, 0, NOTHING, "lower_bound", retries=2)
    ),
    "unknown events and fields": Case(made("codex", "ok", from_the_future), OK),
    "invalid UTF-8": Case(made("codex", "ok", swapped(b'"Done."', b'"Done.\xff\xfe"')), OK),
    "endless": Case(endless("codex", "ok", rb"def f():\n    return 1\n"), OK),
}  # fmt: skip
