"""Holding the parts of a prompt against its whole, as the meter's readers do it on the wire."""

from swetrials.records.usage import Usage


def checked(usage: Usage, sent: int | None) -> tuple[Usage, tuple[str, ...]]:
    """Return a usage as it may stand, and what is in doubt: no more of a prompt is cached than was sent.

    Every reader of a CLI that tells a whole beside its parts passes its counts through here. Parts that do not fit into
    the whole are unknown; the whole stays. A CLI that has taken one from the other itself writes 0 for what was fresh.

    Args:
        usage: the counts as they were told.
        sent: the tokens of the whole prompt; ``None`` where nobody tells it.
    """
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    if sent is None or sent < 0 or cached <= sent:
        return usage, ()
    unknown = dict.fromkeys(("fresh_input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h"))
    doubt = f"the agent reports {cached:,} cached tokens of {sent:,} in all"
    return usage.model_copy(update={**unknown, "input_total": sent}), (doubt,)
