"""The tasks on the gateway's repository: the ones that figures were published for, and no answer in a question."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from swetrials.records.dataset import Task
from swetrials.store.documents import load_dataset
from swetrials.trials.plan import prompt_for

LOADED = load_dataset(Path(__file__).parents[2] / "dataset" / "mcp-gateway-registry.yaml")
TASKS = {task.id: task for task in LOADED.dataset.tasks}

PUBLISHED: Final = {
    "index-demo-videos-in-one-page": ("trivial", "1.24.3"),
    "hide-register-button-on-virtual-and-skills-tabs": ("trivial", "v1.0.18"),
    "pass-ssrf-allowlist-env-to-registry-container": ("trivial", "1.27.1"),
    "macos-setup-python-version-precheck": ("trivial", "1.27.1"),
    "portable-env-secret-generation-in-build-script": ("trivial", "1.27.1"),
    "default-create-in-idp-checkbox-unchecked": ("low", "v1.0.21"),
    "honor-cloud-provider-override-in-ui": ("low", "1.24.7"),
    "fix-reserved-groups-var-in-service-account-script": ("low", "1.27.1"),
    "cli-custom-egress-oauth-provider-flags": ("low", "1.28.0"),
    "logout-id-token-hint-out-of-browser-url": ("low", "1.27.1"),
    "build-docker-images-from-uv-lock": ("medium", "1.23.0"),
    "derive-repo-url-from-skill-md": ("medium", "v1.0.19"),
    "consistent-csrf-across-toggle-endpoints": ("medium", "v1.0.20"),
    "configurable-ui-title": ("medium", "1.23.0"),
    "configurable-mcp-proxy-upstream-timeout": ("medium", "1.25.0"),
    "nginx-location-trailing-slash-route-hijack": ("medium", "1.27.1"),
    "registration-admission-control-gate": ("high", "v1.0.19"),
    "server-side-oauth-token-storage": ("high", "1.23.0"),
    "lifecycle-workflow-webhooks": ("high", "1.24.7"),
    "per-caller-per-target-rate-limits-and-quarantine": ("high", "1.27.1"),
    "idp-authenticated-embedding-endpoint": ("high", "1.28.0"),
}
"""Tier and ref of each task for which results were published; another ref would be another task."""

SHARED_WORDS: Final = 5
"""So many words in a row, in question and answer alike, are a copy; shorter runs are plain English."""

PRODUCTS: Final = frozenset(
    {"DocumentDB", "FastAPI", "GitHub", "LiteLLM", "MongoDB", "OpenAI", "TypeScript", "YouTube"}
)
"""Names of products, which look like names of classes."""

_IDENTIFIER = re.compile(
    r"""
    `[^`]+`                                     # what the author marked as code
    | --[a-z][\w-]+                             # an option
    | [\w.-]*/[\w./{}-]+                        # a path, also of an endpoint
    | \b\w+\.(?:py|tsx?|jsx?|sh|md|ya?ml|toml|json|conf|html|tf|tfvars|lock)\b
    | \b[A-Za-z]\w*_\w+                         # snake_case and SCREAMING_SNAKE_CASE
    | \b[A-Z]\w*[a-z]\w*[A-Z]\w*                # CamelCase
    | \b[a-z]+[A-Z][a-z]\w*                     # camelCase
    | \b[A-Za-z]\w*(?=\()                       # a call
    """,
    re.VERBOSE,
)


def told(task: Task) -> str:
    """Return everything that an agent reads of a task."""
    return f"{task.problem_statement}\n{task.clarifying_answers}"


def answers(task: Task) -> list[str]:
    """Return what only a judge reads, passage by passage."""
    truth = task.ground_truth
    return [truth.approach, *truth.expectations, truth.reference_url or ""]


def identifiers(text: str) -> set[str]:
    """Return the words of a text that name something in code: paths, options, variables, functions."""
    return {found.strip("`.,;:()") for found in _IDENTIFIER.findall(text)} - PRODUCTS


def word_runs(text: str) -> set[str]:
    words = re.findall(r"[a-z0-9_]+", text.lower())
    return {" ".join(words[at : at + SHARED_WORDS]) for at in range(len(words) - SHARED_WORDS + 1)}


def occurs(name: str, text: str) -> bool:
    """Whether a name stands in a text as a whole; ``_CIDRS`` is not found in ``SSRF_ALLOWED_CIDRS``."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE) is not None


def leaks(task: Task) -> set[str]:
    """Return identifiers and runs of words of a task's ground truth that the agent is told."""
    named = {name for passage in answers(task) for name in identifiers(passage) if occurs(name, told(task))}
    return named | {run for passage in answers(task) for run in word_runs(passage) & word_runs(told(task))}


def with_plant(task: Task, plant: str, field: str) -> Task:
    return task.model_copy(update={field: f"{getattr(task, field)}\nSee also {plant}, please."})


def test_the_tasks_are_those_of_the_published_figures() -> None:
    assert {task.id: (task.complexity, task.ref) for task in TASKS.values()} == PUBLISHED
    assert {LOADED.dataset.scope_of(task) for task in TASKS.values()} == {"mcp-gateway-registry-v2"}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_nothing_of_the_ground_truth_is_told(task: Task) -> None:
    assert leaks(task) == set()


@pytest.mark.parametrize("field", ["problem_statement", "clarifying_answers"])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_leak_would_be_found(task: Task, field: str) -> None:
    passages = [passage for passage in answers(task) if passage]
    plants = {
        *(name for passage in passages for name in identifiers(passage)),
        *(" ".join(passage.split()[:SHARED_WORDS]).lower() for passage in passages),
    }
    assert len(plants) >= len(passages)
    assert [plant for plant in plants if not leaks(with_plant(task, plant, field))] == []


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_no_address_that_an_agent_is_told_leads_to_the_fix(task: Task) -> None:
    prompt = prompt_for(task, Path("checkout"), Path("artifacts"))
    assert "agentic-community" not in prompt
    assert task.problem_issue_url is None, "a closed issue links to its fix"
    assert [tag for tag in task.tags if tag in prompt and tag.startswith("fixed-in-")] == []


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_can_be_done_and_judged_from_its_words(task: Task) -> None:
    assert 80 <= len(task.problem_statement.split()) <= 250
    numbers = re.findall(r"^(\d+)\. .*\?", task.clarifying_answers, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert len(numbers) >= 3
    assert task.ground_truth.approach
    assert len(task.ground_truth.expectations) >= 4


def release(name: str) -> tuple[int, ...]:
    matched = re.fullmatch(r"(?:fixed-in-|v)?(\d+)\.(\d+)\.(\d+)", name)
    assert matched, f"{name!r} is not a release"
    return tuple(map(int, matched.groups()))


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_is_pinned_to_a_release_before_its_fix(task: Task) -> None:
    checked = subprocess.run(["git", "check-ref-format", f"refs/tags/{task.ref}"], stdin=subprocess.DEVNULL)
    assert checked.returncode == 0
    (fixed,) = (tag for tag in task.tags if tag.startswith("fixed-in-"))
    assert release(task.ref) < release(fixed)
