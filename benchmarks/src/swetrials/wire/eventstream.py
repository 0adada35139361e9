"""Frames of an AWS event stream (``application/vnd.amazon.eventstream``), as Bedrock's streaming calls answer.

A frame is, all numbers big-endian: total length (4 bytes), length of the headers (4), CRC-32 of these eight bytes
(4), headers, payload, CRC-32 of everything before it (4). A header is: length of the name (1), name, type of the
value (1), value. Source: "Event stream encoding" in the AWS documentation of Amazon Transcribe, which is the
encoding of every AWS service that streams.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

CONTENT_TYPE = "application/vnd.amazon.eventstream"

LONGEST_FRAME_BYTES = 24 * 1024 * 1024
"""AWS allows 128 KiB of headers and 24 MiB of payload; a greater length is not a frame's."""

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_LENGTH = struct.Struct(">H")
_STRING = 7
_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a value by its type: true, false, byte, short, int, long, timestamp, UUID."""
_COUNTED = {6, _STRING}
"""Byte arrays and strings, which carry their own length."""


class BadFrame(ValueError):
    """The bytes are no event stream: a length is impossible or a checksum is wrong."""


@dataclass(frozen=True)
class Frame:
    """One message of an event stream. ``headers`` holds those whose value is a string; AWS's own all are."""

    headers: Mapping[str, str]
    payload: bytes

    @property
    def event(self) -> str:
        """The name of the event (``:event-type``), or of the exception (``:exception-type``) in its place."""
        return self.headers.get(":event-type") or self.headers.get(":exception-type", "")


def encode(frame: Frame) -> bytes:
    """Return the bytes of one frame."""
    headers = b"".join(_encode_header(name, value) for name, value in frame.headers.items())
    total = _PRELUDE.size + len(headers) + len(frame.payload) + _CRC.size
    lengths = struct.pack(">II", total, len(headers))
    message = lengths + _CRC.pack(crc32(lengths)) + headers + frame.payload
    return message + _CRC.pack(crc32(message))


def encode_event(name: str, payload: bytes) -> bytes:
    """Return the frame of an event as Bedrock sends it: ``name`` is, say, ``chunk``; the payload is JSON."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return encode(Frame(headers, payload))


def encode_exception(name: str, payload: bytes) -> bytes:
    """Return the frame of a failure in mid-stream: ``name`` is, say, ``throttlingException``."""
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return encode(Frame(headers, payload))


class Decoder:
    """Cuts a stream of bytes into frames, however the bytes were split on their way."""

    def __init__(self) -> None:
        self._pending = bytearray()

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that has not come to its end; more than 0 at the end of a stream means a cut."""
        return len(self._pending)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that ``data`` completes.

        Raises:
            BadFrame: a length is impossible or a checksum does not match.
        """
        self._pending += data
        while len(self._pending) >= _PRELUDE.size:
            total, headers_length, checksum = _PRELUDE.unpack_from(self._pending)
            if crc32(self._pending[:8]) != checksum:
                raise BadFrame("the checksum of a frame's lengths is wrong")
            if not _PRELUDE.size + headers_length + _CRC.size <= total <= LONGEST_FRAME_BYTES:
                raise BadFrame(f"a frame of {total} bytes with {headers_length} bytes of headers is impossible")
            if len(self._pending) < total:
                return
            message = bytes(self._pending[:total])
            del self._pending[:total]
            yield _decode(message, headers_length)


def _encode_header(name: str, value: str) -> bytes:
    name_bytes, value_bytes = name.encode(), value.encode()
    return bytes([len(name_bytes)]) + name_bytes + bytes([_STRING]) + _LENGTH.pack(len(value_bytes)) + value_bytes


def _decode(message: bytes, headers_length: int) -> Frame:
    body = message[: -_CRC.size]
    if crc32(body) != _CRC.unpack_from(message, len(body))[0]:
        raise BadFrame("the checksum of a frame is wrong")
    payload_start = _PRELUDE.size + headers_length
    return Frame(dict(_headers(body[_PRELUDE.size : payload_start])), body[payload_start:])


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    position = 0
    try:
        while position < len(data):
            name_end = position + 1 + data[position]
            name, kind = data[position + 1 : name_end].decode(), data[name_end]
            start = name_end + 1
            if kind in _COUNTED:
                start, length = start + _LENGTH.size, _LENGTH.unpack_from(data, start)[0]
            else:
                length = _FIXED_SIZES[kind]
            position = start + length
            if position > len(data):
                raise BadFrame(f"header {name} ends after the headers do")
            if kind == _STRING:
                yield name, data[start:position].decode()
    except (IndexError, KeyError, UnicodeDecodeError, struct.error) as error:
        raise BadFrame(f"a frame's headers cannot be read: {error!r}") from error
