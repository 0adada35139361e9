"""What a file of a repository is for, by its path alone."""

import re
from fnmatch import fnmatchcase
from typing import Literal

from swetrials.environments.preparation_inputs import MANIFESTS

FileKind = Literal["test", "docs", "manifest", "source"]

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__", "__mocks__", "e2e"})
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

    Args:
        path: in the repository, with forward slashes.
    """
    *folders, name = path.split("/")
    if any(fnmatchcase(name, pattern) for pattern in MANIFESTS):
        return "manifest"
    if _TEST_FOLDERS.intersection(folders) or _TEST_NAME.fullmatch(name):
        return "test"
    if _DOCS_FOLDERS.intersection(folders) or _DOCS_NAME.fullmatch(name):
        return "docs"
    return "source"
