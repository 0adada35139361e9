"""``swetrials compare``: the sentence first, then the table; names of models as well as folders."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from runs.written import evaluation, metrics, rubric
from swetrials.cli.app import main
from swetrials.records.evaluation import Evaluation, JudgeBlock
from swetrials.store.files import write_record
from swetrials.store.project import find_project

EXAMPLE = find_project().root.joinpath("swe-benchmark-data/example/rehearsal/claude-code/swe3/quickstart")


def write_run(tree: Path, model: str, points: list[int], cost: float, **changes: Any) -> Path:  # noqa: ANN401
    run = tree / model / "claude-code" / "swe3" / "scope"
    for number, of_task in enumerate(points):
        record = metrics(
            task=f"t{number}", model=model, model_slug=model, total_cost_usd=cost,
            cost={"amount_usd": cost, "basis": "metered", "status": "complete"}, **changes,
        )  # fmt: skip
        write_record(run / record.task / "metrics.json", record)
        write_record(run / record.task / "eval.json", evaluation(record, rubric(of_task)))
    return run


def compare(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["compare", *map(str, arguments)])
    told = capsys.readouterr()
    return left.value.code, told.out, told.err


def test_what_can_be_claimed_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, "strong", [24, 22, 23, 25, 21, 24, 23, 22, 24, 25], 2.0)
    write_run(tmp_path, "weak", [10, 9, 11, 8, 10, 9, 10, 12, 9, 8], 1.0)
    code, out, _ = compare(capsys, "strong", "weak", "--tree", tmp_path)
    assert code == 0
    first, alone, blank, heads = out.splitlines()[:4]
    assert first.startswith("strong scores higher than weak on tasks like these: +54.8 points (95 % interval +")
    assert "strong costs 2.00 times as much as weak (2.00 to 2.00, p 0.002)." in first
    assert alone.startswith("p is that of this pair alone")
    assert (blank, heads[:3]) == ("", "A: ")


def test_json_has_the_figures_of_the_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = write_run(tmp_path, "a", [20, 18, 22], 1.0), write_run(tmp_path, "b", [20, 19, 20], 1.0)
    code, out, _ = compare(capsys, one, other, "--json")
    claim = orjson.loads(out)["claim"]
    assert code == 0
    assert claim["score"]["difference"]["value"] == pytest.approx(4 / 3)
    assert claim["score"]["verdict"] == "tied"
    assert claim["settling"]["power"] == 0.8


def test_one_shared_task_is_no_claim_but_still_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, "a", [20], 1.0)
    write_run(tmp_path, "b", [10], 1.0)
    code, out, _ = compare(capsys, "a", "b", "--tree", tmp_path)
    assert code == 0
    assert out.startswith("Nothing can be claimed about the scores of a and b, which share 1 scored task ")
    assert "tokens" in out
    assert "p is that of this pair alone" not in out


def test_what_no_p_can_be_small_for_is_said_to_be_too_little(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, "a", [20, 19, 20, 21, 20], 1.0)
    write_run(tmp_path, "b", [10, 10, 10, 11, 10], 0.0)
    code, out, _ = compare(capsys, "a", "b", "--tree", tmp_path)
    assert code == 0
    assert out.startswith("Fewer than 6 shared tasks never tell the scores of a and b apart: a less b is +39.2 points")
    assert "a cannot be compared with b by a ratio of costs, as one of the two is 0; " in out
    assert "about 1 more task like these would settle it" in out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rehearsal": True}, "rehearsals are not ranked beside real models"),
        ({"task_sha256": "reworded"}, "was worded differently"),
    ],
)
def test_what_may_not_be_compared_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], said: str
) -> None:
    write_run(tmp_path, "a", [20, 10], 1.0)
    write_run(tmp_path, "b", [20, 10], 1.0, **changes)
    code, out, err = compare(capsys, "a", "b", "--tree", tmp_path)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) <= 2
    assert all(f"{tmp_path}/{model}/claude-code" in err for model in "ab")


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"torn', "record: invalid JSON"), ('{"latency_seconds": 1e308}', "latency_seconds: input should be less")],
)
def test_a_record_that_cannot_be_used_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    for model in "ab":
        write_run(tmp_path, model, [20, 10], 1.0)
    file = tmp_path / "b" / "claude-code" / "swe3" / "scope" / "t1" / "metrics.json"
    whole = orjson.loads(file.read_bytes())
    file.write_text(text if "torn" in text else orjson.dumps(whole | orjson.loads(text)).decode())
    code, out, err = compare(capsys, "a", "b", "--tree", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith(f"{file}: {said}")
    assert err.count("\n") == 1


def test_a_run_beside_itself_is_called_a_and_b(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_run(tmp_path / "x", "m", [20, 10, 15], 1.0)
    other = write_run(tmp_path / "y", "m", [20, 10, 15], 1.0)
    _, out, _ = compare(capsys, one, other)
    assert out.startswith("Fewer than 6 shared tasks never tell the scores of A and B apart: A less B is +0.0 points")


def test_a_look_before_the_end_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strong = write_run(tmp_path, "strong", [24, 22, 23, 25, 21, 24, 23], 2.0)
    write_run(tmp_path, "weak", [10, 9, 11, 8, 10, 9, 10], 1.0)
    lock = json.loads((EXAMPLE / "lock.json").read_text())
    pin = next(iter(lock["sessions"][-1]["tasks"].values()))
    lock["sessions"][-1]["tasks"] = {f"t{number}": pin for number in range(10)}
    (strong / "lock.json").write_text(json.dumps(lock))
    _, out, _ = compare(capsys, "strong", "weak", "--tree", tmp_path)
    assert "A has 7 of 10 trials: a look before the end that was not planned makes a false claim in one of five" in out
    lock["sessions"][-1]["tasks"] = {f"t{number}": pin for number in range(7)}
    (strong / "lock.json").write_text(json.dumps(lock))
    _, out, _ = compare(capsys, "strong", "weak", "--tree", tmp_path)
    assert "false claim" not in out


def test_runs_by_two_judges_are_refused_until_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, judges in (("a", ("x", "y")), ("b", ("y",))):
        run = write_run(tmp_path, model, [20, 18], 1.0)
        for trial in run.iterdir():
            scores = Evaluation(**{k: json.loads((trial / "eval.json").read_text())[k] for k in ("task", "trial_id")})
            for name in judges:
                block = JudgeBlock(name="codex", provider="p", model=name)
                word = rubric(20 if name == "x" else 10).model_copy(update={"judge": block})
                scores = scores.with_word(f"codex/{name}", word, "hash")
            write_record(trial / "eval.json", scores)
    code, _, errors = compare(capsys, "a", "b", "--tree", tmp_path)
    assert code == 2
    assert "codex/x (as in " in errors and "codex/y (as in " in errors and "--judge NAME" in errors
    code, out, _ = compare(capsys, "a", "b", "--tree", tmp_path, "--judge", "codex/y")
    assert code == 0
    assert "40.0" in out and "80.0" not in out
