"""Content codings are undone piece by piece, within a bound, or refused by name."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from streamwitness.client.decoding import MAX_EXPANSION, UndecodableError, decoder

TEXT = "Die alte Schildkröte \U0001f422 ".encode() * 200

CODINGS: dict[str, tuple[list[str], Callable[[bytes], bytes]]] = {
    "none": ([""], bytes),
    "identity": (["identity"], bytes),
    "gzip": (["gzip"], gzip.compress),
    "upper case": ([" GZIP "], gzip.compress),
    "deflate": (["deflate"], zlib.compress),
    "raw deflate": (["deflate"], lambda body: zlib.compress(body)[2:-4]),
    "br": (["br"], brotli.compress),
    "zstd": (["zstd"], zstandard.ZstdCompressor().compress),
    "two zstd frames": (
        ["zstd"],
        lambda body: b"".join(zstandard.ZstdCompressor().compress(half) for half in (body[:99], body[99:])),
    ),
    "gzip, then br": (["gzip", "br"], lambda body: brotli.compress(gzip.compress(body))),
}


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("name", CODINGS)
def test_any_cut_decodes_to_the_same(name: str, size: int) -> None:
    """Whole, or byte by byte."""
    codings, compress = CODINGS[name]
    sent = compress(TEXT)
    decode = decoder(codings)
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    assert b"".join(out for piece in pieces for out in decode(piece)) == TEXT


def test_unknown_codings_are_named() -> None:
    """The message says which, at a bounded length."""
    with pytest.raises(UndecodableError, match=r"not known: snappy$"):
        decoder(["snappy"])
    with pytest.raises(UndecodableError, match=r"not known: x{32}$"):
        decoder(["x" * 1000])


def test_a_bomb_is_refused_after_a_bounded_amount() -> None:
    """Small pieces come out until the bound, then the error."""
    decode = decoder(["gzip"])
    pieces: list[int] = []
    with pytest.raises(UndecodableError, match="expanded"):
        pieces.extend(len(piece) for piece in decode(gzip.compress(bytes(2 * MAX_EXPANSION))))
    assert 0 < sum(pieces) <= MAX_EXPANSION


def test_trailing_bytes_after_the_body_are_no_error() -> None:
    """As the HTTP libraries do, what follows a compressed body is not looked at."""
    decode = decoder(["gzip"])
    assert b"".join(decode(gzip.compress(TEXT) + b"junk")) == TEXT
