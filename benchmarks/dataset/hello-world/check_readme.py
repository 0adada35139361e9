"""Ends with exit code 0 when README.md is what the task asks for, else with a line that says what is not."""

import sys
from pathlib import Path


def complaint() -> str:
    """Return what is wrong with the change, or nothing."""
    readme = Path("README.md")
    if Path("README").exists():
        return "README is still there"
    if not readme.is_file():
        return "README.md is not there"
    text = readme.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        return "the last line does not end in a line feed"
    heading, *rest = text.splitlines()
    if heading != "# Hello World!":
        return f"the first line is {heading!r}"
    if not rest or rest[0] != "":
        return "there is no empty line below the heading"
    sentence = " ".join(rest).lower()
    if "git" not in sentence or "pull request" not in sentence:
        return "no sentence says what the repository is for"
    return ""


sys.exit(complaint() or 0)
