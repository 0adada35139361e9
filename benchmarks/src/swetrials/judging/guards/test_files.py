"""Files of tests by their names, and what a change does to the tests that were there."""

import re
from collections.abc import Iterator

from swetrials.workspace.patch_sections import PatchSection

_JS = r"[cm]?[jt]sx?"
_NAME = re.compile(
    rf"test_.*\.py|.*_test\.py|tests?\.(py|{_JS})|.*_test\.go|.*[.-](test|spec)\.{_JS}|test[-.].*\.{_JS}|.*_test\.{_JS}"
)
_FOLDERS = frozenset({"tests", "__tests__"})
_TOP_FOLDERS = frozenset({"test", "spec"})
# Elsewhere a folder of these names may be what is tested: django/test.

_DEFINED = re.compile(
    r"""\s*(?:async\s+)?def\s+(test\w*)|\s*class\s+(Test\w*)|func\s+(Test\w*)|\s*(?:it|test)\(\s*['"`](.+?)['"`]"""
)
_NOT_RUN = re.compile(
    r"@(?:unittest\.|pytest\.mark\.)?(?:skip\w*|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail|importorskip)\("
    r"|\bpytestmark\s*=|\bSkipTest\b|\.skipTest\("
    r"|\b(?:it|test|describe|suite)\.(?:skip|todo|fails|failing|only)\b|\bx(?:it|test|describe)\("
    r"|\b(?:skip|todo)\s*:\s*(?:true|['\"])|\bt\.Skip(?:f|Now)?\("
)


def is_test(path: str) -> bool:
    """Whether a file has the name of tests, or lies in a folder of tests."""
    *_, name = path.split("/")
    return bool(_NAME.fullmatch(name)) or is_test_folder(path)


def is_test_folder(folder: str) -> bool:
    """Whether a folder, or one above it, has the name of one that holds tests."""
    parts = folder.split("/")
    return not _FOLDERS.isdisjoint(parts) or parts[0] in _TOP_FOLDERS or parts[:2] == ["src", "test"]


def folder_of(test: str) -> str | None:
    """Return the nearest folder above a test, at any depth named as one of tests; ``None``: none is."""
    parts = test.split("/")[:-1]
    ends = (end for end in range(len(parts), 0, -1) if parts[end - 1] in _FOLDERS | _TOP_FOLDERS)
    return next(("/".join(parts[:end]) for end in ends), None)


def done_to_tests(section: PatchSection) -> Iterator[str]:
    """Tell what a change does to a file of tests that was there: nothing where it adds tests."""
    if section.old_path is None:
        return
    if section.new_path is None:
        yield "it is deleted"
    elif section.new_path != section.old_path:
        yield f"it is renamed to {section.new_path}"
    else:
        gone = _defined(section.removed_lines) - _defined(section.added_lines)
        if gone:
            yield f"tests are gone from it: {', '.join(sorted(gone)[:3])}{' and more' if len(gone) > 3 else ''}"
        before = {match[0] for line in section.removed_lines for match in _NOT_RUN.finditer(line)}
        marked = {match[0] for line in section.added_lines for match in _NOT_RUN.finditer(line)} - before
        if marked:
            yield f"tests in it are skipped, or expected to fail: {min(marked)}"


def _defined(lines: tuple[str, ...]) -> set[str]:
    matches = (_DEFINED.match(line) for line in lines)
    return {next(filter(None, match.groups())) for match in matches if match}
