"""A stand-in for an agent CLI: a shell script behind the same seam, that prints what Claude Code once printed.

Everything else about a trial is real: git, the process group, the files, the route.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
import orjson

from swetrials.agents.base import Job, Launch, StreamReader
from swetrials.agents.claude.driver import ClaudeCode
from swetrials.agents.claude.stream import ClaudeReader
from swetrials.agents.install import Installed, Package
from swetrials.environments.base import Environment
from swetrials.environments.host import Host
from swetrials.environments.work_context import WorkContext
from swetrials.hosting import PROVIDERS
from swetrials.hosting.base import Hosting
from swetrials.hosting.endpoint import Endpoint
from swetrials.pricing.book import PriceBook
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import Metrics
from swetrials.store.documents import LoadedDataset, load_dataset
from swetrials.store.redaction import Redactor
from swetrials.trials.backoff import Backoff
from swetrials.trials.budget import Budget
from swetrials.trials.earlier import Earlier
from swetrials.trials.plan import Plan, plan_run
from swetrials.trials.run_context import RunContext
from swetrials.trials.trial import Observer, run_trial
from swetrials.wire.route import Dialect
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root
from workspace.sources import commit_all, git, new_repository

RECORDED = Path(__file__).parents[1] / "conformance" / "claude"
SECRET = "sk-secret-123"

DESIGN = 'for name in github-issue lld review testing; do echo "# $name" > "$ARTIFACTS/$name.md"; done\n'
IMPLEMENTED = 'echo "# done" > "$ARTIFACTS/implementation.md"\necho changed >> greeting.txt\n'
SAID = 'cat "$RECORDED/ok.jsonl"\n'
WHOLE = DESIGN + IMPLEMENTED + SAID
"""What a good agent does: the documents, the change, and a stream that ends in a result."""


class StandIn:
    """An agent whose program is a shell script.

    It runs in the checkout, with ``ARTIFACTS``, ``RECORDED`` and ``ROUTE`` set.
    """

    name = "stand-in"
    folder = "stand-in"
    dialects: frozenset[Dialect] = frozenset({"anthropic"})
    limits: tuple[str, ...] = ()
    server_tools: frozenset[str] = frozenset()
    package = Package("stand-in", "stand-in", "1.0", "sh", None)

    def __init__(self, scripts: Mapping[str, str]) -> None:
        """Take a script per text that the prompt holds; the first that fits is run."""
        self._scripts = scripts

    def launch(self, binary: Path, job: Job) -> Launch:
        script = next(script for text, script in self._scripts.items() if text in job.prompt)
        environment = {"ARTIFACTS": str(job.artifacts), "RECORDED": str(RECORDED), "ROUTE": job.route.base_url}
        return Launch((str(binary), "-c", script), environment, {job.home / "prompt.txt": job.prompt})

    def recognises(self, line: Mapping[str, object]) -> bool:
        return False

    def reader(self) -> StreamReader:
        return ClaudeReader()

    def check_settings(self, path: Path) -> None:
        ClaudeCode().check_settings(path)


@dataclass
class Yard:
    """A place to run trials in: one repository, a dataset over it, results, a working folder."""

    root: Path
    tasks: tuple[str, ...] = ("task-1",)
    environment: Environment = field(default_factory=Host)
    config: dict[str, object] = field(default_factory=dict)
    agent: type[StandIn] = StandIn
    setup: list[list[str]] = field(default_factory=list)
    instructions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        upstream = new_repository(self.root / "upstream")
        for name, text in {"greeting.txt": "hello\n", **self.instructions}.items():
            (upstream / name).parent.mkdir(exist_ok=True)
            (upstream / name).write_text(text)
        self.commit = commit_all(upstream, "the pinned commit")
        git(upstream, "tag", "v1")
        (upstream / "greeting.txt").write_text("the fix\n")
        commit_all(upstream, "the fix")
        skill = self.root / "skills" / "swe3" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("Do the task.\n")
        self.write_dataset()
        self.work = private_root(self.root / "work")
        self.repositories = Repositories(self.work / "mirrors")

    @property
    def file(self) -> Path:
        return self.root / "dataset" / "dataset.yaml"

    @property
    def place(self) -> WorkContext:
        return WorkContext(self.repositories, self.work, self.environment, Redactor([SECRET]))

    @property
    def results(self) -> Path:
        return self.root / "results"

    def write_dataset(self, statement: str = "Change the greeting.", ref: str = "v1", name: str = "yard") -> None:
        tasks = [
            {
                "id": task, "repo": str(self.root / "upstream"), "ref": ref, "complexity": "low",
                "problem_statement": statement, "ground_truth": {"approach": "The answer is 42."},
                "verify": {"setup": self.setup, "commands": [["grep", "-q", "changed", "greeting.txt"]]},
            }
            for task in self.tasks
        ]  # fmt: skip
        dataset = {"schema_version": "1.0", "name": name, "output_scope": "yard", "tasks": tasks}
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(orjson.dumps(dataset))

    def dataset(self) -> LoadedDataset:
        return load_dataset(self.file)

    def runner(self, **changes: object) -> RunnerConfig:
        base = {
            "provider": "endpoint", "endpoint": "http://127.0.0.1:9", "model": "some-model", "api_key": SECRET,
            "output_dir": str(self.results), "dataset": str(self.file), "timeout_seconds": 30,
            "order": "sequential", "max_retries": 0,
            "meter": False,  # the stand-in plays a recording and calls nobody
            "allowed_tools": ["Read"],  # and has no shell that could be tried
        }  # fmt: skip
        return RunnerConfig.model_validate({**base, **self.config, **changes})

    def plan(self, script: str | Mapping[str, str] = WHOLE, **changes: object) -> Plan:
        agent = self.agent({"": script} if isinstance(script, str) else script)
        return plan_run(self.runner(**changes), self.dataset(), agent, self.root / "skills")

    def context(self, plan: Plan, hosting: Hosting) -> RunContext:
        return RunContext(
            config=plan.config,
            agent=plan.agent,
            installed=Installed(Path("/bin/sh"), "1.0", Path("/bin")),
            skill=plan.skill,
            limits=plan.limits,
            provider=PROVIDERS[plan.config.provider],
            hosting=hosting,
            prices=PriceBook.load(None),
            place=self.place,
            backoff=Backoff(spread=lambda: 0.1),
            budget=Budget(plan.config.max_budget_usd),
        )

    def run(
        self, script: str | Mapping[str, str] = WHOLE, observe: Observer = lambda _: None, **changes: object
    ) -> Metrics:
        """Run the first trial with a script for an agent, and check what holds for every trial."""
        plan = self.plan(script, **changes)

        async def go() -> Metrics:
            async with Endpoint().open(plan.config) as hosting:
                context = self.context(plan, hosting)
                return await run_trial(context, plan.dataset, plan.trials[0], datetime.now(UTC), observe, Earlier())

        metrics = anyio.run(go)
        self.check(metrics, plan)
        return metrics

    def check(self, metrics: Metrics, plan: Plan) -> None:
        """What is on disk is what was returned, no secret is in it, and nothing of an attempt is left."""
        folder = plan.trials[0].folder
        assert folder.metrics() == metrics
        for path in folder.path.rglob("*"):
            assert not path.name.endswith(".tmp")
            if path.is_file():
                assert SECRET.encode() not in path.read_bytes(), path
        assert [path.name for path in self.work.iterdir()] == ["mirrors"]
        for attempt in metrics.attempts:
            assert attempt.survivors == 0

    def left(self, name: str) -> Path:
        """Return where a file of the first trial is."""
        return self.results / "some-model" / "stand-in" / "swe3" / "yard" / self.tasks[0] / name
