"""Elements of one JSON array cut out of a body that arrives in arbitrary pieces, each handed on when it closes.

This is how Gemini streams without `alt=sse`: `[{…},`, `{…}`, `]`, often pretty-printed. Only brackets and strings are
looked at; whether an element is JSON, its profile finds out. What a byte belongs to:

    an element, from its first byte to its last    its event (`Frame.size`)
    the array's brackets, commas between elements, white space outside of them, a leading byte order mark    no event
    everything, where the body is no array or the array is over                                              no event

An element that is neither object, array nor string ends with the byte behind it. A missing comma is forgiven.

Grammar: RFC 8259
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from streamwitness.events import Frame
from streamwitness.semconv import MAX_FRAME_BYTES

from .bom import after_bom
from .suspicion import SAMPLE, judge

_QUOTE: Final = 0x22
_ARRAY: Final = 0x5B
_ARRAY_END: Final = 0x5D
_OPENING: Final = b"{["
_CLOSING: Final = b"}]"

# Possessive, without groups: one pass over the bytes, whatever they are.
_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_BETWEEN: Final = re.compile(rb"[ \t\r\n,]*+")
_SCALAR: Final = re.compile(rb'[^ \t\r\n,\[\]{}"]*+')
_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
"""The inside of a string, up to its closing quote, or to a backslash that ends the piece."""
_NESTED: Final = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
"""The inside of an object or array, up to a bracket, or to a string that the piece does not close."""


class JSONArrayFramer:
    """Cuts one body into frames; one instance a body, not thread-safe; never raises.

    An element of more than `limit` bytes comes out as an oversize frame with its true size.
    """

    rest: Final = None
    """Nothing that anybody takes for an event: half an element is none."""
    __slots__ = ("_depth", "_escaped", "_from", "_head", "_held", "_limit", "_size", "_start", "_state", "comments")

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self.comments = 0
        """Always 0: the format has none."""
        self._limit = limit
        self._start: bytes | None = b""  # what may yet turn out to be the byte order mark; None once that is known
        self._state: _State = JSONArrayFramer._before
        self._head = bytearray()  # of what is no array, or stands behind one
        self._begin(0)

    @property
    def wrong(self) -> str:
        """What the body is instead of an array, or has behind it: one of semconv.MISFRAMINGS, or ""."""
        return (judge(bytes(self._head)) or "text") if self._head else ""

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """The frames that end in this piece. What is needed of the piece is copied, never the piece kept."""
        if type(data) is not bytes:
            data = bytes(data)
        if self._start is not None:
            self._start, data = after_bom(self._start, data)
        frames: list[Frame] = []
        at = self._from = 0
        while at < len(data):
            at = self._state(self, data, at, frames)
        if self._state in _INSIDE:
            self._hold(data[self._from :])
        return frames

    def finish(self) -> tuple[list[Frame], int]:
        """The body has ended: how many bytes of an element there were that never closed."""
        if self._start:
            self._head += self._start
        pending = self._size
        self._start, self._state = None, JSONArrayFramer._beside
        self._begin(0)
        return [], pending

    def _begin(self, at: int) -> None:
        """An element begins at `at` in this piece."""
        self._from = at
        self._held = bytearray()
        self._size = self._depth = 0
        self._escaped = False

    def _hold(self, piece: bytes) -> None:
        """Keep a piece of an unfinished element, unless it is beyond the limit."""
        self._size += len(piece)
        if self._size <= self._limit:
            self._held += piece

    def _end(self, data: bytes, end: int, frames: list[Frame]) -> int:
        """The element ends at `end`."""
        size = self._size + end - self._from
        if size > self._limit:
            frames.append(Frame(b"", b"", size, "oversize"))
        else:
            frames.append(Frame(b"", bytes(self._held) + data[self._from : end], size))
        self._begin(end)
        self._state = JSONArrayFramer._between
        return end

    # What reads on from `at`, and returns how far it came.

    def _before(self, data: bytes, at: int, frames: list[Frame]) -> int:
        at = _end_of(_SPACE, data, at)
        if at < len(data):
            is_array = data[at] == _ARRAY
            self._state = JSONArrayFramer._between if is_array else JSONArrayFramer._beside
            at += is_array
        return at

    def _between(self, data: bytes, at: int, frames: list[Frame]) -> int:
        at = _end_of(_BETWEEN, data, at)
        if at == len(data):
            return at
        if data[at] in _CLOSING:
            if data[at] == _ARRAY_END:
                self._state = JSONArrayFramer._behind
            return at + 1
        self._begin(at)
        if data[at] == _QUOTE:
            self._state = JSONArrayFramer._string
            return at + 1
        self._state = JSONArrayFramer._nested if data[at] in _OPENING else JSONArrayFramer._scalar
        return at

    def _nested(self, data: bytes, at: int, frames: list[Frame]) -> int:
        while (at := _end_of(_NESTED, data, at)) < len(data):
            if data[at] == _QUOTE:
                self._state = JSONArrayFramer._string
                return at + 1
            self._depth += 1 if data[at] in _OPENING else -1
            at += 1
            if not self._depth:
                return self._end(data, at, frames)
        return at

    def _string(self, data: bytes, at: int, frames: list[Frame]) -> int:
        if self._escaped:
            self._escaped = False
            at += 1
        at = _end_of(_STRING, data, at)
        if at == len(data):
            return at
        self._escaped = data[at] != _QUOTE
        if not self._escaped:
            if not self._depth:
                return self._end(data, at + 1, frames)
            self._state = JSONArrayFramer._nested
        return at + 1

    def _scalar(self, data: bytes, at: int, frames: list[Frame]) -> int:
        at = _end_of(_SCALAR, data, at)
        return at if at == len(data) else self._end(data, at, frames)

    def _behind(self, data: bytes, at: int, frames: list[Frame]) -> int:
        at = _end_of(_SPACE, data, at)
        if at < len(data):
            self._state = JSONArrayFramer._beside
        return at

    def _beside(self, data: bytes, at: int, frames: list[Frame]) -> int:
        self._head += data[at : at + SAMPLE - len(self._head)]
        return len(data)


_State = Callable[[JSONArrayFramer, bytes, int, list[Frame]], int]
_INSIDE: Final[tuple[_State, ...]] = (JSONArrayFramer._nested, JSONArrayFramer._string, JSONArrayFramer._scalar)


def _end_of(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Where a match of this pattern, which may be empty, ends."""
    found = pattern.match(data, at)
    return found.end() if found else at
