"""What a file of a repository is for, by its path alone."""

import re
from fnmatch import fnmatchcase
from typing import Literal

from swetrials.environments.preparation_inputs import MANIFESTS
from swetrials.judging.guards.test_files import is_test

FileKind = Literal["test", "docs", "manifest", "source"]

_TEST_FOLDERS = frozenset({"test", "testing", "spec", "specs", "__mocks__", "e2e"})
# Beside those that the judge guards: it leaves alone what may be work.
_TEST_NAME = re.compile(
    r"conftest\.py|tests?\.\w+|test_.+|.+[_.-](test|tests|spec)\.\w+|.*(Test|Tests|Spec|IT)\.(java|kt|scala|cs|swift|groovy)"
)
_DOCS_FOLDERS = frozenset({"doc", "docs", "documentation"})
_DOCS_NAME = re.compile(
    r".+\.(md|rst|adoc|txt|mdx)|(readme|licen[cs]e|copying|notice|authors|contributors|changelog|changes|history|news)(\..+)?",
    re.IGNORECASE,
)


def kind_of_file(path: str) -> FileKind:
    """Return what a file is for. What is none of the others is source.

    Every file that the judge guards as a test is a test here. Others are too, such as mocks and ``django/test``.

    Args:
        path: in the repository, with forward slashes.
    """
    *folders, name = path.split("/")
    if any(fnmatchcase(name, pattern) for pattern in MANIFESTS):
        return "manifest"
    if is_test(path) or _TEST_FOLDERS.intersection(folders) or _TEST_NAME.fullmatch(name):
        return "test"
    if _DOCS_FOLDERS.intersection(folders) or _DOCS_NAME.fullmatch(name):
        return "docs"
    return "source"
