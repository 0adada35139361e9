"""The scripted model against the real CLIs: its steps take effect, and its figures are the ones they report."""

import itertools
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from swetrials.agents.install import find
from swetrials.agents.packages import PACKAGES
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse
from swetrials.store.project import find_project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "key-of-attempt-1"
SCENARIO = Scenario.model_validate(
    {
        "schema_version": "1.0",
        "name": "real",
        "scripts": [
            {
                "when": "task_id: real",
                "steps": [
                    {"say": "I will read the code.", "shell": "cat x.py"},
                    {"write": {"path": "${artifacts_dir}/lld.md", "content": "# é\n\nno newline at the end"}},
                    {"say": "Now the change.", "edit": {"path": "x.py", "old": "return 1", "new": "return 2"}},
                    {"all": [{"write": {"path": "new/a.txt", "content": "a\n"}}, {"shell": "cp x.py copy.py"}]},
                    {"say": "Done."},
                ],
            }
        ],
    }
)


def binary(agent: str) -> Path:
    installed = find(PACKAGES[agent], find_project().tools)
    if installed is None:
        pytest.skip(f"{agent} is not installed: make setup")
    return installed.binary


class Workplace:
    """A checkout, a folder for artifacts and a private home."""

    def __init__(self, root: Path) -> None:
        self.home, self.checkout, self.artifacts = (root / name for name in ("home", "checkout", "artifacts"))
        for folder in (self.home, self.checkout, self.artifacts, self.home / "tmp"):
            folder.mkdir()
        (self.checkout / "x.py").write_text("def f():\n    return 1\n")
        self.prompt = f"task_id: real\nartifacts_dir: {self.artifacts}\nDo the task."

    async def run(self, argv: Sequence[str | Path], environment: Mapping[str, str]) -> list[dict[str, Any]]:
        done = await anyio.run_process(
            [str(word) for word in argv],
            cwd=self.checkout,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), **environment},
            stdin=subprocess.DEVNULL,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check_effects(self) -> None:
        assert (self.artifacts / "lld.md").read_text() == "# é\n\nno newline at the end"
        assert (self.checkout / "new" / "a.txt").read_text() == "a\n"
        assert (self.checkout / "copy.py").read_text() == "def f():\n    return 2\n"


def check_served(server: RehearsalServer) -> None:
    report = server.served(KEY)
    assert (report.requests, report.completeness) == (5, "complete")
    assert [request.step for request in server.requests] == [0, 1, 2, 3, 4]
    for before, after in itertools.pairwise(server.requests):
        assert after.usage.cache_read and after.usage.cache_read > (before.usage.cache_read or 0)


async def test_claude_code_plays_a_script(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    argv: list[str | Path] = [binary("claude"), "-p", place.prompt, "--output-format", "stream-json"]
    argv += ["--verbose", "--include-partial-messages", "--model", "rehearsal", "--permission-mode", "acceptEdits"]
    argv += ["--allowedTools", "Bash,Edit,Write,Read", "--add-dir", place.artifacts]
    async with rehearse(SCENARIO) as server:
        environment = {
            "ANTHROPIC_BASE_URL": server.base_url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        *_, result = await place.run(argv, environment)
        check_served(server)
        place.check_effects()
        served = server.served(KEY).usage
    [used] = result["modelUsage"].values()
    assert (result["is_error"], result["result"]) == (False, "Done.")
    assert used["inputTokens"] == served.fresh_input
    assert used["outputTokens"] == served.output
    assert used["cacheReadInputTokens"] == served.cache_read
    assert used["cacheCreationInputTokens"] == served.cache_write
    assert used["cacheCreationEphemeral5mInputTokens"] == served.cache_write_5m
    assert used["cacheCreationEphemeral1hInputTokens"] == served.cache_write_1h


@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write"])
async def test_codex_plays_a_script(tmp_path: Path, sandbox: str) -> None:
    place = Workplace(tmp_path)
    argv: list[str | Path] = [binary("codex"), "exec", "--json", "--skip-git-repo-check"]
    argv += ["--sandbox", sandbox, "-c", f"sandbox_workspace_write.writable_roots={json.dumps([str(tmp_path)])}"]
    async with rehearse(SCENARIO) as server:
        provider = f'name = "x"\nbase_url = "{server.base_url}/v1"\nwire_api = "responses"\nenv_key = "KEY"\n'
        config = f'model = "rehearsal"\nmodel_provider = "x"\n[model_providers.x]\n{provider}'
        (place.home / "config.toml").write_text(config)
        *events, ended = await place.run([*argv, place.prompt], {"CODEX_HOME": str(place.home), "KEY": KEY})
        check_served(server)
        served = server.served(KEY).usage
    if sandbox == "workspace-write":
        place.check_effects()
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    outputs = [item["aggregated_output"] for item in items if item["type"] == "command_execution"]
    assert outputs[0] == "def f():\n    return 1\n"
    assert items[-1]["text"] == "Done."
    assert ended["type"] == "turn.completed"
    assert ended["usage"]["input_tokens"] == (served.fresh_input or 0) + (served.cache_read or 0)
    assert ended["usage"]["cached_input_tokens"] == served.cache_read
    assert ended["usage"]["output_tokens"] == served.output
