"""omp's part of the battery."""

from conformance import edits
from conformance.cases import CUT, DONE, NOTHING, Battery, Case, Expected, KnownLimit, Recordings
from swetrials.records.outcome import OutcomeKind

OMP = Recordings("omp")
OK = Expected(DONE, 3, (9, 18524, 9431, 29), tools={"bash": 3})
RETRY = b'{"type":"auto_retry_start","attempt":1,"delayMs":500,"errorMessage":"429 too many requests"}'
CASES: dict[str, Case | KnownLimit] = {
    **OMP.usual(OK, said=b"Done.", output=rb"def f():\n    return 1\n"),
    "several blocks in a message": Case(OMP.of("ok"), OK),
    "parallel tool calls": Case(OMP.of("ok"), OK),
    "subagents": Case(
        OMP.of("subagent"),
        Expected(DONE, 2, (24, 88331, 25969, 86), tools={"task": 1}, subagents=1,
                 subagent_tokens=(18, 79105, 16594, 59)),
    ),
    # The summary that replaces the conversation is billed and in no message.
    "compaction": Case(
        OMP.of("compaction"),
        Expected(DONE, 6, (18, 59240, 20056, 70), "lower_bound", tools={"bash": 5}, compactions=1),
    ),
    "restart": Case(
        OMP.made("ok", edits.repeated(b'"type":"message_end"')),
        Expected(DONE, 4, (12, 18524 + 9298, 9431 + 133, 31), tools={"bash": 3}),
    ),
    "retries then success": Case(
        OMP.made("ok", edits.inserted(RETRY, after=b'"role":"user"')),
        Expected(DONE, 3, (9, 18524, 9431, 29), tools={"bash": 3}, retries=1),
    ),
    # It sends a failing request eleven times before it tells of one retry.
    "retries then failure": Case(OMP.of("err429"), Expected(OutcomeKind.RATE_LIMITED, 0, NOTHING, "unknown")),
    "limit": Case(OMP.of("max_tokens"), Expected(OutcomeKind.OUTPUT_LIMIT, 1, (3, 0, 9226, 3))),
    "permission denied": KnownLimit("it is started with --auto-approve, and denies nothing"),
    "no end": Case(OMP.of("killed"), Expected(CUT, 1, (3, 0, 9226, 1), "lower_bound")),
    "torn": Case(
        OMP.made("ok", edits.torn), Expected(CUT, 3, (9, 18524, 9431, 29), "lower_bound", tools={"bash": 3})
    ),
    "two results": Case(OMP.made("ok", edits.repeated(b'"type":"agent_end"')), OK),
    "error inside a success": Case(
        OMP.of("cut"), Expected(OutcomeKind.PROVIDER_ERROR, 1, (3, 0, 9226, 1), "lower_bound")
    ),
}  # fmt: skip
BATTERY = Battery(
    CASES,
    endings=(
        "err429",
        "err500",
        "err401",
        "cut",
        "cut_chat",
        "empty",
        "refusal",
        "refusal_chat",
        "max_tokens",
        "killed",
    ),
    strange_lines=(
        b'{"type":"message_end","message":',
        b"[1]\n",
        b'{"type":"message_end","message":[]}\n',
        b"\xff\xfe\n",
    ),
)
