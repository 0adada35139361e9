"""The page on scenarios: its tables are those of the code, and its example is played as it says."""

import re
from pathlib import Path

import httpx
import pytest
from pydantic import BaseModel

from e2e.harness import QUICKSTART, Workplace, needs_agent
from rehearsal.clients import Anthropic, Heard, playing
from swetrials.rehearsal import Fault, FaultKind, Scenario, Script, ScriptStep
from swetrials.store.documents import load_document

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parents[3] / "docs" / "scenarios.md").read_text()
[EXAMPLE] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def first_column(heading: str, of: str) -> list[str]:
    """Return what the first column of a table says: the one with the header ``of``, below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = section.partition(f"\n| {of} |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.yaml"
    path.write_text(EXAMPLE)
    return path


def test_each_kind_of_fault_is_on_the_page() -> None:
    assert sorted(first_column("Faults", "kind")) == sorted(FaultKind)


@pytest.mark.parametrize(
    ("heading", "model"), [("The file", Scenario), ("A script", Script), ("A step", ScriptStep), ("Faults", Fault)]
)
def test_each_key_is_on_the_page(heading: str, model: type[BaseModel]) -> None:
    assert sorted(first_column(heading, "key")) == sorted(model.model_fields)


async def test_the_example_is_played_as_it_stands(example: Path) -> None:
    client, opening = Anthropic(), "task_id: word-tally\nartifacts_dir: /out\ncheckout: /src"
    async with playing(load_document(example, Scenario)) as (_, http):

        async def answer(turn: int) -> Heard:
            response = await http.post(client.path, json=client.body(opening, turn))
            response.raise_for_status()
            return client.read_whole(response.json())

        first = await answer(0)
        with pytest.raises(httpx.HTTPStatusError, match="500"):
            await answer(1)
        second, third, fourth, last = [await answer(turn) for turn in (1, 2, 3, 4)]
    assert (first.text, [name for name, _ in first.calls]) == ("I look at what there is.", ["Bash"])
    assert [arguments["file_path"] for _, arguments in second.calls] == ["/out/github-issue.md", "/out/lld.md"]
    assert third.calls == [("Read", {"file_path": "/src/README.md"})]
    assert [name for name, _ in fourth.calls] == ["Read", "Edit"]
    assert (last.text, last.calls) == ("Done.", [])


@pytest.mark.slow
@needs_agent("claude")
def test_an_agent_does_what_the_example_says(example: Path, tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    words = ["--provider", "rehearsal", "--model", "rehearsal", "--dataset", str(QUICKSTART), "--tasks", "word-tally"]
    place.run("run", *words, "--scenario", example, "--max-topups", "0")
    record, folder = place.records()["word-tally"], place.trial("word-tally").path
    assert set(record.artifacts_produced) == {"github-issue.md", "lld.md", "patch.diff"}
    assert "+# Tally of words" in (folder / "patch.diff").read_text()
    assert record.attempts[0].requests is not None
    assert record.attempts[0].requests.statuses == {"200": 5, "500": 1}
