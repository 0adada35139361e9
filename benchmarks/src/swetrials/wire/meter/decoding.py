"""Taking the content encoding off a copy of a response, in pieces of bounded size."""

import zlib
from collections.abc import Callable, Iterator

Decoder = Callable[[bytes], Iterator[bytes]]
"""Takes the next bytes as they came and yields what they decode to.

Raises:
    zlib.error: they are not what the header says.
"""

DECODABLE = ("gzip", "deflate", "identity")
"""The content encodings in which a response can be counted, as agents offer them."""

_GZIP_MEMBER = b"\x1f"
# A gzip body can be of several members, one after the other (RFC 1952, section 2.2).

_PIECE_BYTES = 1024 * 1024
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


def decoder_for(content_encoding: str) -> Decoder | None:
    """Return a decoder for what the header says; ``None`` for an encoding that is not known here."""
    match content_encoding.strip().lower():
        case "" | "identity":
            return lambda data: iter((data,))
        case "gzip" | "x-gzip" | "deflate":
            return _Inflater().feed
        case _:
            return None


class _Inflater:
    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflate.eof:
                if not data.startswith(_GZIP_MEMBER):
                    return
                self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
            yield self._inflate.decompress(data, _PIECE_BYTES)
            data = self._inflate.unused_data or self._inflate.unconsumed_tail
