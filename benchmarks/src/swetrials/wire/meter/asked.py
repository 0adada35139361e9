"""What a call of a model asks for, read out of its body without building the rest of it."""

from typing import Any

import msgspec


class Asked(msgspec.Struct):
    """The parameters that a record tells, in the names that the dialects share; ``None`` where they do not say."""

    model: Any = None
    stream: Any = None
    max_tokens: Any = None


_DECODER = msgspec.json.Decoder(Asked)


def asked(body: bytes) -> Asked:
    """Return what a body asks for; nothing where it is no JSON object, or one too deep to be read."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return Asked()
