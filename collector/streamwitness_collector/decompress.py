"""Content-Encoding of a request body → its bytes, never more of them than allowed.

A body is inflated piece by piece up to the limit and one byte further, so a zip bomb costs what an honest body costs.
One gzip member only: senders write one, and many tiny ones would make reading quadratic.
"""

from __future__ import annotations

import zlib
from typing import Final

ENCODINGS: Final = {"gzip": 31, "deflate": 15}
"""Content-Encoding → zlib window bits (31: gzip header, 15: zlib header, which is what HTTP calls deflate)."""

IDENTITY: Final = ("", "identity")


class UnsupportedEncodingError(ValueError):
    """The Content-Encoding is none that we read."""


class CorruptBodyError(ValueError):
    """The body is not what its Content-Encoding says."""


class BodyTooLargeError(ValueError):
    """The body is larger than allowed, as received or inflated."""


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """The body without its Content-Encoding, at most `limit` bytes; raises one of the three errors above."""
    if encoding in IDENTITY:
        if len(body) > limit:
            raise BodyTooLargeError(f"the body has {len(body)} bytes, at most {limit} are taken; send smaller batches")
        return body
    if encoding not in ENCODINGS:
        known = ", ".join(ENCODINGS)
        raise UnsupportedEncodingError(f"Content-Encoding {encoding!r} is not read here; send {known} or none")
    reader = zlib.decompressobj(ENCODINGS[encoding])
    try:
        out = reader.decompress(body, limit + 1)
    except zlib.error as error:
        raise CorruptBodyError(f"the body is no {encoding}: {error}") from error
    if len(out) > limit:
        raise BodyTooLargeError(f"the body inflates to more than {limit} bytes; send smaller batches")
    if not reader.eof:
        raise CorruptBodyError(f"the {encoding} body is cut off")
    if reader.unused_data:
        raise CorruptBodyError(f"{len(reader.unused_data)} bytes follow the end of the {encoding} body")
    return out
