"""The rehearsal provider: which scenario plays, and that each attempt has a key and a count of its own."""

from pathlib import Path

import anyio
import httpx
import pytest

from swetrials.hosting.base import ProviderError
from swetrials.hosting.rehearsal import Rehearsal, scenario_beside, scenario_file
from swetrials.records.config import RunnerConfig
from swetrials.store.documents import DocumentError

SCENARIO = 'schema_version: "1.0"\nname: {name}\nscripts:\n  - when: "go"\n    steps:\n      - say: {name} speaks.\n'


def dataset_in(folder: Path) -> Path:
    (folder / "data").mkdir()
    (folder / "data" / "scenario.yaml").write_text(SCENARIO.format(name="beside"))
    return folder / "data.yaml"


def config(dataset: Path, **changes: object) -> RunnerConfig:
    return RunnerConfig.model_validate({"dataset": str(dataset), **changes})


def test_the_scenario_beside_the_dataset_is_the_default(tmp_path: Path) -> None:
    dataset = dataset_in(tmp_path)
    assert scenario_file(config(dataset)) == tmp_path / "data" / "scenario.yaml"
    assert scenario_file(config(dataset, scenario="own.yaml")) == Path("own.yaml")
    assert scenario_file(config(tmp_path / "other.yaml")) is None
    assert scenario_beside(tmp_path / "data") == tmp_path / "data" / "scenario.yaml"


def ask(settings: RunnerConfig, attempts: tuple[str, ...] = ("a",)) -> tuple[list[str], list[int | None], list[str]]:
    """Ask once in the name of each attempt; return what was said, requests counted per attempt, and the checks."""

    async def go() -> tuple[list[str], list[int | None], list[str]]:
        async with Rehearsal().open(settings) as hosting, httpx.AsyncClient() as client:
            said = []
            for attempt in attempts:
                route = hosting.route(attempt)
                body = {"model": route.model, "max_tokens": 100, "messages": [{"role": "user", "content": "go"}]}
                headers = {"x-api-key": route.api_key.get_secret_value(), "anthropic-version": "2023-06-01"}
                reply = await client.post(f"{route.base_url}/v1/messages", json=body, headers=headers)
                said.append(reply.json()["content"][0]["text"] if reply.status_code == 200 else str(reply.status_code))
            served = [hosting.served(attempt) for attempt in dict.fromkeys((*attempts, "never"))]
            checks = [f"{check.status}: {check.detail}" for check in await hosting.checks()]
            return said, [report.requests if report else None for report in served], checks

    return anyio.run(go)


def test_it_plays_and_counts_each_attempt_for_itself(tmp_path: Path) -> None:
    dataset = dataset_in(tmp_path)
    said, requests, checks = ask(config(dataset), ("a", "b", "b"))
    assert said[:2] == ["beside speaks.", "beside speaks."]
    assert requests == [1, 2, 0]
    assert checks == [f"ok: {tmp_path / 'data' / 'scenario.yaml'}"]


def test_without_a_scenario_it_says_so_and_answers_even_so(tmp_path: Path) -> None:
    said, _, (check,) = ask(config(tmp_path / "other.yaml"))
    assert said[0]
    assert check.startswith("warning: none")


def test_a_fault_strikes_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    dataset = dataset_in(tmp_path)
    assert ask(config(dataset, fault="status_529"))[0] == ["529"]
    with pytest.raises(ProviderError, match=r"^fault: 'status_599' is not one of status_429, "):
        ask(config(dataset, fault="status_599"))


def test_a_scenario_with_faults_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO.format(name="x").replace("say:", "sing:"))
    with pytest.raises(DocumentError, match=r"scenario\.yaml:6: .*sing"):
        ask(config(tmp_path / "d.yaml", scenario=str(file)))
