"""What a task asks for: the text of an issue or a request, else the commit's message, without what gives it away."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from swetrials.records.mined import MiningRefusal

_LEAST_WORDS = 3
_LEAST_TELLING_WORDS = 2
_LEAST_OF_A_QUOTED_LINE = 16
_LEAST_OF_A_HASH = 7

_MERGE = re.compile(r"merge (pull request|branch|remote-tracking branch|tag|commit|upstream)\b.*", re.IGNORECASE)
_TRAILER = re.compile(
    r"(signed-off-by|co-authored-by|co-developed-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|helped-by"
    r"|approved-by|change-id|pr-url|refs?|see|cc|bug|issue|git-svn-id|differential revision|reviewers|fixes-issue"
    r"|closes-issue|cherry-picked-from|backport-of|pull-request|merge-request|link|generated with)\s*:.*"
    r"|\(cherry picked from commit [0-9a-f]+\)|[*-]+",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"[*-]?\s*\(?\b(close[sd]?|fix(e[sd])?|resolve[sd]?)\b:?\s+"
    r"(([\w.-]+/[\w.-]+)?#\d+|gh-\d+|https?://\S+/(issues|pull|pulls|merge_requests)/\d+)"
    r"((,|\s|and|&)+(close[sd]?|fix(e[sd])?|resolve[sd]?)?:?\s*(([\w.-]+/[\w.-]+)?#\d+|gh-\d+))*\)?[.!]?",
    re.IGNORECASE,
)
_SEE = re.compile(
    r"[*-]?\s*\(?(refs?\.?|see|part of|related to|addresses):?\s+\S*(#|GH-|gh-)\d+\)?[.!]?", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?://\S+/(issues|pull|pulls|merge_requests|commit|commits|compare)/[\w./-]+\S*")
_NUMBER = re.compile(
    r"\s*\(\s*((PR|MR|issue|bpo|GH)[ -]?)?[#!]?(?:gh-)?#?\d+\s*\)|[ \t]*(?<![\w&/])([\w.-]+/[\w.-]+)?(#|GH-|gh-)\d+\b"
)
_HASH = re.compile(rf"(?<![\w/.-])[0-9a-f]{{{_LEAST_OF_A_HASH},40}}(?![\w-])")
_PROGRAM = re.compile(r"[=(){}\[\];+*/<>|&%@^~]|\b(return|raise|throw|yield|import)\b")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_PREFIX = re.compile(r"\s*(?:\w+(?:\([^)]*\))?!?:\s+)?")
_GENERIC = re.compile(
    r"an?|the|and|or|of|in|on|to|for|from|with|by|at|as|is|are|be|was|its?|this|that|these|those|some|more|other|add(s|ed|ing)?"
    r"|fix(es|ed|ing|up)?|updat(e|es|ed|ing)|chang(e|es|ed|ing)|remove|improve[sd]?|clean(ed)?|cleanups?|up|refactor(ing|ed)?"
    r"|rewrite|minor|small|misc|various|tweaks?|tidy|typos?|bugs?|bugfix|issues?|problem|stuff|things?|code|tests?|testing|wip"
    r"|work|progress|reviews?|comments?|feedback|address(es)?|lint|format(ting)?|style|version|bump|release|initial|commits?"
    r"|first|try|again|another|further|next|part|final|todo|oops|merge|revert|new",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """A statement.

    Attributes:
        text: what the task asks for.
        reason: why it cannot be used; ``None``: it can.
        evidence: what was found in it.
    """

    text: str
    reason: MiningRefusal | None = None
    evidence: str = ""


def numbers_in(message: str) -> tuple[int, ...]:
    """Return the numbers of issues and requests that a commit's message names, in their order."""
    found = re.findall(r"(?:#|\bGH-|\bgh-|!)(\d+)\b|/(?:issues|pull|merge_requests)/(\d+)", message)
    return tuple(dict.fromkeys(int(one or other) for one, other in found))


def statement_of(message: str, texts: Mapping[int, str]) -> str:
    """Return what is said of a change, without numbers, trailers and addresses.

    Args:
        message: the commit's.
        texts: title and body of issues and requests, by number; the first that the message names and that says
            something is taken in its place.
    """
    for number in numbers_in(message):
        if told := stripped(texts.get(number, "")):
            return told
    return stripped(message)


def stripped(text: str) -> str:
    """Return a text without what says where it is from: numbers, trailers, sign-offs, addresses of a forge."""
    lines = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        bare = line.strip()
        if any(pattern.fullmatch(bare) for pattern in (_MERGE, _TRAILER, _SEE)):
            continue
        said = _NUMBER.sub("", _ADDRESS.sub("", _CLOSES.sub("", line))).rstrip()
        if bare and not said.strip(" .,;:()[]*-"):
            continue
        lines.append(said)
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return "".join(c for c in joined if c.isprintable() or c in "\n\t")


def judged(text: str, added_lines: Iterable[str], hidden_tests: Iterable[str]) -> Statement:
    """Return a statement with the reason why it cannot be used, where there is one.

    Args:
        text: from :func:`statement_of`.
        added_lines: lines of source that the change adds.
        hidden_tests: names of tests that the change adds.
    """
    words = _WORD.findall(_PREFIX.sub("", text, count=1))
    if not words:
        return Statement(text, "statement-empty")
    telling = [word for word in words if not _GENERIC.fullmatch(word) and len(word) > 1]
    if len(words) < _LEAST_WORDS or len(telling) < _LEAST_TELLING_WORDS:
        return Statement(text, "statement-vague", repr(text))
    if leak := _leak(text, added_lines, hidden_tests):
        return Statement(text, "statement-leaks", leak)
    return Statement(text)


def _leak(text: str, added_lines: Iterable[str], hidden_tests: Iterable[str]) -> str:
    for found in _HASH.findall(text):
        if any(c.isdigit() for c in found) and any(c.isalpha() for c in found):
            return f"the hash {found}"
    said = {" ".join(line.strip().strip("`").split()) for line in text.split("\n")}
    whole = " ".join(text.split())
    for line in added_lines:
        bare = " ".join(line.split())
        if len(bare) >= _LEAST_OF_A_QUOTED_LINE and _PROGRAM.search(bare) and (bare in said or bare in whole):
            return f"the line {bare!r}"
    for name in hidden_tests:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return f"the hidden test {name}"
    return ""
