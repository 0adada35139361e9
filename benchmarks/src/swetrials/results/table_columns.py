"""The columns of the tables over a results tree: names, types, meanings, and where each value comes from."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import orjson

if TYPE_CHECKING:  # the command line's help reads the names, and must not wait for the records' models
    from swetrials.records.leaderboard import Estimate
    from swetrials.results.evaluation_parts import UnitPart
    from swetrials.results.figures import Figures
    from swetrials.results.request_reading import RequestPart
    from swetrials.results.trial_reading import AttemptPart, TrialReading
    from swetrials.results.trial_row import TrialRow

T = TypeVar("T")
Type = Literal["VARCHAR", "BOOLEAN", "BIGINT", "DOUBLE"]


@dataclass(frozen=True)
class TrialLine:
    """A trial: what statistics see of it, and what its record says beside that."""

    row: "TrialRow"
    reading: "TrialReading"
    requests: "Callable[[], Iterable[tuple[int, RequestPart]]]"
    """Reads them, each with the number of its attempt."""


@dataclass(frozen=True)
class AttemptLine:
    """An attempt of a trial."""

    trial: "TrialRow"
    attempt: "AttemptPart"


@dataclass(frozen=True)
class ScoreLine:
    """A unit that a judge scored."""

    trial: "TrialRow"
    unit: str
    score: "UnitPart"


@dataclass(frozen=True)
class RequestLine:
    """A request that the meter saw."""

    trial: "TrialRow"
    attempt: int
    request: "RequestPart"


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column; ``about`` is empty where the name says it all."""

    name: str
    type: Type
    value: Callable[[T], object]
    about: str = ""


@dataclass(frozen=True)
class SqlTable(Generic[T]):
    """A table: its columns, and the lines that a trial adds to it."""

    name: str
    lines: Callable[[TrialLine], Iterable[T]]
    columns: tuple[Column[T], ...]

    def json_lines(self, trial: TrialLine) -> Iterator[bytes]:
        """Give the lines of a trial as JSON, each with its end."""
        for line in self.lines(trial):
            yield json_line(self.columns, line)


def json_line(columns: "Sequence[Column[T]]", line: T) -> bytes:
    """Return a line of a table as JSON, with its end."""
    return orjson.dumps({c.name: c.value(line) for c in columns}, option=orjson.OPT_APPEND_NEWLINE)


def _scores(trial: TrialLine) -> Iterator[ScoreLine]:
    if trial.reading.rubric:
        for unit, score in trial.reading.rubric.scores.items():
            yield ScoreLine(trial.row, unit, score)


HOSTING: tuple[tuple[str, Type], ...] = (
    ("instance_type", "VARCHAR"),
    ("gpu", "VARCHAR"),
    ("tensor_parallel_size", "BIGINT"),
    ("precision", "VARCHAR"),
    ("context_window", "BIGINT"),
    ("engine", "VARCHAR"),
)
"""How the model was hosted, as far as that is told."""


def _hosting_columns() -> "tuple[Column[TrialLine], ...]":
    def of(name: str) -> Callable[[TrialLine], object]:
        return lambda trial: getattr(trial.row.hosted, name, None)

    return tuple(Column(name, kind, of(name), "of the hosting") for name, kind in HOSTING)


TRIALS = SqlTable[TrialLine](
    "trials",
    lambda trial: (trial,),
    (
        Column("folder", "VARCHAR", lambda t: t.row.folder, "relative to the tree; joins the views"),
        Column("model", "VARCHAR", lambda t: t.row.model, "slug"),
        Column("model_id", "VARCHAR", lambda t: t.reading.metrics.model, "as the provider knows it"),
        Column("agent", "VARCHAR", lambda t: t.row.agent),
        Column("skill", "VARCHAR", lambda t: t.row.skill),
        Column("provider", "VARCHAR", lambda t: t.row.provider),
        Column("hosting", "VARCHAR", lambda t: t.row.hosting, "metered, hardware or other: what the cost rests on"),
        Column("hosting_instance", "VARCHAR", lambda t: _imported(t, "hosting_instance"), "of imported figures"),
        Column("scope", "VARCHAR", lambda t: t.row.scope),
        Column("dataset", "VARCHAR", lambda t: t.reading.metrics.trial.dataset),
        Column("task", "VARCHAR", lambda t: t.row.task),
        Column("repeat", "BIGINT", lambda t: t.row.repeat),
        Column("tier", "VARCHAR", lambda t: t.row.tier, "the dataset's complexity"),
        Column("ref", "VARCHAR", lambda t: t.reading.metrics.ref),
        Column("task_sha256", "VARCHAR", lambda t: t.row.task_sha256, "of its text and settings"),
        Column("given_sha256", "VARCHAR", lambda t: t.row.given_sha256, "of all that the agent was given"),
        Column("commit", "VARCHAR", lambda t: t.row.commit, "of the task"),
        *_hosting_columns(),
        Column("environment", "VARCHAR", lambda t: t.row.environment, "host, bubblewrap; NULL: not told"),
        Column("sealing", "VARCHAR", lambda t: t.row.sealing, "proven, declared, open; NULL: not told"),
        Column("sealing_why", "VARCHAR", lambda t: t.row.sealing_why, "why it is not proven"),
        Column("network", "VARCHAR", lambda t: t.row.network, "what it was allowed: model, registries, open"),
        Column("outcome", "VARCHAR", lambda t: t.row.outcome),
        Column("blame", "VARCHAR", lambda t: t.reading.metrics.outcome.blame),
        Column("detail", "VARCHAR", lambda t: t.reading.metrics.outcome.detail, "of the outcome"),
        Column("completed", "BOOLEAN", lambda t: t.row.completed),
        Column("valid", "BOOLEAN", lambda t: t.row.valid, "false: failed for another reason than model or agent"),
        Column("score", "DOUBLE", lambda t: t.row.score, "0 to 100, of completed trials"),
        Column("judged_score", "DOUBLE", lambda t: t.row.judged_score, "of failed trials too"),
        Column("judge", "VARCHAR", lambda t: t.row.judge, "whose score it is"),
        Column("judge_effort", "VARCHAR", lambda t: t.row.judge_effort),
        Column("scored_sha256", "VARCHAR", lambda t: t.row.scored_sha256, "of all that scored it"),
        Column("repo_grounded", "BOOLEAN", lambda t: t.row.repo_grounded, "the judge read the repository"),
        Column("tests_passed", "BOOLEAN", lambda t: t.row.tests_passed),
        Column("resolved", "BOOLEAN", lambda t: t.row.resolved, "by each test; of exit-code: tests_passed"),
        Column("counts_resolved", "BOOLEAN", lambda t: t.row.counts_resolved, "in the rate; a failure: false"),
        Column("evidence", "VARCHAR", lambda t: t.row.evidence, "of the verdict: tests, exit-code, weak"),
        Column("doubtful", "BOOLEAN", lambda t: t.row.doubtful, "the patch could have forged it"),
        Column("void_reason", "VARCHAR", lambda t: t.row.void_reason, "why it says nothing of the patch"),
        Column("regressions", "BIGINT", lambda t: t.row.regressions, "tests that it broke; NULL: not told"),
        Column("has_patch", "BOOLEAN", lambda t: t.row.has_patch),
        Column("rank_by", "VARCHAR", lambda t: t.row.rank_by, "resolved or rubric; NULL: its record does not say"),
        Column("tests_report", "VARCHAR", lambda t: t.row.tests_report, "junit, ...; exit-code, NULL: exit codes only"),
        Column("fail_to_pass_passed", "BIGINT", lambda t: _count(t, "fail_to_pass", "passed")),
        Column("fail_to_pass_total", "BIGINT", lambda t: _count(t, "fail_to_pass", "total")),
        Column("pass_to_pass_passed", "BIGINT", lambda t: _count(t, "pass_to_pass", "passed")),
        Column("pass_to_pass_total", "BIGINT", lambda t: _count(t, "pass_to_pass", "total")),
        Column("tests_sha256", "VARCHAR", lambda t: t.row.tests_sha256, "of all that tested it"),
        Column("tests_fraction", "DOUBLE", lambda t: _tests_fraction(t), "of the dataset's commands"),
        Column("cost_usd", "DOUBLE", lambda t: t.row.cost_usd, "over all attempts"),
        Column("cost_basis", "VARCHAR", lambda t: t.row.cost_basis),
        Column("cost_is_lower_bound", "BOOLEAN", lambda t: t.row.cost_is_lower_bound),
        Column("latency_seconds", "DOUBLE", lambda t: t.row.latency_seconds, "wall time of all attempts"),
        Column("api_seconds", "DOUBLE", lambda t: t.row.api_seconds, "union of the requests"),
        Column("waiting_seconds", "DOUBLE", lambda t: t.row.waiting_seconds, "before repeats of requests"),
        Column("queue_seconds", "DOUBLE", lambda t: t.reading.metrics.time.queue_seconds, "before the start"),
        Column("num_turns", "BIGINT", lambda t: t.row.num_turns),
        Column("num_attempts", "BIGINT", lambda t: _attempts(t)),
        Column("fresh_input_tokens", "BIGINT", lambda t: t.row.fresh_input_tokens, "the buckets are disjoint"),
        Column("cache_read_tokens", "BIGINT", lambda t: t.row.cache_read_tokens),
        Column("cache_write_tokens", "BIGINT", lambda t: t.row.cache_write_tokens),
        Column("output_tokens", "BIGINT", lambda t: t.row.output_tokens),
        Column("total_tokens", "BIGINT", lambda t: t.row.total_tokens),
        Column("tokens_completeness", "VARCHAR", lambda t: t.row.tokens_completeness),
        Column("artifacts", "BIGINT", lambda t: len(t.reading.metrics.artifacts_produced)),
        Column("findings", "BIGINT", lambda t: len(t.reading.metrics.findings), "how many"),
        Column("started_at", "VARCHAR", lambda t: t.reading.metrics.run_started_at, "ISO 8601"),
        Column("rehearsal", "BOOLEAN", lambda t: t.row.rehearsal, "scripted model"),
        Column("source", "VARCHAR", lambda t: t.row.source, "of imported figures"),
    ),
)

ATTEMPTS = SqlTable[AttemptLine](
    "attempts",
    lambda trial: (AttemptLine(trial.row, attempt) for attempt in trial.reading.metrics.attempts),
    (
        Column("folder", "VARCHAR", lambda a: a.trial.folder),
        Column("model", "VARCHAR", lambda a: a.trial.model),
        Column("task", "VARCHAR", lambda a: a.trial.task),
        Column("repeat", "BIGINT", lambda a: a.trial.repeat),
        Column("attempt", "BIGINT", lambda a: a.attempt.number),
        Column("reason", "VARCHAR", lambda a: a.attempt.reason, "first, topup or retry"),
        Column("outcome", "VARCHAR", lambda a: a.attempt.outcome.kind),
        Column("blame", "VARCHAR", lambda a: a.attempt.outcome.blame),
        Column("detail", "VARCHAR", lambda a: a.attempt.outcome.detail),
        Column("started_at", "VARCHAR", lambda a: a.attempt.started_at, "ISO 8601"),
        Column("ended_at", "VARCHAR", lambda a: a.attempt.ended_at, "ISO 8601"),
        Column("ended_by", "VARCHAR", lambda a: a.attempt.ended_by),
        Column("exit_code", "BIGINT", lambda a: a.attempt.exit_code),
        Column("num_turns", "BIGINT", lambda a: a.attempt.num_turns),
        Column("cost_usd", "DOUBLE", lambda a: a.attempt.cost.amount_usd),
        Column("cost_basis", "VARCHAR", lambda a: a.attempt.cost.basis),
        Column("wall_seconds", "DOUBLE", lambda a: a.attempt.time.wall_seconds),
        Column("api_seconds", "DOUBLE", lambda a: a.attempt.time.api_seconds),
        Column("waiting_seconds", "DOUBLE", lambda a: a.attempt.time.waiting_seconds),
        Column("queue_seconds", "DOUBLE", lambda a: a.attempt.time.queue_seconds),
        Column("fresh_input_tokens", "BIGINT", lambda a: a.attempt.usage.headline.usage.fresh_input),
        Column("cache_read_tokens", "BIGINT", lambda a: a.attempt.usage.headline.usage.cache_read),
        Column("cache_write_tokens", "BIGINT", lambda a: a.attempt.usage.headline.usage.cache_write),
        Column("output_tokens", "BIGINT", lambda a: a.attempt.usage.headline.usage.output),
    ),
)

SCORES = SqlTable[ScoreLine](
    "scores",
    _scores,
    (
        Column("folder", "VARCHAR", lambda s: s.trial.folder),
        Column("model", "VARCHAR", lambda s: s.trial.model),
        Column("agent", "VARCHAR", lambda s: s.trial.agent),
        Column("skill", "VARCHAR", lambda s: s.trial.skill),
        Column("scope", "VARCHAR", lambda s: s.trial.scope),
        Column("task", "VARCHAR", lambda s: s.trial.task),
        Column("repeat", "BIGINT", lambda s: s.trial.repeat),
        Column("tier", "VARCHAR", lambda s: s.trial.tier),
        Column("completed", "BOOLEAN", lambda s: s.trial.completed, "of the trial"),
        Column("unit", "VARCHAR", lambda s: s.unit),
        Column("score", "DOUBLE", lambda s: s.score.total, "0 to 100"),
        Column("missing", "BOOLEAN", lambda s: s.score.missing, "0 by rule: there was no artifact"),
    ),
)

REQUESTS = SqlTable[RequestLine](
    "requests",
    lambda trial: (RequestLine(trial.row, attempt, request) for attempt, request in trial.requests()),
    (
        Column("folder", "VARCHAR", lambda r: r.trial.folder),
        Column("model", "VARCHAR", lambda r: r.trial.model),
        Column("task", "VARCHAR", lambda r: r.trial.task),
        Column("repeat", "BIGINT", lambda r: r.trial.repeat),
        Column("attempt", "BIGINT", lambda r: r.attempt),
        Column("number", "BIGINT", lambda r: r.request.number),
        Column("method", "VARCHAR", lambda r: r.request.method),
        Column("path", "VARCHAR", lambda r: r.request.path),
        Column("dialect", "VARCHAR", lambda r: r.request.dialect, "NULL: no call of a model"),
        Column("started_seconds", "DOUBLE", lambda r: r.request.started_seconds, "since the attempt began"),
        Column("first_byte_seconds", "DOUBLE", lambda r: r.request.first_byte_seconds),
        Column("ended_seconds", "DOUBLE", lambda r: r.request.ended_seconds),
        Column("status", "BIGINT", lambda r: r.request.status, "NULL: no response came"),
        Column("retry_after_seconds", "DOUBLE", lambda r: r.request.retry_after_seconds),
        Column("stream", "BOOLEAN", lambda r: r.request.stream),
        Column("model_asked", "VARCHAR", lambda r: r.request.model_asked),
        Column("model_served", "VARCHAR", lambda r: r.request.model_served),
        Column("stop_reason", "VARCHAR", lambda r: r.request.stop_reason),
        Column("fresh_input_tokens", "BIGINT", lambda r: r.request.usage and r.request.usage.fresh_input),
        Column("cache_read_tokens", "BIGINT", lambda r: r.request.usage and r.request.usage.cache_read),
        Column("cache_write_tokens", "BIGINT", lambda r: r.request.usage and r.request.usage.cache_write),
        Column("output_tokens", "BIGINT", lambda r: r.request.usage and r.request.usage.output),
        Column("complete", "BOOLEAN", lambda r: r.request.complete),
        Column("probe", "BOOLEAN", lambda r: r.request.probe),
        Column("retry", "BOOLEAN", lambda r: r.request.retry),
        Column("refused", "BOOLEAN", lambda r: r.request.refused),
        Column("request_bytes", "BIGINT", lambda r: r.request.request_bytes),
        Column("response_bytes", "BIGINT", lambda r: r.request.response_bytes),
        Column("error", "VARCHAR", lambda r: r.request.error),
    ),
)


@dataclass(frozen=True)
class RunLine:
    """The trials of one run, and their figures."""

    first: "TrialRow"
    figures: "Figures"
    mixed: Sequence[str]
    """What they are over several of."""

    ran_in: str | None
    """Environment and sealing, in words; ``None``: no record tells."""

    resolve_rate: "Estimate"


def _hosted(run: RunLine) -> str | None:
    return ", ".join(run.first.hosted.words.values() if run.first.hosted else ()) or None


RUN_KEYS: tuple[Column[RunLine], ...] = (
    Column("model", "VARCHAR", lambda r: r.first.model),
    Column("agent", "VARCHAR", lambda r: r.first.agent),
    Column("skill", "VARCHAR", lambda r: r.first.skill),
    Column("scope", "VARCHAR", lambda r: r.first.scope),
    Column("provider", "VARCHAR", lambda r: r.first.provider),
    Column("hosted", "VARCHAR", _hosted, "how the model was hosted, as far as that is told"),
    Column("rehearsal", "BOOLEAN", lambda r: r.first.rehearsal),
)
"""What makes trials those of one run."""

RUN_FIGURES: tuple[Column[RunLine], ...] = (
    Column("trials", "BIGINT", lambda r: r.figures.trials),
    Column("valid", "BIGINT", lambda r: len(r.figures.valid)),
    Column("completed", "BIGINT", lambda r: len(r.figures.completed)),
    Column("failed", "BIGINT", lambda r: r.figures.failed, "on the model's or the agent's account"),
    Column("infrastructure", "BIGINT", lambda r: r.figures.infrastructure, "failed for another reason"),
    Column("completion", "DOUBLE", lambda r: r.figures.completion, "of valid trials"),
    Column("scored", "BIGINT", lambda r: r.figures.scored, "completed ones"),
    Column("unscored", "BIGINT", lambda r: r.figures.unscored, "completed ones"),
    Column("mean_score", "DOUBLE", lambda r: r.figures.mean_score, "of completed trials"),
    Column("mean_score_with_failures", "DOUBLE", lambda r: r.figures.mean_score_failures_as_zero, "failed ones as 0"),
    Column("mean_score_all_trials", "DOUBLE", lambda r: r.figures.mean_score_all_trials, "unscored ones as 0"),
    Column("tests_run", "BIGINT", lambda r: r.figures.tests_run, "valid trials with a verdict"),
    Column("tests_passed", "BIGINT", lambda r: r.figures.tests_passed),
    Column("tests_passed_share", "DOUBLE", lambda r: r.figures.tests_passed_share),
    Column("rank_by", "VARCHAR", lambda r: r.figures.rank_by, "resolved or rubric; NULL: several"),
    Column("mean_ranked", "DOUBLE", lambda r: r.figures.mean_ranked, "mean_score, or resolve_rate in percent"),
    Column("resolved", "BIGINT", lambda r: r.figures.resolve.resolved, "of counted ones"),
    Column("counted", "BIGINT", lambda r: len(r.figures.resolve.counted), "with a verdict, or failed without one"),
    Column("resolve_rate", "DOUBLE", lambda r: r.resolve_rate.value, "each task with one weight"),
    Column("resolve_rate_low", "DOUBLE", lambda r: r.resolve_rate.low, "95 % interval"),
    Column("resolve_rate_high", "DOUBLE", lambda r: r.resolve_rate.high),
    Column("usd_per_resolved", "DOUBLE", lambda r: r.figures.resolve.usd_per_resolved, "failures too; NULL: none"),
    Column("minutes_per_resolved", "DOUBLE", lambda r: r.figures.resolve.minutes_per_resolved, "likewise"),
    Column("counted_cost_usd", "DOUBLE", lambda r: r.figures.resolve.total_cost_usd, "of counted trials together"),
    Column("unchecked", "BIGINT", lambda r: r.figures.resolve.unchecked, "completed, without a verdict"),
    Column("void", "BIGINT", lambda r: r.figures.resolve.void, "verified in vain"),
    Column("regressed", "BIGINT", lambda r: r.figures.resolve.regressed, "broke a test; NULL: not told"),
    Column("doubtful", "BIGINT", lambda r: r.figures.resolve.doubtful),
    Column("exit_code_verdicts", "BIGINT", lambda r: r.figures.resolve.evidence.get("exit-code", 0)),
    Column("weak_verdicts", "BIGINT", lambda r: r.figures.resolve.evidence.get("weak", 0)),
    Column("cost_basis", "VARCHAR", lambda r: r.figures.cost_basis),
    Column("mean_cost_usd", "DOUBLE", lambda r: r.figures.mean_cost_usd, "NULL: one of the trials has none"),
    Column("cost_is_lower_bound", "BOOLEAN", lambda r: r.figures.cost_is_lower_bound),
    Column("costs_known", "BIGINT", lambda r: r.figures.costs_known, "of completed trials"),
    Column("total_cost_usd", "DOUBLE", lambda r: r.figures.total_cost_usd, "of all trials"),
    Column("total_cost_is_lower_bound", "BOOLEAN", lambda r: r.figures.total_cost_is_lower_bound),
    Column("mean_latency_seconds", "DOUBLE", lambda r: r.figures.mean_of("latency_seconds")),
    Column("mean_turns", "DOUBLE", lambda r: r.figures.mean_of("num_turns")),
    Column("mean_fresh_input_tokens", "DOUBLE", lambda r: r.figures.mean_of("fresh_input_tokens")),
    Column("mean_cache_read_tokens", "DOUBLE", lambda r: r.figures.mean_of("cache_read_tokens")),
    Column("mean_cache_write_tokens", "DOUBLE", lambda r: r.figures.mean_of("cache_write_tokens")),
    Column("mean_output_tokens", "DOUBLE", lambda r: r.figures.mean_of("output_tokens")),
    Column("tokens_are_lower_bound", "BOOLEAN", lambda r: r.figures.tokens_are_lower_bound),
    Column("mixed", "VARCHAR", lambda r: "; ".join(r.mixed) or None, "what the figures are over several of"),
    Column("ran_in", "VARCHAR", lambda r: r.ran_in, "environment and sealing; NULL: not told"),
)
"""What the trials of a run come to: :mod:`swetrials.results.figures` says of each what it is over.

Means are over tasks, of completed trials."""

RUNS = (*RUN_KEYS, *RUN_FIGURES)
"""The columns of the view ``runs``, one line a run."""

TABLES: tuple[SqlTable[Any], ...] = (TRIALS, ATTEMPTS, SCORES, REQUESTS)


def views() -> dict[str, tuple[str, ...]]:
    """Return the columns of every view by its name, without opening anything."""
    columns = {table.name: tuple(column.name for column in table.columns) for table in TABLES}
    return {"runs": tuple(column.name for column in RUNS), **columns}


def _imported(line: TrialLine, name: str) -> object:
    return getattr(line.reading.metrics.imported, name, None)


def _count(line: TrialLine, kind: Literal["fail_to_pass", "pass_to_pass"], what: Literal["passed", "total"]) -> object:
    tests = line.reading.tests
    count = getattr(tests.tests, kind) if tests and tests.tests else None
    return getattr(count, what, None)


def _tests_fraction(line: TrialLine) -> float | None:
    tests = line.reading.tests
    return tests.tests.fraction if tests and tests.tests else None


def _attempts(line: TrialLine) -> int | None:
    imported = line.reading.metrics.imported
    return imported.agent_invocations if imported else len(line.reading.metrics.attempts)
