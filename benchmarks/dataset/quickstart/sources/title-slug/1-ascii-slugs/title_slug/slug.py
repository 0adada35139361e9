"""Slugs: lower-case ASCII letters and digits, with single hyphens between words."""

import re

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def slugify(title: str) -> str:
    """Return the slug of a title; a title without a letter or digit has the slug ``untitled``."""
    return _SEPARATORS.sub("-", title.lower()).strip("-") or "untitled"
