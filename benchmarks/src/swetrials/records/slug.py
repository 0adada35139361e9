"""Model ids as folder names."""

import re
from collections.abc import Iterable

_HINT = re.compile(r"\[[^\]]*\]$")
_REGION = re.compile(r"^(?:us|eu|apac|ap|jp|au|ca|sa|me|af|global|us-gov)\.(?=[a-z0-9-]+\.)")
_VENDOR = re.compile(r"^[a-z][a-z0-9-]*\.(?=[a-z])(?!v\d)")
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)*$")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})$")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def model_slug(model: str) -> str:
    """Return a model id without vendor and region prefix, date-version suffix and ``[...]`` hint.

    The result is one safe folder name and the function is idempotent.

    >>> model_slug("us.anthropic.claude-opus-5[1m]")
    'claude-opus-5'
    >>> model_slug("anthropic/claude-haiku-4-5-20251001-v1:0")
    'claude-haiku-4-5'
    >>> model_slug("qwen3.6-35b")
    'qwen3.6-35b'

    Raises:
        ValueError: nothing that can name a folder is left of the id.
    """
    previous, slug = None, model.strip()
    while slug != previous:
        previous = slug
        slug = bare_model(slug)
        slug = _BEDROCK_VERSION.sub("", slug)
        slug = _DATE.sub("", slug)
        slug = _UNSAFE.sub("-", slug).strip("-._")
    if not slug:
        raise ValueError(f"{model!r} leaves no name for a folder")
    return slug


def another_answered(asked: str, served: Iterable[str]) -> str:
    """Return the sentence that another model than the one asked for has answered; empty when none has.

    Two ids of one folder's name are one model. An ARN does not tell which model it stands for.
    """
    others = [] if asked.startswith("arn:") else [model for model in served if not _same_model(model, asked)]
    return f"{asked} was asked for, and the answers are from {', '.join(others)}" if others else ""


def _same_model(first: str, second: str) -> bool:
    try:
        return model_slug(first) == model_slug(second)
    except ValueError:
        return first == second


def bare_model(model: str) -> str:
    """Return a model id without path, region and vendor in front of it, and without ``[...]`` hint; its version stays.

    >>> bare_model("us.anthropic.claude-opus-4-6-v1[1m]")
    'claude-opus-4-6-v1'
    """
    last = model.rstrip("/").rsplit("/", 1)[-1]
    return _strip_vendor(_REGION.sub("", without_hint(last)))


def without_hint(model: str) -> str:
    """Return a model's id without Claude Code's ``[...]`` hint behind it, such as ``[1m]``, which no endpoint knows."""
    return _HINT.sub("", model)


def _strip_vendor(slug: str) -> str:
    # A dot inside a version (qwen3.6-35b) has a digit on its left or right; a vendor's has neither. Where
    # only a version would be left (deepseek.v3.1) the vendor is the model's name.
    found = _VENDOR.match(slug)
    if found and not slug[found.end() - 2].isdigit():
        return slug[found.end() :]
    return slug
