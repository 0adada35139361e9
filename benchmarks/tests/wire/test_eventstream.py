"""Event-stream frames against botocore, which reads what AWS sends."""

from struct import pack
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from swetrials.wire.eventstream import BadFrame, Decoder, Frame, encode, encode_event, encode_exception

frames = st.lists(
    st.builds(
        Frame,
        st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=50), max_size=4),
        st.binary(max_size=300),
    ),
    max_size=5,
)


@given(frames)
def test_botocore_reads_the_frames_that_are_written(sent: list[Frame]) -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(b"".join(map(encode, sent)))
    assert [Frame(message.headers, message.payload) for message in buffer] == sent


@given(frames, st.integers(min_value=1, max_value=40))
def test_frames_come_back_however_the_bytes_are_split(sent: list[Frame], size: int) -> None:
    data = b"".join(map(encode, sent))
    decoder = Decoder()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [frame for piece in pieces for frame in decoder.feed(piece)] == sent
    assert decoder.pending_bytes == 0


def test_headers_that_are_no_strings_are_passed_over() -> None:
    # The types in AWS's order: true, byte, short, int, long, bytes, string, timestamp, UUID.
    values = [
        b"\0",
        b"\2\1",
        b"\3\0\1",
        b"\4" + bytes(4),
        b"\5" + bytes(8),
        b"\6\0\2ab",
        b"\7\0\2ok",
        b"\x08" + bytes(8),
    ]
    headers = b"".join(
        bytes([1]) + bytes([ord("a") + n]) + value for n, value in enumerate([*values, b"\x09" + bytes(16)])
    )
    assert [frame.headers for frame in Decoder().feed(_frame(headers, b""))] == [{"g": "ok"}]


def test_events_and_exceptions_tell_their_names() -> None:
    data = encode_event("chunk", b"{}") + encode_exception("throttlingException", b'{"message":"slow down"}')
    assert [frame.event for frame in Decoder().feed(data)] == ["chunk", "throttlingException"]


def test_a_frame_that_is_cut_stays_pending() -> None:
    decoder = Decoder()
    assert list(decoder.feed(encode_event("chunk", b"{}")[:-1])) == []
    assert decoder.pending_bytes > 0


@pytest.mark.parametrize("position", [0, 5, 9, 20, -20, -1])
def test_a_damaged_byte_is_noticed(position: int) -> None:
    data = bytearray(encode_event("chunk", b'{"bytes":"aGVsbG8="}'))
    data[position] ^= 0x40
    with pytest.raises(BadFrame):
        list(Decoder().feed(bytes(data)))


@pytest.mark.parametrize("headers", [b"\x05ab", b"\x01a\x63", b"\x01a\x07\x00\x09short", b"\x01\xff\x07\x00\x00"])
def test_headers_that_make_no_sense_are_noticed(headers: bytes) -> None:
    with pytest.raises(BadFrame):
        list(Decoder().feed(_frame(headers, b"")))


def _frame(headers: bytes, payload: bytes) -> bytes:
    lengths = pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = lengths + pack(">I", crc32(lengths)) + headers + payload
    return message + pack(">I", crc32(message))
