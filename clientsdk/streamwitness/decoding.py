"""Content decoding of a body that is only watched: incremental, bounded, and honest about what it cannot decode.

Whoever owns the body decodes it (or not) by itself; this is a second decoder beside it, because what events are must
be read from the content. gzip and deflate always work, br and zstd where a library for them is installed (HTTP
libraries offer a coding only then).
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

STEP_BYTES: Final = 1 << 16
"""gzip and deflate give at most this much at once, so that a small bomb does not take large memory."""

BROTLI_SLICE: Final = 16
ZSTD_SLICE: Final = 256
"""Bytes that these are given at once, for not all of their libraries can be told how much to give. Then 16 MiB of
content or so come of them at most: by RFC 7932 §9.2 a meta-block of a dozen bytes may become so much, by RFC 8878
§3.1.1.2 a block of four bytes 128 KiB."""

MAX_EXPANSION: Final = 1 << 24
"""Content bytes that one piece of the body may become; beyond it is a bomb, and ExpansionError is raised."""

_GZIP_MEMBER: Final = b"\x1f"
"""How a further member begins (RFC 1952 §2.3.1)."""

Decoder = Callable[[bytes | bytearray | memoryview], Iterator[bytes]]
"""A body piece as it was sent → the content in it, in pieces. Raises whatever the library raises on a broken body."""


class UnknownEncodingError(LookupError):
    """There is no decoder for this content coding here; the message is the coding's name."""


class ExpansionError(ValueError):
    """One piece of the body became more than MAX_EXPANSION bytes."""


def decoder(content_encoding: str) -> Decoder | None:
    """The decoder for a Content-Encoding header's value; None where the body is the content.

    Raises UnknownEncodingError.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    steps = [_made(coding) for coding in reversed(codings) if coding not in ("", "identity")]
    return _bounded(steps) if steps else None


def _made(coding: str) -> Decoder:
    try:
        return _MAKERS[coding]()
    except (KeyError, ImportError):
        raise UnknownEncodingError(coding[:32]) from None


def _bounded(steps: list[Decoder]) -> Decoder:
    def decode(piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
        total = 0
        for content in _through(steps, piece):
            total += len(content)
            if total > MAX_EXPANSION:
                raise ExpansionError(f"one piece became more than {MAX_EXPANSION} bytes")
            yield content

    return decode


def _through(steps: list[Decoder], piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
    first, *rest = steps
    for content in first(piece):
        if rest:
            yield from _through(rest, content)
        else:
            yield content


class _Inflater:
    """gzip, several members in a row included, or deflate; what else follows a body is left alone."""

    __slots__ = ("_bits", "_inflate")

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inflate = zlib.decompressobj(bits)

    def __call__(self, piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
        data = bytes(piece)
        full = False
        while data or full:
            if self._inflate.eof:
                if not data.startswith(_GZIP_MEMBER):
                    return
                self._inflate = zlib.decompressobj(self._bits)
            out = self._inflate.decompress(data, STEP_BYTES)
            if out:
                yield out
            full = len(out) == STEP_BYTES  # then zlib may hold some more, though it has taken all of the input
            data = self._inflate.unconsumed_tail
            if self._inflate.eof:
                data, full = self._inflate.unused_data, False


class _Deflate:
    """deflate: with the head of zlib, as RFC 9110 wants it, or raw, as some send it; its first two bytes tell."""

    __slots__ = ("_head", "_inflate")

    def __init__(self) -> None:
        self._head = b""
        self._inflate: _Inflater | None = None

    def __call__(self, piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
        if self._inflate is None:
            self._head = piece = self._head + bytes(piece)
            if len(piece) < 2:
                return
            zlib_head = piece[0] & 0x0F == zlib.DEFLATED and int.from_bytes(piece[:2], "big") % 31 == 0  # RFC 1950 §2.2
            self._inflate = _Inflater(zlib.MAX_WBITS if zlib_head else -zlib.MAX_WBITS)
        yield from self._inflate(piece)


class _Zstandard:
    """zstd by the standard library, its backport or the package `zstandard`; several frames in a row are one body."""

    __slots__ = ("_inflate", "_open")

    def __init__(self) -> None:
        module = _first_of("compression.zstd", "backports.zstd", "zstandard")
        plain = module.__name__ == "zstandard"
        self._open: Callable[[], Any] = (
            (lambda: module.ZstdDecompressor().decompressobj()) if plain else module.ZstdDecompressor
        )
        self._inflate = self._open()

    def __call__(self, piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
        for data in _sliced(piece, ZSTD_SLICE):
            while data:
                if self._inflate.eof:
                    self._inflate = self._open()
                if out := self._inflate.decompress(data):
                    yield out
                data = self._inflate.unused_data if self._inflate.eof else b""


def _brotli() -> Decoder:
    decompressor = _first_of("brotli", "brotlicffi").Decompressor()
    process: Callable[[bytes], bytes] = getattr(decompressor, "decompress", None) or decompressor.process

    def decode(piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
        for data in _sliced(piece, BROTLI_SLICE):
            if out := process(data):
                yield out

    return decode


def _sliced(piece: bytes | bytearray | memoryview, size: int) -> Iterator[bytes]:
    view = memoryview(piece)
    return (bytes(view[at : at + size]) for at in range(0, len(view), size))


def _first_of(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError(f"none of {', '.join(names)} is installed")


_MAKERS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": lambda: _Inflater(16 + zlib.MAX_WBITS),
    "x-gzip": lambda: _Inflater(16 + zlib.MAX_WBITS),
    "deflate": _Deflate,
    "br": _brotli,
    "zstd": _Zstandard,
}
"""Content coding → how to make its decoder; ImportError where its library is not installed."""
