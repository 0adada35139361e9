"""The report: everything is on the page, nothing of it reaches outside, and nothing on it is markup from outside."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from kinds import first_is_quick
from results.published_figures import published_rows
from results.report.published_tree import Row, published_tree
from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.records.cost import Cost
from swetrials.records.evaluation import JudgeBlock
from swetrials.records.metrics import Finding, TimeSplit
from swetrials.records.outcome import OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.results.mixtures import MixtureError
from swetrials.results.report.html_tables import Cell
from swetrials.results.report.page import Report, ReportError, report, write_report

MOST_BYTES = 3_000_000
FAILED = OutcomeKind.INCOMPLETE_ARTIFACTS


class Page(HTMLParser):
    """What a page holds: its words, its links, every address in it, and elements that do something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.elements: list[str] = []
        self.ids: list[str] = []
        self._within: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        given = dict(attrs)
        self.addresses += [
            value for name in ("src", "href", "xlink:href", "action", "data") if (value := given.get(name))
        ]
        if tag == "a" and (href := given.get("href")):
            self.links.append(href)
        if given_id := given.get("id"):
            self.ids.append(given_id)
        self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._within:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_tree(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def published(tree: Path) -> Report:
    return report(tree, tree.parent)


@pytest.fixture(scope="module")
def page(published: Report) -> Page:
    return Page(published.html())


def test_every_model_and_every_task_is_there(page: Page) -> None:
    rows = published_rows()
    for name in {row["task"] for row in rows} | {row["model"].removesuffix("-v1") for row in rows}:
        assert name in page.text


def test_every_trial_can_be_gone_to(tree: Path, page: Page) -> None:
    folders = {path.parent for path in tree.rglob("metrics.json")}
    linked = {tree.parent / unquote(link) for link in page.links if not link.startswith("#")}
    assert linked == folders
    assert len(folders) == len(published_rows())


def test_a_link_inside_the_page_leads_somewhere_and_no_id_is_there_twice(page: Page) -> None:
    assert {link.removeprefix("#") for link in page.links if link.startswith("#")} <= set(page.ids)
    assert sorted(set(page.ids)) == sorted(page.ids)


def test_nothing_is_fetched_and_nothing_runs(published: Report, page: Page) -> None:
    html = published.html()
    assert [address for address in page.addresses if re.match(r"[a-z][a-z0-9+.-]*:|//", address)] == []
    assert set(page.elements).isdisjoint(
        {"script", "link", "img", "iframe", "object", "embed", "form", "foreignobject"}
    )
    assert re.findall(r"url\((?!#)|@import|@font-face", html) == []
    assert len(html.encode()) < MOST_BYTES


def test_every_colour_has_a_form_for_the_dark(published: Report) -> None:
    for drawing in published.drawings:
        fixed = set(re.findall(r'(?:fill|stroke)="(black|white|#000|#fff|#ffffff|#888)"', drawing.inline))
        assert fixed == set(), drawing.name
        assert "currentColor" in drawing.inline


def test_the_answer_names_the_best_its_noise_and_what_is_tied_with_it(published: Report) -> None:
    best, tied, cheapest = published.parts[0].answer
    assert re.fullmatch(
        r"claude-opus-5 scores highest: 82\.8 \(8\d\.\d to 8\d\.\d\) of 100, at \$11\.95 \(.* to .*\) a trial\.", best
    )
    assert "do not tell it apart from glm-5.3 (80.1), " in tied
    assert cheapest.startswith("The cheapest of them is qwen3.8-27b, at $1.47 (")
    assert "(88% less, roughly, as the two costs stand on different bases)" in cheapest
    assert cheapest.endswith("it completed 20 of 21 trials, and the mean is over these.")


@pytest.mark.slow
def test_a_wider_tie_band_ties_more(tmp_path: Path) -> None:
    two = published_tree(tmp_path, lambda row: row if row["model"] in {"claude-opus-5", "claude-opus-4-7"} else None)
    assert not any("claude-opus-4-7" in said for said in report(two, tmp_path).parts[0].answer)
    assert any("claude-opus-4-7" in said for said in report(two, tmp_path, tie_band=12).parts[0].answer)


def test_both_files_of_each_chart_are_written(published: Report, tmp_path: Path) -> None:
    written = write_report(published, tmp_path / "out" / "report.html", tmp_path / "charts")
    assert sorted(path.name for path in written if path.parent.name == "charts") == sorted(
        f"{drawing.name}.{ending}" for drawing in published.drawings for ending in ("png", "svg")
    )
    for path in (tmp_path / "charts").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    names = [drawing.name for drawing in published.drawings]
    assert names == [
        "frontier", "scores", "pairs", "tiers", "tasks", "artifacts", "costs", "tokens", "times", "failures",
    ]  # fmt: skip


def test_a_place_that_cannot_be_written_is_named(published: Report, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=re.escape(f"{tmp_path}: cannot be written")):
        write_report(published, tmp_path, None)


EVIL = "</title><script>alert('1')</script>\"'&{{ 7 * 7 }}<img src=x onerror=alert(2)>"


def test_words_from_outside_stay_words(tmp_path: Path) -> None:
    finding = Finding(code=f"code{EVIL}", severity="warning", message=EVIL)
    for task in ("one", "two"):
        for model in ("plain", EVIL.replace("/", "")):
            record = metrics(
                task=task, model=model, model_slug=model, findings=(finding,),
                complexity=f"tier{EVIL}", provider=EVIL, skill="s", agent_version=EVIL, harness_version=EVIL,
                cost=Cost(amount_usd=1, basis="metered", status="complete", source=EVIL), dataset=EVIL,
            )  # fmt: skip
            write_trial(tmp_path, record, evaluation(record, rubric(20 if model == "plain" else 10)))
    made = report(tmp_path, tmp_path)
    html = made.html()
    page = Page(html)
    assert set(page.elements).isdisjoint({"script", "img"})
    assert "<script" not in html
    evil = [word.replace(str(tmp_path), "") for word in page.words if "alert" in word]
    assert "49" not in " ".join(evil)
    assert page.text.count("alert('1')") > 10
    for drawing in made.drawings:
        assert set(Page(drawing.svg).elements).isdisjoint({"script", "img"})


def test_tests_that_passed_in_an_incomplete_trial_are_told_as_what_they_count(tmp_path: Path) -> None:
    for task, outcome in (("one", OutcomeKind.COMPLETED), ("two", FAILED)):
        record = metrics(outcome, task=task)
        tests = TestsEvaluation(status="scored", passed=True)
        write_trial(tmp_path, record, evaluation(record, rubric(20), tests))
    board = next(s for s in report(tmp_path, tmp_path).parts[0].sections if s.name == "leaderboard")
    [table] = board.tables
    assert table.rows[0][table.columns.index("tests passed")].text == "100%"
    assert board.paragraphs[-1].startswith("Passed tests are the patch's")


def test_where_what_is_resolved_is_ranked_the_page_tells_what_the_rate_stands_on_and_no_score(tmp_path: Path) -> None:
    cost = Cost(amount_usd=2.0, basis="metered", status="complete")
    touched = {"kind": "runner-file", "file": "conftest.py", "told": "put back; without it the tests fail"}
    verdicts: dict[str, dict[str, object]] = {
        "one": {"passed": True, "resolved": True, "report": "unittest", "evidence": "tests"},
        "two": {"passed": True, "resolved": True},
        "three": {"passed": False, "resolved": False, "evidence": "weak", "findings": [touched]},
        "four": {"status": "unscored", "void_reason": "gold fails as well", "passed": None},
    }
    for model in ("a", "b"):
        for task, said in verdicts.items():
            kept = {"one", "two"} if model == "a" else set()
            told = said if task in kept or not said["passed"] else {**said, "passed": False, "resolved": False}
            record = metrics(FAILED if task == "two" else OutcomeKind.COMPLETED, task=task, model_slug=model, cost=cost)
            tests = TestsEvaluation.model_validate({"status": "scored", **told})
            write_trial(tmp_path, record, evaluation(record, tests=tests))
    made = report(tmp_path, tmp_path)
    by_name = {section.name: section for section in made.parts[0].sections}
    assert by_name["frontier"].title == "Resolve rate against cost"
    table = by_name["leaderboard"].tables[0]
    [first, second] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert first["resolved"] == Cell("2 of 3", "1 more void")
    assert (first["resolve rate"].text, first["dollars per resolved task"].text) == ("67%", "$3.00")
    assert (second["resolve rate"].text, second["dollars per resolved task"].text) == ("0%", "over $6.00")
    assert [cell.text for cell in by_name["tests"].tables[0].rows[0]] == [
        "a", "1", "1", "1", "0", "0", "-", "1", "0", "0",
    ]  # fmt: skip
    [finding] = by_name["caveats"].tables[0].rows
    assert [cell.text for cell in finding[:3]] == ["tests: runner-file", "warning", "2"]
    assert finding[4].text == "conftest.py: put back; without it the tests fail"
    assert any("by exit codes alone" in point for point in by_name["caveats"].points)
    assert {"judge", "artifacts"}.isdisjoint(by_name)
    assert not re.search(r"\bscores?\b|rubric", Page(made.html()).text)


def test_two_ways_of_ranking_are_refused_until_one_is_chosen(tmp_path: Path) -> None:
    for task, rank_by in (("one", "resolved"), ("two", "rubric")):
        record = metrics(task=task)
        trial = record.trial.model_copy(update={"rank_by": rank_by})
        tests = TestsEvaluation(status="scored", passed=True)
        write_trial(tmp_path, record.model_copy(update={"trial": trial}), evaluation(record, rubric(20), tests))
    with pytest.raises(MixtureError, match="--rank-by resolved or --rank-by rubric"):
        report(tmp_path, tmp_path)
    assert "resolves 100 %" in report(tmp_path, tmp_path, rank_by="resolved").parts[0].answer[0]
    assert "scores: 80.0" in report(tmp_path, tmp_path, rank_by="rubric").parts[0].answer[0]


def test_a_rehearsal_says_so_and_is_ranked_in_nothing(tmp_path: Path) -> None:
    for slug, rehearsal, points in (("real", False, 15), ("scripted", True, 25), ("other-script", True, 10)):
        for task in ("one", "two", "three"):
            record = metrics(task=task, model_slug=slug, rehearsal=rehearsal)
            write_trial(tmp_path, record, evaluation(record, rubric(points)))
    real, scripted = report(tmp_path, tmp_path).parts
    assert (real.rehearsal, scripted.rehearsal) == (False, True)
    assert report(tmp_path, tmp_path).title == "swetrials: scope", "two parts of one scope: it is named once"
    assert real.answer[0].startswith("real scores: 60.0")
    assert scripted.answer == [
        "A rehearsal: the model is scripted. These figures show that the harness works and rank nothing."
    ]
    names = {section.name for section in scripted.sections}
    assert names.isdisjoint({"frontier", "pairs", "tiers"})
    [table] = next(section for section in scripted.sections if section.name == "leaderboard").tables
    assert [row[0].text for row in table.rows] == ["other-script", "scripted"]
    assert "scripted" not in " ".join(str(section) for section in real.sections if section.name != "provenance")


def test_a_cost_that_nobody_knows_is_unknown_and_a_bound_says_so(tmp_path: Path) -> None:
    bound = Cost(amount_usd=2, basis="metered", status="lower_bound")
    for slug, cost in (("dark", Cost()), ("cut", bound), ("gift", Cost(amount_usd=0, basis="free", status="complete"))):
        for task in ("one", "two"):
            record = metrics(task=task, model_slug=slug, cost=cost)
            write_trial(tmp_path, record, evaluation(record, rubric(20)))
    made = report(tmp_path, tmp_path)
    [table] = next(section for section in made.parts[0].sections if section.name == "leaderboard").tables
    costs = {row[0].text: row[table.columns.index("cost a trial")].text for row in table.rows}
    assert costs == {"dark": "unknown", "cut": "at least $2.00", "gift": "free"}
    [frontier] = next(section for section in made.parts[0].sections if section.name == "frontier").figures
    assert "Without a score, or a cost above nothing, and so not here: gift, dark." in frontier.caption
    assert "cut (at least)" in frontier.drawing.svg


def test_trials_without_any_score_still_make_a_page(tmp_path: Path) -> None:
    write_trial(tmp_path, metrics(task="one"))
    write_trial(tmp_path, metrics(FAILED, task="two"))
    made = report(tmp_path, tmp_path)
    assert made.parts[0].answer == ["2 trials, and none has a score yet: judge them with `swetrials judge`."]
    assert {drawing.name for drawing in made.drawings} == {"failures"}
    assert "incomplete artifacts" in made.html()


@pytest.mark.parametrize(
    ("kind", "said"), [(FAILED, "none completed"), (OutcomeKind.RATE_LIMITED, "for another reason")]
)
def test_where_nothing_can_be_judged_nobody_is_sent_to_the_judge(tmp_path: Path, kind: OutcomeKind, said: str) -> None:
    for task in ("one", "two"):
        write_trial(tmp_path, metrics(kind, task=task))
    [answer] = report(tmp_path, tmp_path).parts[0].answer
    assert said in answer
    assert "judge" not in answer


@pytest.mark.slow
def test_of_many_models_the_answer_and_the_chart_name_a_few(tmp_path: Path) -> None:
    for number in range(35):
        for task, points in (("one", 10), ("two", 25)):
            cost = Cost(amount_usd=1 + number, basis="metered", status="complete")
            record = metrics(task=task, model_slug=f"model-{number}", cost=cost)
            write_trial(tmp_path, record, evaluation(record, rubric(points)))
    part = report(tmp_path, tmp_path).parts[0]
    assert part.answer[1].count("model-") == 5
    assert part.answer[1].endswith(" and 29 more.")
    [frontier] = next(section for section in part.sections if section.name == "frontier").figures
    assert "those on a frontier alone are named" in frontier.caption
    assert set(re.findall(r"model-\d+", frontier.drawing.svg)) == {"model-0"}


def test_what_repeats_say_is_told(tmp_path: Path) -> None:
    for task in ("one", "two"):
        for repeat in (1, 2):
            record = metrics(FAILED if (task, repeat) == ("one", 2) else OutcomeKind.COMPLETED, repeat, task=task)
            write_trial(tmp_path, record, evaluation(record, rubric(20)))
    made = report(tmp_path, tmp_path)
    section = next(section for section in made.parts[0].sections if section.name == "leaderboard")
    reliability = section.tables[1]
    [row] = reliability.rows
    assert [cell.text for cell in row] == ["some-model", "completed", "2", "50%", "k=1: 75%, k=2: 50%"]
    assert "80*" in next(drawing for drawing in made.drawings if drawing.name == "tasks").svg


def test_time_is_split_where_every_request_was_timed(tmp_path: Path) -> None:
    time = TimeSplit(wall_seconds=600, api_seconds=420, waiting_seconds=60, queue_seconds=30)
    write_trial(tmp_path, metrics(task="one", latency_seconds=600, time=time))
    made = report(tmp_path, tmp_path)
    section = next(section for section in made.parts[0].sections if section.name == "time")
    assert [cell.text for cell in section.tables[0].rows[0]] == ["some-model", "10 min", "7 min", "1 min", "30 s"]
    assert "agent and tools" in section.figures[0].drawing.svg


def test_scopes_have_parts_and_files_of_their_own(tmp_path: Path) -> None:
    for scope in ("a_scope", "a-scope"):
        record = metrics(scope=scope)
        write_trial(tmp_path, record, evaluation(record, rubric(20)))
    made = report(tmp_path, tmp_path)
    assert [part.title for part in made.parts] == ["a-scope", "a_scope"]
    names = [drawing.name for drawing in made.drawings]
    assert len(set(names)) == len(names)
    assert sorted(set(Page(made.html()).ids)) == sorted(Page(made.html()).ids)


def test_only_what_failed_is_in_the_list_of_failures(tree: Path, published: Report) -> None:
    section = next(section for section in published.parts[0].sections if section.name == "failures")
    [(_, table)] = section.folded
    failed = [row for row in published_rows() if row["failed"] == "true"]
    assert sorted((row[0].text, row[1].text) for row in table.rows) == sorted((r["model"], r["task"]) for r in failed)


def without_a_bill(row: Row) -> Row | None:
    if row["model"] not in ("glm-5.3", "kimi-k3"):
        return None
    return {**row, "cost_usd": "", "cost_basis": "", "total_cost_usd": ""}


def test_without_any_cost_there_is_no_chart_of_costs(tmp_path: Path) -> None:
    made = report(published_tree(tmp_path, without_a_bill), tmp_path)
    assert {drawing.name for drawing in made.drawings}.isdisjoint({"frontier", "costs"})
    assert "at an unknown cost" in made.parts[0].answer[0]


def test_what_shares_no_task_is_not_called_alike(tmp_path: Path) -> None:
    for slug, tasks in (("here", ("one", "two")), ("there", ("three", "four"))):
        for task in tasks:
            record = metrics(task=task, model_slug=slug)
            write_trial(tmp_path, record, evaluation(record, rubric(20)))
    answer = " ".join(report(tmp_path, tmp_path).parts[0].answer)
    assert "here scores highest" in answer
    assert "It cannot be compared with there (80.0): too few tasks were completed by both." in answer
    assert "do not tell it apart" not in answer


@first_is_quick(
    ("cost", "said"),
    [
        (Cost(amount_usd=0, basis="free", status="complete"), "free of charge."),
        (Cost(amount_usd=2, basis="metered", status="lower_bound"), "for at least $2.00 ($2.00 to $2.00) a trial."),
        (Cost(amount_usd=2, basis="metered", status="complete"), "at $2.00 ($2.00 to $2.00) a trial."),
    ],
)
def test_the_answer_says_what_a_trial_costs(tmp_path: Path, cost: Cost, said: str) -> None:
    for task in ("one", "two"):
        record = metrics(task=task, cost=cost)
        write_trial(tmp_path, record, evaluation(record, rubric(20)))
    assert report(tmp_path, tmp_path).parts[0].answer[0].endswith(said)


def test_the_judge_of_an_earlier_trial_in_the_folder_is_no_judge_of_this_one(tmp_path: Path) -> None:
    for task in ("one", "two"):
        record = metrics(task=task)
        stale = rubric(20).model_copy(update={"judge": JudgeBlock(name="stale-judge", provider="somewhere")})
        write_trial(tmp_path, record, evaluation(record, stale).model_copy(update={"trial_id": "of an earlier one"}))
    assert "stale-judge" not in report(tmp_path, tmp_path).html()


def test_nothing_stands_below_no_heading(tmp_path: Path) -> None:
    write_trial(tmp_path, metrics(OutcomeKind.RATE_LIMITED, task="throttled"))
    for section in report(tmp_path, tmp_path).parts[0].sections:
        assert section.paragraphs or section.points or section.figures or section.tables or section.folded, section.name


def test_one_pair_is_not_all_1_pairs(tmp_path: Path) -> None:
    for slug in ("a", "b"):
        record = metrics(task="t", model_slug=slug)
        write_trial(tmp_path, record, evaluation(record, rubric(20)))
    html = report(tmp_path, tmp_path).html()
    assert "The pair in figures" in html
    assert "1 pairs" not in html
