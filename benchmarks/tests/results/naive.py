"""Figures of a results tree worked out from its JSON files alone, as anybody would, and trees to work them out of."""

import json
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from results.trees import write_trial
from runs.written import metrics, rubric
from swetrials.records.cost import Cost
from swetrials.records.evaluation import Evaluation, JudgeBlock, RubricEvaluation
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.records.verification import TestsEvaluation

Trial = dict[str, Any]

MODELS = ("alpha", "beta")
JUDGES = ("codex/first", "codex/second")
KINDS = [OutcomeKind.COMPLETED] * 5 + [
    OutcomeKind.INCOMPLETE_ARTIFACTS,
    OutcomeKind.TURN_LIMIT,
    OutcomeKind.RATE_LIMITED,
]


def random_tree(tree: Path, seed: int) -> None:
    """Write a tree of two models: statuses, repeats, judges, missing parts, unknown costs and lower bounds."""
    draw = random.Random(seed)
    tidy = draw.random() < 0.3  # no unknown cost and every trial judged, so that all means are there
    for task in range(draw.randint(1, 4)):
        for model in MODELS:
            for repeat in range(1, draw.choice([1, 1, 2, 3]) + 1):
                _write(tree, draw, model, f"t{task}", repeat, tidy=tidy)


def _write(tree: Path, draw: random.Random, model: str, task: str, repeat: int, *, tidy: bool) -> None:
    record = metrics(
        draw.choice(KINDS),
        repeat,
        task=task,
        model=model,
        model_slug=model,
        complexity="low" if task in {"t0", "t1"} else "high",
        cost=_cost(draw, tidy=tidy),
        usage=UsageBlock(headline=_usage(draw)),
        latency_seconds=draw.choice([None, 1.5, 60.25]),
        num_turns=draw.choice([None, 3, 8]),
    )
    record = record.model_copy(update={"total_cost_usd": record.cost.amount_usd})
    scores = Evaluation(task=task, trial_id=record.trial.id)
    for judge in JUDGES:
        if tidy or draw.random() < 0.8:
            scores = scores.with_word(judge, _word(draw, judge), f"{judge} on {task}")
    if draw.random() < 0.7:
        passed = draw.choice([None, True, False])
        word = TestsEvaluation(
            status="unscored" if passed is None else "scored",
            passed=passed,
            resolved=None if passed is None else draw.choice([passed, passed, None, not passed]),
            void_reason="the gold run does not hold" if passed is None and draw.random() < 0.5 else "",
        )
        scores = scores.with_word("tests", word, f"tests of {task}")
    write_trial(tree, record, scores if tidy or draw.random() < 0.9 else None)


def _word(draw: random.Random, judge: str) -> RubricEvaluation:
    word = rubric(draw.choice([None, *range(1, 26)]))
    return word.model_copy(update={"judge": JudgeBlock(name="codex", provider="p", model=judge.split("/")[1])})


def _cost(draw: random.Random, *, tidy: bool) -> Cost:
    status = draw.choice(["complete", "complete", "lower_bound", *([] if tidy else ["unknown"])])
    if status == "unknown":
        return Cost()
    return Cost.model_validate({"amount_usd": draw.choice([0.25, 1.0, 7.5]), "basis": "metered", "status": status})


def _usage(draw: random.Random) -> UsageReport:
    buckets = {name: draw.choice([None, 0, 10, 700]) for name in ("fresh_input", "cache_read", "cache_write", "output")}
    completeness = draw.choice(["complete", "lower_bound", "unknown"])
    return UsageReport.model_validate({"usage": Usage.model_validate(buckets), "completeness": completeness})


def trials(scope: Path, judge: str) -> list[Trial]:
    """Read the trials of a run: what the files say, and the given judge's score."""
    found = []
    for file in sorted(scope.glob("*/metrics.json")):
        trial = json.loads(file.read_text())
        scores = file.with_name("eval.json")
        judges = json.loads(scores.read_text()).get("judges", {}) if scores.exists() else {}
        trial["points"] = judges.get(judge, {}).get("rubric", {}).get("task_score")
        trial["passed"] = (judges.get("tests") or {}).get("tests", {}).get("passed")
        tests = (judges.get("tests") or {}).get("tests", {})
        trial["verdict"] = tests.get("resolved", tests.get("passed"))
        trial["void"] = bool(tests.get("void_reason"))
        trial["done"] = trial["outcome"]["kind"] == "completed"
        trial["valid"] = trial["outcome"]["blame"] in (None, "model", "agent")
        found.append(trial)
    return found


def over_tasks(found: list[Trial], value: Callable[[Trial], float | None]) -> float | None:
    """Return the mean over tasks of each task's mean over the trials that tell the figure."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for trial in found:
        told = value(trial)
        if told is not None:
            by_task[trial["task"]].append(told)
    return fmean(fmean(values) for values in by_task.values()) if by_task else None


def figures(found: list[Trial]) -> dict[str, Any]:
    """Return every figure of a run by name."""
    valid = [t for t in found if t["valid"]]
    done = [t for t in valid if t["done"]]
    scored = [t for t in done if t["points"] is not None]
    costs = [t["cost"]["amount_usd"] for t in found if t["cost"]["amount_usd"] is not None]
    judged = bool(scored) or not done
    tested = [t for t in valid if t["passed"] is not None]

    checked = any(t["verdict"] is not None for t in valid)
    counted = [t for t in valid if not t["void"] and (t["verdict"] is not None or not t["done"])]
    counted = counted if checked or not done else []
    resolved = sum(t["verdict"] is True for t in counted)
    spent = [t["cost"]["amount_usd"] for t in counted]
    took = [t["latency_seconds"] for t in counted]

    def per_resolved(told: list[float | None]) -> float | None:
        known = [one for one in told if one is not None]
        return sum(known) / resolved if resolved and len(known) == len(told) else None

    def bucket(name: str) -> float | None:
        return over_tasks(done, lambda t: t["usage"]["headline"]["usage"][name])

    return {
        "trials": len(found),
        "valid": len(valid),
        "completed": len(done),
        "failed": len(valid) - len(done),
        "infrastructure": len(found) - len(valid),
        "scored": len(scored),
        "unscored": len(done) - len(scored),
        "score": over_tasks(done, lambda t: t["points"]),
        "score_failures_as_zero": over_tasks(valid, lambda t: t["points"] if t["done"] else 0.0) if judged else None,
        "score_all": over_tasks(found, lambda t: (t["points"] or 0.0) if t["valid"] and t["done"] else 0.0)
        if judged and valid
        else None,
        "completion": over_tasks(valid, lambda t: float(t["done"])),
        "tests_run": len(tested),
        "tests_passed": sum(t["passed"] for t in tested),
        "tests_share": over_tasks(tested, lambda t: float(t["passed"])),
        "counted": len(counted),
        "resolved": resolved,
        "resolve_rate": over_tasks(counted, lambda t: float(t["verdict"] is True)),
        "unchecked": sum(t["done"] and not t["void"] and t["verdict"] is None for t in valid),
        "void": sum(t["void"] for t in valid),
        "usd_per_resolved": per_resolved(spent),
        "minutes_per_resolved": None if (seconds := per_resolved(took)) is None else seconds / 60,
        "counted_cost": sum(spent) if spent and None not in spent else None,
        "cost": over_tasks(done, lambda t: t["cost"]["amount_usd"])
        if all(t["cost"]["amount_usd"] is not None for t in done)
        else None,
        "cost_is_lower_bound": any(t["cost"]["status"] == "lower_bound" for t in done),
        "total_cost": sum(costs) if costs else None,
        "latency": over_tasks(done, lambda t: t["latency_seconds"]),
        "turns": over_tasks(done, lambda t: t["num_turns"]),
        "tokens_are_lower_bound": any(t["usage"]["headline"]["completeness"] == "lower_bound" for t in done),
        "fresh_input": bucket("fresh_input"),
        "cache_read": bucket("cache_read"),
        "cache_write": bucket("cache_write"),
        "output": bucket("output"),
    }
