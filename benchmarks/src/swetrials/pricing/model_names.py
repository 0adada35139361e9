"""Which of the many spellings of a model's id mean the same price."""

import re

from swetrials.records.slug import bare_model, without_hint

_DATED = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d)(?:-v\d+)?(?::\d+)*$")
_REVISION = re.compile(r"(?:-v1)?(?::\d+)*$")
# Only -v1 is a mere revision: elsewhere (nemotron-nano-9b-v2) the number is the model's own.

_GEOGRAPHY = re.compile(r"(?:^|/)(us-gov|global|apac|us|eu|ap|jp|au|in|ca|sa|me|af)\.[a-z0-9-]+\.")
_ARN_REGION = re.compile(r"arn:[a-z-]+:bedrock:([a-z0-9-]+):")


def price_name(model: str) -> str:
    """Return a model's id in lower case without region, vendor, date, revision and ``[...]`` hint.

    Two ids with the same price name are the same model; nothing that is merely similar is.

    >>> price_name("us.anthropic.claude-opus-4-6-v1[1m]")
    'claude-opus-4-6'
    >>> price_name("anthropic/claude-haiku-4-5-20251001-v1:0")
    'claude-haiku-4-5'
    """
    bare = bare_model(model.strip().lower())
    undated = _DATED.sub("", bare)
    return undated if undated != bare else _REVISION.sub("", bare)


def is_dated(model: str) -> bool:
    """Tell whether a model's id names the day of its version."""
    return _DATED.search(bare_model(model.strip().lower())) is not None


def hides_its_reach(model: str) -> bool:
    """Tell whether an id leaves open where its requests may go: an inference profile of somebody's own does."""
    return model.strip().lower().startswith("arn:") and "application-inference-profile/" in model


def spellings(model: str) -> tuple[str, ...]:
    """Return the ids to look a model up by, from the most to the least specific."""
    plain = without_hint(model.strip().lower())
    return tuple(dict.fromkeys((plain, plain.rsplit("/", 1)[-1], price_name(model))))


def places(model: str, region: str | None) -> tuple[str, ...]:
    """Return where a model runs, from the most to the least specific: ``eu-west-1``, ``eu``.

    The prefix of an inference profile beats the region that it is called from: a ``global.`` profile costs the same
    everywhere. An ARN names its region itself.
    """
    arn = _ARN_REGION.match(model.strip().lower())
    region = arn.group(1) if arn else region
    prefix = _GEOGRAPHY.search(model.strip().lower())
    if prefix:
        inside = region is not None and region.startswith(f"{prefix.group(1)}-")
        return (region, prefix.group(1)) if inside and region is not None else (prefix.group(1),)
    return (region, region.split("-", 1)[0]) if region else ()
