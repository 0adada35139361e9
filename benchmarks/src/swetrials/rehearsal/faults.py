"""How a response goes wrong: each fault as a change to the reply, to its frames, or in place of both."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import orjson

from swetrials.records.usage import Usage
from swetrials.rehearsal.conversation import Conversation, ScriptedReply, Stop
from swetrials.rehearsal.ledger import NOTHING
from swetrials.rehearsal.play import Cue
from swetrials.rehearsal.scenario import Fault, FaultKind
from swetrials.rehearsal.speaker import Speaker, StreamFrame

JSON = "application/json"
HTML_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body>Sign in to go on.</body></html>\n"
GARBAGE = b'{"id": "msg_\xff\xfe<<garbage>>'
PIECE_TOKENS = 32
SLOW_SECONDS_PER_TOKEN = 1.0
REFUSAL_TEXT = "I cannot help with that."
_STATUSES = {
    FaultKind.STATUS_400: (400, "the request is not valid (rehearsed)"),
    FaultKind.STATUS_402: (402, "the credit balance is too low (rehearsed)"),
    FaultKind.STATUS_401: (401, "the API key is not valid (rehearsed)"),
    FaultKind.STATUS_429: (429, "too many requests (rehearsed)"),
    FaultKind.STATUS_500: (500, "internal server error (rehearsed)"),
    FaultKind.STATUS_529: (529, "overloaded (rehearsed)"),
}


class Ending(StrEnum):
    """What becomes of the response after the last frame.

    ``finish``: it is whole. ``break_off``: it ends as if it were whole. ``cut``: the connection is closed.
    ``hang``: nothing more ever comes.
    """

    FINISH = "finish"
    BREAK_OFF = "break_off"
    CUT = "cut"
    HANG = "hang"


@dataclass(frozen=True)
class Performance:
    """A response ready to be sent. Its headers go out with the first frame; without frames, never."""

    frames: Sequence[StreamFrame]
    bill: Usage
    status: int = 200
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    ending: Ending = Ending.FINISH
    seconds_per_token: float = 0.0

    def at_pace(self, seconds_per_token: float) -> Self:
        """Return the same at a pace, unless it is slower already."""
        return replace(self, seconds_per_token=max(self.seconds_per_token, seconds_per_token))


UNHEARD = Performance([], NOTHING, ending=Ending.HANG)
"""Nothing at all: what a hanging server sends, and what a client gets that left before it had asked."""

RESET = Performance([], NOTHING, ending=Ending.CUT)
"""A connection that is closed before any answer."""


class FaultCounter:
    """Counts how often each fault struck: the one thing that the server remembers between requests."""

    def __init__(self) -> None:
        self._struck: Counter[tuple[str, str]] = Counter()

    def strike(self, api_key: str, cue: Cue) -> Fault | None:
        """Return the fault that strikes a request, and count it."""
        fault = cue.fault
        if fault is None or cue.script is None or not _is_due(fault, cue.step):
            return None
        place = (api_key, cue.script.when)
        if fault.times is not None and self._struck[place] >= fault.times:
            return None
        self._struck[place] += 1
        return fault


def _is_due(fault: Fault, step: int | None) -> bool:
    return fault.at_step is None or fault.at_step == step


def refuse(speaker: Speaker, status: int, message: str) -> Performance:
    """Return an error response in the dialect's own shape."""
    refusal = speaker.error(status, message)
    return Performance([StreamFrame(orjson.dumps(refusal.body))], NOTHING, refusal.status, headers=refusal.headers)


def stage(fault: Fault | None, reply: ScriptedReply, conversation: Conversation, speaker: Speaker) -> Performance:
    """Return the response to a request, with the fault that strikes it."""
    kind = fault.kind if fault is not None else None
    if fault is not None and fault.kind in _STATUSES:
        return _turn_down(fault, speaker)
    match kind:
        case FaultKind.HTML:
            return Performance([StreamFrame(HTML_PAGE)], NOTHING, media_type="text/html")
        case FaultKind.GARBAGE:
            return _unreadable(conversation, speaker)
        case FaultKind.HANG_BEFORE_HEADERS:
            return UNHEARD
        case FaultKind.RESET_BEFORE_ANSWER:
            return RESET
        case FaultKind.EMPTY | FaultKind.REFUSAL | FaultKind.MAX_TOKENS:
            return _sound(_spoil(kind, reply), conversation, speaker)
        case FaultKind.SLOW:
            slow = _sound(reply, conversation, speaker, piece_tokens=1)
            return replace(slow, seconds_per_token=SLOW_SECONDS_PER_TOKEN)
        case FaultKind.BROKEN_SSE | FaultKind.CUT | FaultKind.CUT_MID_EVENT | FaultKind.HANG_MID_STREAM:
            return _break(kind, _sound(reply, conversation, speaker), speaker.garbage)
        case FaultKind.CUT_AFTER_USAGE:
            sound = _sound(reply, conversation, speaker)
            last = None if speaker.ends_with_usage or not conversation.stream else -1
            return replace(sound, frames=sound.frames[:last], ending=Ending.CUT)
        case _:
            return _sound(reply, conversation, speaker)


def _unreadable(conversation: Conversation, speaker: Speaker) -> Performance:
    """Return an answer that calls itself one of the dialect's and holds nothing that anybody can read."""
    if conversation.stream:
        return Performance([StreamFrame(speaker.garbage)], NOTHING, media_type=speaker.stream_type)
    return Performance([StreamFrame(GARBAGE)], NOTHING)


def _turn_down(fault: Fault, speaker: Speaker) -> Performance:
    """Return an error status, with the words and the waiting time that the fault has for it."""
    status, message = _STATUSES[fault.kind]
    refused = refuse(speaker, status, fault.message or message)
    if fault.retry_after_seconds is None:
        return refused
    others = tuple((name, value) for name, value in refused.headers if name != "retry-after")
    return replace(refused, headers=(*others, ("retry-after", str(fault.retry_after_seconds))))


def _sound(
    reply: ScriptedReply, conversation: Conversation, speaker: Speaker, piece_tokens: int = PIECE_TOKENS
) -> Performance:
    if conversation.stream:
        frames = list(speaker.stream(reply, conversation, piece_tokens))
        return Performance(frames, reply.usage, media_type=speaker.stream_type)
    body = orjson.dumps(speaker.whole(reply))
    # Two frames, so that a response that is not streamed has a middle to break off in, too.
    middle = len(body) // 2
    return Performance([StreamFrame(body[:middle]), StreamFrame(body[middle:], reply.usage.output or 0)], reply.usage)


def _spoil(kind: FaultKind, reply: ScriptedReply) -> ScriptedReply:
    """Return a reply that ends properly, but not as an agent would have it."""
    if kind is FaultKind.EMPTY:
        return replace(reply, text="", calls=(), stop=Stop.END_TURN)
    if kind is FaultKind.REFUSAL:
        return replace(reply, text=REFUSAL_TEXT, calls=(), stop=Stop.REFUSAL)
    text = reply.text or "I will now"
    return replace(reply, text=text[: max(1, len(text) // 2)], calls=(), stop=Stop.MAX_TOKENS)


def _break(kind: FaultKind, sound: Performance, garbage: bytes) -> Performance:
    """Return a response that breaks off in its middle."""
    half = sound.frames[: max(1, len(sound.frames) // 2)]
    if kind is FaultKind.BROKEN_SSE:
        return replace(sound, frames=[*half, StreamFrame(garbage)], ending=Ending.BREAK_OFF)
    if kind is FaultKind.CUT_MID_EVENT:
        torn = sound.frames[len(half)] if len(half) < len(sound.frames) else half[-1]
        return replace(sound, frames=[*half, StreamFrame(torn.data[: len(torn.data) // 2])], ending=Ending.CUT)
    return replace(sound, frames=half, ending=Ending.HANG if kind is FaultKind.HANG_MID_STREAM else Ending.CUT)
