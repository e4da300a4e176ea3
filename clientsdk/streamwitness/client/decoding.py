"""Content decoding for the observer's copy of a body: what the reading library decodes for the application.

The host decodes its own bytes; this is a second, bounded decoding of the same ones. A coding that cannot be decoded
here makes the point unknown, never missing.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

PIECE_BYTES: Final = 1 << 18
"""Decoded bytes handed on at once."""

MAX_EXPANSION: Final = 1 << 24
"""Decoded bytes that one piece read from the network may become; beyond it is a bomb, and we stop looking."""


class UndecodableError(ValueError):
    """The body cannot be decoded here; the message names the coding, never content."""


class Decoder(Protocol):
    """One content coding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded bytes of the next piece, in pieces; raises the coding library's error."""


def decoder(codings: Iterable[str]) -> Callable[[bytes], Iterator[bytes]]:
    """A function that decodes a body piece by piece; `codings` as in Content-Encoding, in the order applied.

    Raises UndecodableError for a coding that is unknown or whose library is not installed.
    """
    steps = [
        _make(coding) for coding in reversed([c.strip().lower() for c in codings]) if coding not in ("", "identity")
    ]
    return lambda data: _bounded(_through(steps, data))


def _through(steps: list[Decoder], data: bytes) -> Iterator[bytes]:
    if not steps:
        yield data
        return
    for piece in steps[0].feed(data):
        yield from _through(steps[1:], piece)


def _bounded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > MAX_EXPANSION:
            raise UndecodableError(f"one read expanded to more than {MAX_EXPANSION} bytes")
        yield piece


def _make(coding: str) -> Decoder:
    make = _CODINGS.get(coding)
    if make is None:
        raise UndecodableError(f"content coding not known: {coding[:32]}")
    return make()


class _Zlib:
    """gzip, and deflate in both of its readings (with zlib header as the RFC says, or raw as some servers send)."""

    def __init__(self, wbits: int, wbits_without_header: int | None = None) -> None:
        self._inflate = zlib.decompressobj(wbits)
        self._bare = wbits_without_header
        self._head = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._bare is not None:
            data = self._head = self._head + data
            if len(data) < 2:
                return
            if not _has_zlib_header(data):
                self._inflate = zlib.decompressobj(self._bare)
            self._bare = None
        out = self._inflate.decompress(data, PIECE_BYTES)
        while out:
            yield out
            out = self._inflate.decompress(self._inflate.unconsumed_tail, PIECE_BYTES)


def _has_zlib_header(data: bytes) -> bool:
    """RFC 1950 §2.2: method 8, and the two bytes as a number are a multiple of 31."""
    return data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0


class _Brotli:
    """br, by whichever of the two packages httpx would take."""

    def __init__(self) -> None:
        inflate = _first_of("brotli", "brotlicffi").Decompressor()
        self._process: Callable[[bytes], bytes] = getattr(inflate, "decompress", None) or inflate.process

    def feed(self, data: bytes) -> Iterator[bytes]:
        if out := self._process(data):
            yield out


class _Zstandard:
    """zstd, by the standard library, its backport or the package `zstandard`; several frames in a row are one body."""

    def __init__(self) -> None:
        module = _first_of("compression.zstd", "backports.zstd", "zstandard")
        if module.__name__ == "zstandard":
            self._open: Callable[[], Any] = lambda: module.ZstdDecompressor().decompressobj()
        else:
            self._open = module.ZstdDecompressor
        self._inflate = self._open()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflate.eof:
                self._inflate = self._open()
            if out := self._inflate.decompress(data):
                yield out
            data = self._inflate.unused_data if self._inflate.eof else b""


def _first_of(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UndecodableError(f"none of {', '.join(names)} is installed")


_CODINGS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS, -zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstandard,
}
