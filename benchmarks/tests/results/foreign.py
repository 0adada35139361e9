"""A tree as another harness of this kind writes it: made-up figures under the same keys."""

import copy
import json
from pathlib import Path
from typing import Any

UNITS = {
    "github_issue": (20, 18, 22, 15),
    "lld": (16, 12, 20, 12),
    "review": (12, 10, 16, 12),
    "testing": (16, 11, 18, 15),
    "implementation": (8, 5, 12, 5),
}
CRITERIA = ("completeness", "correctness", "specificity", "risk_awareness")
TASK_SCORE = 55.0
MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


def scores() -> dict[str, Any]:
    return {
        unit: {**dict(zip(CRITERIA, points, strict=True)), "total": sum(points), "notes": f"on {unit}"}
        for unit, points in UNITS.items()
    }


def judge() -> dict[str, Any]:
    return {
        "model": "a-judge",
        "provider": "codex-exec",
        "repo_grounded": True,
        "evaluated_at": "2026-08-30T21:41:55Z",
        "repo_ref": "1.2.0",
        "reasoning_effort": "high",
        "token_usage": {
            "input_tokens": 1000,
            "cached_input_tokens": 700,
            "cache_write_input_tokens": 100,
            "output_tokens": 50,
            "reasoning_output_tokens": 40,
        },
        "duration_ms": 141_421,
    }


def evaluation(task: str = "rename-flag") -> dict[str, Any]:
    return {
        "task": task,
        "model": MODEL,
        "scores": scores(),
        "task_score": TASK_SCORE,
        "verdict": "so so",
        "judge": judge(),
    }


def _serving() -> dict[str, Any]:
    return {"instance_type": "g6e.12xlarge", "tensor_parallel_size": None, "precision": None, "context_window": None}


def metrics(task: str = "rename-flag", **changes: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """Return the record of a trial on Bedrock."""
    block = {
        "note": "",
        "input_tokens": 547,
        "output_tokens": 3100,
        "cache_read_tokens": 80_000,
        "cache_write_tokens": 2_600,
        "total_tokens": 86_247,
        "total_cost_usd": 1.25,
        "latency_seconds": 370.8,
        "num_turns": 91,
        "sources": {
            "input_tokens": "claude_api.usage.input",
            "cache_read_tokens": "claude_api.usage.cache_read_input_tokens",
            "total_cost_usd": "claude_api.total_cost_usd (metered)",
        },
    }
    record = {
        "task": task,
        "repo": "https://git.example/shop.git",
        "ref": "1.2.0",
        "complexity": "medium",
        "tags": ["ui"],
        "model": MODEL,
        "model_slug": "claude-haiku-4-5",
        "agent": "claude",
        "skill": "swe3",
        "provider": "bedrock",
        "endpoint": None,
        "aws_region": "us-east-1",
        "serving": _serving(),
        "artifacts_produced": 6,
        "artifacts_expected": 6,
        "token_accounting_warning": None,
        "metrics": block,
        "input_tokens": 547,
        "output_tokens": 3100,
        "latency_seconds": 370.8,
        "num_turns": 91,
        "total_cost_usd": 1.25,
        "is_error": False,
        "result_subtype": "success",
        "cache_read_tokens": 80_000,
        "cache_creation_tokens": 2_600,
        "run_started_at": "2026-08-30T20:17:09Z",
        "run_ended_at": "2026-08-30T20:23:20Z",
        "metrics_that_matter": copy.deepcopy(block),
        "evaluation": evaluation(task),
    }
    return {**record, **changes}


def self_hosted(task: str = "rename-flag", **changes: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """Return the record of a trial on a self-hosted model, whose cache the server counted."""
    block = {
        "input_tokens": 10_000,
        "output_tokens": 300,
        "cache_read_tokens": 9_000,
        "cache_write_tokens": 1_000,
        "total_tokens": 20_300,
        "total_cost_usd": None,
        "latency_seconds": 80.0,
        "num_turns": 9,
        "sources": {
            "input_tokens": "pi_api.usage.input",
            "cache_read_tokens": "vllm_prometheus.counters.vllm:prompt_tokens_cached_total",
            "total_cost_usd": "null (self-hosted: no per-token bill; cost is hardware-derived)",
        },
    }
    record = metrics(
        task,
        model="glm-5.2",
        model_slug="glm-5.2",
        agent="pi",
        provider="endpoint",
        endpoint="http://127.0.0.1:8000",
        serving={"instance_type": "p5en.48xlarge", "tensor_parallel_size": 8, "precision": "FP8", "context_window": 0},
        metrics=block,
        metrics_that_matter=block,
        input_tokens=10_000,
        output_tokens=300,
        total_cost_usd=None,
        num_turns=9,
    )
    del record["cache_read_tokens"], record["cache_creation_tokens"]
    return {**record, **changes}


def row(task: str = "rename-flag", **changes: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """Return a row of a run's summary."""
    return {
        "task": task,
        "complexity": "trivial",
        "ref": "1.2.0",
        "artifacts_produced": 6,
        "artifacts_expected": 6,
        "num_turns": 33,
        "input_tokens": 2_000,
        "output_tokens": 500,
        "total_tokens": 22_600,
        "latency_seconds": 232.8,
        "total_cost_usd": 0.5,
        "result_subtype": "success",
        "task_score": TASK_SCORE,
        "cache_read_tokens": 20_000,
        "cache_write_tokens": 100,
        "agent_invocations": 1,
        "topped_up_artifacts": [],
        "eval_scores": scores(),
        "is_error": False,
        "failed": False,
        **changes,
    }


def summary(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """Return a run's summary."""
    return {
        "model": MODEL,
        "model_slug": "claude-haiku-4-5",
        "agent": "claude",
        "skill": "swe3",
        "scope": "shop",
        "provider": "bedrock",
        "ref": None,
        "refs": ["1.2.0"],
        "serving": _serving(),
        "judge": judge(),
        "num_tasks": len(rows),
        "mean_task_score_excl_failed": TASK_SCORE,
        "tasks": list(rows),
        **changes,
    }


def judged_inputs() -> dict[str, Any]:
    """Return what a router is told of two tasks."""
    need = {
        "floor": 80.0,
        "tier": "low",
        "base_floor": 75,
        "adjustment": 5,
        "consequence": "bad",
        "reason": "so",
        "attempts": 3,
        "floors_seen": [75.0, 80.0, 80.0],
        "floor_spread": 5.0,
        "tiers_seen": {"low": 3},
    }
    return {
        "judged_by": {
            "harness": "omp",
            "model": "us.anthropic.claude-opus-5",
            "provider": "bedrock",
            "skill": "swe-router",
            "dataset": "benchmarks/dataset/shop.yaml",
            "repeats": 3,
            "started_at": "2026-09-04T00:17:26Z",
            "finished_at": "2026-09-04T00:29:44Z",
            "judging_cost_usd": 27.5,
            "runs_ok": 6,
            "runs_failed": 0,
        },
        "consolidation": "",
        "tasks": {"rename-flag": need, "add-page": {**need, "floor": 70.0, "floors_seen": [70.0, 70.0]}},
    }


def put(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_tree(root: Path) -> Path:
    """Write two trials with records and one that a summary alone tells of, and return the tree."""
    run = root / "claude-haiku-4-5" / "claude-code" / "swe3" / "shop"
    put(run / "rename-flag" / "metrics.json", metrics())
    put(run / "rename-flag" / "eval.json", evaluation())
    (run / "rename-flag" / "lld.md").write_text("# design")
    put(run / "run-summary.json", summary(row(), row("add-page")))
    hosted = root / "glm-5.2" / "pi" / "swe3" / "shop"
    put(hosted / "rename-flag" / "metrics.json", self_hosted())
    return root
