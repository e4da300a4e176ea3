"""Content-Encoding of a body, bounded."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness_collector.decompress import (
    BodyTooLargeError,
    CorruptBodyError,
    UnsupportedEncodingError,
    decompress,
)

_ENCODE = {"": bytes, "identity": bytes, "gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("encoding", _ENCODE)
@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_up_to_the_limit_a_body_comes_back_whole(encoding: str, size: int) -> None:
    """Every encoding gives back the body, up to and including the limit."""
    assert decompress(_ENCODE[encoding](b"x" * size), encoding, 100) == b"x" * size


@pytest.mark.parametrize("encoding", _ENCODE)
def test_one_byte_more_is_too_large(encoding: str) -> None:
    """A body one byte over the limit is refused."""
    with pytest.raises(BodyTooLargeError, match="100"):
        decompress(_ENCODE[encoding](b"x" * 101), encoding, 100)


def test_a_bomb_is_not_inflated() -> None:
    """A gzip bomb of 64 MiB is refused having cost little more than the limit."""
    bomb = gzip.compress(bytes(64 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLargeError):
            decompress(bomb, "gzip", 1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"x" + d, lambda _: b""])
def test_a_damaged_body_is_corrupt(encoding: str, damage) -> None:
    """Cut off, with bytes after its end, or none at all: refused."""
    with pytest.raises(CorruptBodyError):
        decompress(damage(_ENCODE[encoding](b"hello")), encoding, 100)


def test_an_unknown_encoding_names_the_known_ones() -> None:
    """The message of an unknown encoding says what to send."""
    with pytest.raises(UnsupportedEncodingError, match=r"'br'.*gzip, deflate"):
        decompress(b"", "br", 100)


@given(st.binary(), st.sampled_from(sorted(_ENCODE)))
def test_garbage_gives_bytes_or_our_error(data: bytes, encoding: str) -> None:
    """Whatever the bytes are, the outcome is a bounded body or one of our errors."""
    with contextlib.suppress(BodyTooLargeError, CorruptBodyError):
        assert len(decompress(data, encoding, 50)) <= 50
