"""Three models of different quality on the quickstart, with their tests as the only judge: all that ranks them."""

import html
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from ruamel.yaml import YAML

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, needs_agent
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.scenario import EditFile, Script, ScriptStep
from swetrials.results.report.page import report
from swetrials.store.documents import load_document

pytestmark = [pytest.mark.slow, needs_agent("claude")]

ROUTE = BENCHMARKS.parent / ".claude" / "skills" / "swe-router" / "route.py"
SCRIPTED = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)
"""Resolves two of the three tasks; in one of them it leaves documents out."""

ACCENTS = Script(
    when="task_id: slugify-unicode",
    steps=(
        ScriptStep(read="title_slug/slug.py"),
        ScriptStep(
            edit=EditFile(
                path="title_slug/slug.py",
                old='slug = _SEPARATORS.sub("-", title.lower())',
                new='slug = _SEPARATORS.sub("-", _to_ascii(title.lower()))',
            )
        ),
        ScriptStep(
            edit=EditFile(
                path="title_slug/slug.py",
                old="def _shortened(",
                new="""\
def _to_ascii(text: str) -> str:
    letters = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "þ": "th"})
    decomposed = unicodedata.normalize("NFKD", text).translate(letters)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _shortened(""",
            )
        ),
        ScriptStep(edit=EditFile(path="title_slug/slug.py", old="import re\n", new="import re\nimport unicodedata\n")),
        ScriptStep(say="Letters keep their place without their accents."),
    ),
)
LAZY = tuple(
    Script(when=f"task_id: {task}", steps=(ScriptStep(say="I would have to think about that."),))
    for task in ("word-tally", "slugify-unicode", "temperature-table")
)
MODELS = {
    "claude-opus-4-5": SCRIPTED.model_copy(update={"scripts": (ACCENTS, *SCRIPTED.scripts)}),
    "claude-sonnet-4-5": SCRIPTED,
    "claude-haiku-4-5": SCRIPTED.model_copy(update={"scripts": LAZY}),
}
"""The best first: three, two and none of the tasks."""


@contextmanager
def endpoint(model: str) -> Iterator[RehearsalServer]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(MODELS[model], model=model)) as server,
    ):
        yield server


FAIL_TO_PASS = {
    "word-tally": ["tests.test_top.Top.test_prints_the_most_frequent_words_only"],
    "slugify-unicode": ["tests.test_accents.Accents.test_letters_that_no_accent_explains"],
    "temperature-table": ["tests.test_empty_input.EmptyInput.test_blank_lines_are_no_readings"],
}


def with_single_tests(folder: Path) -> Path:
    """Return a copy of the quickstart in which single tests decide."""
    shutil.copytree(QUICKSTART.with_suffix(""), folder / "quickstart")
    yaml = YAML()
    dataset = yaml.load(QUICKSTART)
    for task in dataset["tasks"]:
        task["verify"] |= {"report": "unittest", "fail_to_pass": FAIL_TO_PASS[task["id"]], "pass_to_pass": "all"}
    copy = folder / "quickstart.yaml"
    yaml.dump(dataset, copy)
    return copy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """Return where each of them has done each task twice, and the tests have judged."""
    made = Workplace(tmp_path_factory.mktemp("ranked"), {"SWETRIALS_API_KEY": "key-of-the-endpoint"})
    dataset = with_single_tests(tmp_path_factory.mktemp("dataset"))
    for model in MODELS:
        with endpoint(model) as server:
            route = ["--provider", "endpoint", "--endpoint", server.base_url, "--model", model]
            more = ["--dataset", str(dataset), "--skip-probe", "--repeats", "2", "--concurrency", "2"]
            done = made.run("run", *route, *more, timeout_seconds=300)
            assert done.returncode in {0, 1}, done.stdout + done.stderr
    judged = made.run(
        "judge", "--recursive", "--folder", made.results, "--judge", "tests", "--dataset", dataset, timeout_seconds=300
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
    return made


def said(place: Workplace, *words: str) -> str:
    done = place.command(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_the_answer_is_the_resolve_rate_and_drops_what_is_earned(place: Workplace) -> None:
    told = json.loads(said(place, "answer", str(place.results), "--json"))["parts"][0]
    assert told["rank_by"] == "resolved"
    done, best, *_ = told["sentences"]
    assert "On 3 tasks of quickstart, verified by their tests: 18" in done
    assert best.startswith("claude-opus-4-5 resolves the most, 100 % (44 to 100), at $")
    assert " per resolved task" in best
    assert {"exit_codes_only", "scored_by_rubric"}.isdisjoint(missing["code"] for missing in told["not_earned"])


def test_the_report_has_frontier_pairs_and_dollars_per_resolved_task(place: Workplace, tmp_path: Path) -> None:
    made = report(place.results, tmp_path)
    [part] = made.parts
    assert [drawing.name for drawing in made.drawings][:3] == ["frontier", "resolve-rates", "pairs"]
    board = next(section for section in part.sections if section.name == "leaderboard")
    cells = [dict(zip(board.tables[0].columns, row, strict=True)) for row in board.tables[0].rows]
    assert [(row["model"].text, row["resolve rate"].text, row["resolved"].text) for row in cells] == [
        ("claude-opus-4-5", "100%", "6 of 6"),
        ("claude-sonnet-4-5", "67%", "4 of 6"),
        ("claude-haiku-4-5", "0%", "0 of 6"),
    ]
    prices = [row["dollars per resolved task"].text for row in cells]
    assert [price.split("$")[0] for price in prices] == ["", "", "over "]
    assert "score" not in board.tables[0].columns
    words = html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", made.html(), flags=re.DOTALL))
    assert not re.search(r"\b(mean )?scores?\b|rubric", words)


def test_a_comparison_says_what_may_be_claimed_of_resolve_rates(place: Workplace) -> None:
    told = said(place, "compare", "claude-opus-4-5", "claude-haiku-4-5", "--tree", str(place.results))
    assert "Fewer than 6 shared tasks never tell the resolve rates of" in told
    assert "is +100 percentage points (95 % interval" in told
    assert "about 3 more tasks like these would settle it" in told
    assert "score" not in told


def test_the_router_takes_the_cheapest_that_resolves_enough(place: Workplace, tmp_path: Path) -> None:
    models = tmp_path / "models.json"
    said(place, "router", "build", str(place.results), "--out", str(models))
    assert json.loads(models.read_text())["rank_by"] == "resolved"
    picks = {}
    for tier in ("trivial", "medium"):
        words = [ROUTE, "--tier", tier, "--floor", "60", "--models", models, "--no-allow-list"]
        done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        assert "a resolve rate of 60 %" in answer["reason"]
        picks[tier] = answer["recommended"]["model"]
    assert picks == {"trivial": "claude-sonnet-4-5", "medium": "claude-opus-4-5"}
    evaluated = said(place, "router", "evaluate", "--data", str(place.results), "--no-allow-list", "--floor", "60")
    assert "The resolve rate goes from 100.0 to 100.0" in evaluated
    assert "score" not in evaluated


def test_another_ranking_may_be_asked_for(place: Workplace) -> None:
    told = said(place, "answer", str(place.results), "--rank-by", "rubric")
    assert "resolves" not in told
