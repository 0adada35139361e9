"""Every link of every page leads somewhere: to a file that git keeps, and to a heading that the page has."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

from swetrials.store.project import find_project

REPOSITORY = find_project().root.parent
WRITTEN_BY_TRIALS = "benchmarks/swe-benchmark-data/"
"""What agents wrote into their artifacts is theirs."""

FENCE = re.compile(r"^ {0,3}(```|~~~)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s<>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)")
HTML_LINK = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")


class Link(NamedTuple):
    """A link to another part of the repository."""

    page: Path
    line: int
    target: str


def tracked() -> frozenset[Path]:
    """Return the files that git keeps, and those that it would."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    return frozenset(path for name in names if name and (path := REPOSITORY / name).is_file())


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page that are no code, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def links(page: Path) -> Iterator[Link]:
    """Yield the links of a page that stay inside the repository."""
    for number, line in prose(page):
        text = re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), line)
        for found in (*LINK.findall(text), *REFERENCE.findall(text), *HTML_LINK.findall(text)):
            if not re.match(r"[a-z][a-z0-9+.-]*:|//", found, re.IGNORECASE):
                yield Link(page, number, unquote(found))


def anchors(page: Path) -> set[str]:
    """Return what links may name of a page, as GitHub makes it of headings; the same heading again gets a number."""
    seen: Counter[str] = Counter()
    names = set()
    for _, line in prose(page):
        names.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line))
        if heading := HEADING.match(line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            names.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return names


def fault(link: Link, kept: frozenset[Path], folders: frozenset[Path]) -> str | None:
    """Return what is wrong with a link, if anything is."""
    path, _, anchor = link.target.partition("#")
    target = (link.page.parent / path).resolve() if path else link.page
    if target not in kept and target not in folders:
        return "leads nowhere"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{target.name} has no heading of that name"
    return None


KEPT = tracked()
FOLDERS = frozenset(folder for file in KEPT for folder in file.parents)
PAGES = sorted(
    file
    for file in KEPT
    if file.suffix == ".md" and not file.relative_to(REPOSITORY).as_posix().startswith(WRITTEN_BY_TRIALS)
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [
        f"line {link.line}: {link.target}: {wrong}" for link in links(page) if (wrong := fault(link, KEPT, FOLDERS))
    ] == []


def named_files(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the files of code that a page names by folder and name, but for patterns such as ``<name>.py``."""
    for number, line in prose(page):
        for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.py)`", line):
            yield number, name


def test_every_file_of_code_that_a_page_names_is_there() -> None:
    benchmarks = find_project().root
    places = (REPOSITORY, benchmarks, benchmarks / "src" / "swetrials")
    history = REPOSITORY / "CHANGELOG.md"
    named = [(page, *found) for page in PAGES if page != history for found in named_files(page)]
    assert len(named) > 10
    assert [
        f"{page.relative_to(REPOSITORY)}:{line}: {name}"
        for page, line, name in named
        if not any((place / name).is_file() for place in (page.parent, *places))
    ] == [], "it has moved, or is called otherwise now"


def test_the_pages_are_found_and_have_links() -> None:
    assert REPOSITORY / "README.md" in PAGES
    assert len([link for page in PAGES for link in links(page)]) > 50


def test_a_wrong_link_is_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# One thing\n\n## One thing\n\n```\n# no heading\n```\n", encoding="utf-8")
    page.write_text(
        "[a](other.md) [b](other.md#one-thing-1) [c](other.md#no-heading) `[code](x.md)` [d](gone.md) ![e](gone.png)\n"
        '```\n[code](x.md)\n```\n[far](https://example.com/x.md)\n<img src="gone.svg">\n[f]: gone.txt\n',
        encoding="utf-8",
    )
    kept = frozenset({page, other})
    assert [(link.target, bool(fault(link, kept, frozenset()))) for link in links(page)] == [
        ("other.md", False),
        ("other.md#one-thing-1", False),
        ("other.md#no-heading", True),
        ("gone.md", True),
        ("gone.png", True),
        ("gone.svg", True),
        ("gone.txt", True),
    ]
