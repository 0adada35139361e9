"""What the pages tell a contributor to type exists, and the hooks before a commit do what they say."""

import re
import shlex
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from swetrials.store.project import find_project
from test_links import PAGES, prose

REPOSITORY = find_project().root.parent
HOOKS = YAML(typ="safe").load((REPOSITORY / ".pre-commit-config.yaml").read_bytes())["repos"]
GENERATED = {"swe-router-evaluation.md", "swe-router-evaluation-judged.md"}
"""Pages of one command over the same figures, whose rows may well agree."""


def make_targets() -> set[str]:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@pytest.mark.parametrize(
    "page", ["README.md", "AGENTS.md", "CONTRIBUTING.md", ".ci/run", ".github/pull_request_template.md"]
)
def test_make_has_every_target_that_is_named(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`|&& )make ([a-z-]+)", text, re.MULTILINE))
    assert named, "names none"
    assert named <= make_targets()


def test_the_front_page_says_how_to_try_and_how_to_test() -> None:
    section = (REPOSITORY / "README.md").read_text(encoding="utf-8").partition("\n## Two commands\n")[2]
    assert re.findall(r"^make ([a-z-]+)", section.partition("\n## ")[0], re.MULTILINE) == ["demo", "test"]


def test_the_hooks_are_local() -> None:
    assert [repository["repo"] for repository in HOOKS] == ["local"], "a hook from elsewhere is fetched at each commit"


@pytest.mark.parametrize("hook", HOOKS[0]["hooks"], ids=lambda hook: hook["id"])
def test_a_hook_passes_good_code_and_stops_bad_code(hook: dict[str, str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import os\nx = {  'a':1 }\n", encoding="utf-8")
    good = Path(__file__)
    assert re.search(hook["files"], good.relative_to(REPOSITORY).as_posix())

    def run(file: Path) -> tuple[int, bytes]:
        done = subprocess.run([*shlex.split(hook["entry"]), file], cwd=REPOSITORY, capture_output=True, check=False)
        return done.returncode, file.read_bytes()

    assert run(good) == (0, good.read_bytes())
    before = bad.read_bytes()
    status, after = run(bad)
    assert status != 0 or after != before, "neither refused nor put right"


def test_no_row_of_a_table_stands_on_two_pages() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for page in PAGES:
        rows = {line.strip() for _, line in prose(page) if line.startswith("|") and re.search(r"\w", line)}
        for row in rows if page.name not in GENERATED else ():
            places[row].append(page.relative_to(REPOSITORY).as_posix())
    headers = {"| option | meaning |", "| key | meaning |"}
    twice = {row: pages for row, pages in places.items() if len(pages) > 1 and row not in headers}
    assert twice == {}, "leave the table on one page, and link it from the other"
