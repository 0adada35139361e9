"""What is wrong with a file that is no YAML, in the words of somebody who wants to mend it.

The parser tells where it stopped and what it would have liked. Both are looked at together with the line itself: nearly
always a value wanted quotes, or a line stands at another depth than those it belongs to.
"""

import re
from collections.abc import Sequence

from ruamel.yaml.error import MarkedYAMLError, StringMark

_IN_QUOTES = "put the whole value in quotes"
_DEPTH = "is indented differently from the lines that it belongs to: give them all the same number of spaces"
_ITEMS = "put each item in quotes as a whole, or write one a line, each after '- '"
_KEY = re.compile(r"\s*(?:- +)*[^\s\"'#][^:]*:(?=\s|$)")


def in_plain_words(error: MarkedYAMLError, text: str) -> tuple[int | None, str]:
    """Return the line to look at, counted from 1, and what is wrong with it and what mends it."""
    lines = text.splitlines()
    mark, began = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
    said = " ".join(str(part) for part in (error.context, error.problem) if part)
    if mark is None or began is None:
        return None, said
    if "'\\t'" in said:
        return mark.line + 1, "a tab cannot be used for indentation; use spaces"
    if "end of stream" in said and "quoted scalar" in said:
        return began.line + 1, f"a quote that is never closed begins here; in a list in [ ], {_ITEMS}"
    if "could not find expected ':'" in said:
        return began.line + 1, _no_colon(_line(lines, began))
    if "single document" in said:
        return mark.line + 1, "a second document begins here (---): one file holds one"
    if "mapping values" in said and (item := _item_without_space(lines, mark.line)) is not None:
        return item + 1, "a space is missing after the dash"
    return mark.line + 1, _by_problem(str(error.problem), said, mark, began, lines)


def _by_problem(problem: str, said: str, mark: StringMark, began: StringMark, lines: Sequence[str]) -> str:
    line = _line(lines, mark)
    if "mapping values are not allowed" in problem:
        key = _KEY.match(line)
        if key is not None and mark.column >= key.end():
            return f"the value holds ': ', which begins another key: {_IN_QUOTES}"
        return f"this line {_DEPTH}"
    if "flow sequence" in said or "flow mapping" in said:
        closing = "]" if "sequence" in said else "}"
        if mark.line > began.line:
            unclosed = f"what begins on line {began.line + 1} is not closed with {closing}"
            return f"{unclosed}, or holds a bracket or a quote; {_ITEMS}"
        return f"text in [ ] or {{ }} holds a bracket, a brace, a quote or a comma: {_ITEMS}"
    if "<block mapping start>" in problem or "<block sequence start>" in problem or "'-'" in problem:
        return f"this line {_DEPTH}"
    if "<scalar>" in problem and "block mapping" in said:
        return f"text goes on after a closing quote or bracket: {_IN_QUOTES}, or write it below '|'"
    return _by_character(problem, line) or said


def _by_character(problem: str, line: str) -> str | None:
    if found := re.search(r"found character (.+) that cannot start any token", problem):
        return f"a value cannot begin with {found[1]}: {_IN_QUOTES}"
    if "undefined alias" in problem:
        return f"a value that begins with * is an alias, and nothing has that name: {_IN_QUOTES}"
    if "comment or a line break" in problem:
        return f"no text may follow | or > on its line: begin it on the next line, indented, or {_IN_QUOTES}"
    if "sequence entries are not allowed" in problem:
        return f"a value cannot begin with '- ': {_IN_QUOTES}, or begin the list on the next line"
    if "mapping keys are not allowed" in problem:
        return f"a value cannot begin with '? ': {_IN_QUOTES}"
    if "unknown escape" in problem:
        return "in double quotes a backslash begins an escape, and this one is none: use single quotes"
    return None


def _item_without_space(lines: Sequence[str], at: int) -> int | None:
    """Return the line before another, or that line, if it begins with a dash that touches its word."""
    return next((n for n in (at, at - 1) if 0 <= n < len(lines) and re.match(r"\s*-[^\s-].*:", lines[n])), None)


def _no_colon(line: str) -> str:
    if re.match(r"\s*(?:- +)*[\w.-]+:\S", line):
        return "a space is missing after the colon"
    return f"this line has no key (a name, a colon, a space), or {_DEPTH}"


def _line(lines: Sequence[str], mark: StringMark) -> str:
    return lines[mark.line] if mark.line < len(lines) else ""
