"""Decoding a watched body: any cut gives the same content; what cannot be decoded says so; a bomb stays small."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from streamwitness.decoding import MAX_EXPANSION, STEP_BYTES, ExpansionError, UnknownEncodingError, decoder

TEXT = b"data: one\n\ndata: two\n\n" * 500


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeeze.compress(data) + squeeze.flush()


def two_members(data: bytes) -> bytes:
    return gzip.compress(data[:100]) + gzip.compress(data[100:])


def brotli(data: bytes) -> bytes:
    library: Any = import_module("brotli")
    return bytes(library.compress(data, quality=5))  # the best takes thirty times as long for a bomb


def zstd(data: bytes) -> bytes:
    library: Any = import_module("zstandard")
    return bytes(library.ZstdCompressor().compress(data[:50]) + library.ZstdCompressor().compress(data[50:]))


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", two_members),
    (" GZip ", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("identity, deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    ("br", brotli),
    ("gzip, br", lambda data: brotli(gzip.compress(data))),
    ("zstd", zstd),
]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(("coding", "encode"), CODINGS)
def test_any_cut_gives_the_same_content(coding: str, encode: Callable[[bytes], bytes], size: int) -> None:
    """Whole or byte by byte, as bytes or as a memoryview: the content is the same."""
    body = memoryview(encode(TEXT))
    decode = decoder(coding)
    assert decode is not None
    assert b"".join(out for at in range(0, len(body), size) for out in decode(body[at : at + size])) == TEXT


@pytest.mark.parametrize("coding", ["", "identity", "identity, identity"])
def test_a_plain_body_needs_no_decoder(coding: str) -> None:
    """None says that the body is the content."""
    assert decoder(coding) is None


@pytest.mark.parametrize("coding", ["lzma", "gzip, lzma", "dcb"])
def test_a_coding_that_is_not_known_is_named(coding: str) -> None:
    """Who asks can tell that the point is unknown, and why."""
    with pytest.raises(UnknownEncodingError, match=r"^(lzma|dcb)$"):
        decoder(coding)


def test_what_was_flushed_is_content_at_once() -> None:
    """An event that the sender flushed is not held back until the next one comes."""
    squeeze = zlib.compressobj(wbits=31)
    decode = decoder("gzip")
    assert decode is not None
    for event in (b"data: one\n\n", b"x" * 3 * STEP_BYTES):
        piece = squeeze.compress(event) + squeeze.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(decode(piece)) == event


def test_a_bomb_is_stopped_and_never_whole_in_memory() -> None:
    """Content comes in small pieces, and no more of it than the bound."""
    decode = decoder("gzip")
    assert decode is not None
    pieces = decode(gzip.compress(bytes(MAX_EXPANSION + 1)))
    sizes = []
    with pytest.raises(ExpansionError):
        sizes.extend(len(piece) for piece in pieces)
    assert decode is not None
    assert max(sizes, default=0) <= STEP_BYTES


@pytest.mark.parametrize(("coding", "encode"), [("br", brotli), ("zstd", zstd)])
def test_a_bomb_of_a_library_without_bounds_is_stopped_as_well(coding: str, encode: Callable[[bytes], bytes]) -> None:
    """However much is in one piece, little of it is made before the bound is noticed."""
    body = encode(bytes(8 * MAX_EXPANSION))
    decode = decoder(coding)
    assert decode is not None
    tracemalloc.start()
    try:
        with pytest.raises(ExpansionError):
            deque(decode(body), maxlen=0)
        assert tracemalloc.get_traced_memory()[1] < 4 * MAX_EXPANSION
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_what_follows_a_body_is_left_alone(size: int) -> None:
    """As HTTP libraries do: padding behind the last member is no content, and no damage."""
    body = gzip.compress(TEXT) + bytes(9)
    decode = decoder("gzip")
    assert decode is not None
    assert b"".join(out for at in range(0, len(body), size) for out in decode(body[at : at + size])) == TEXT


def test_a_broken_body_raises() -> None:
    """What comes after cannot be known."""
    decode = decoder("gzip")
    assert decode is not None
    with pytest.raises(zlib.error):
        list(decode(b"no gzip at all"))
