"""Slugs: lower-case ASCII letters and digits, with single hyphens between words."""

import re

_SEPARATORS = re.compile(r"[^a-z0-9]+")

MAX_LENGTH = 60
"""Longest slug, in characters."""


def slugify(title: str, max_length: int = MAX_LENGTH) -> str:
    """Return the slug of a title; a title without a letter or digit has the slug ``untitled``.

    A slug longer than ``max_length`` ends at the last whole word that fits.
    """
    slug = _SEPARATORS.sub("-", title.lower()).strip("-") or "untitled"
    return _shortened(slug, max_length)


def _shortened(slug: str, max_length: int) -> str:
    if len(slug) <= max_length:
        return slug
    whole_words = slug[: max_length + 1].rpartition("-")[0]
    return whole_words or slug[:max_length]
