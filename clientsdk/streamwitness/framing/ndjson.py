"""Lines of JSON cut out of a body that arrives in arbitrary pieces.

A line ends at LF; one CR before it is part of the line's end. What a byte belongs to:

    a line with its end                            its event (`Frame.size`)
    a last line that the end of the body ends      its event where it is one complete JSON value, else it is pending
    blank lines, a leading byte order mark         no event

Lines are not checked: one that is no JSON is an event that its profile calls malformed. Only the last line without an
LF is, because half an object is no event.

Format: https://github.com/ndjson/ndjson-spec
"""

from __future__ import annotations

from typing import Final

from streamwitness.events import Frame
from streamwitness.semconv import MAX_FRAME_BYTES

from .bom import BOM, after_bom
from .suspicion import LINE, Suspicion, is_whole

_LF: Final = 0x0A
_OPEN: Final = 0x7B
_CLOSE: Final = 0x7D
_new: Final = tuple.__new__
"""Makes a Frame in half the time of its Python-level constructor; there is one for every event."""


class NDJSONFramer:
    """Cuts one body into frames; one instance a body, not thread-safe; never raises.

    A line of more than `limit` bytes, its end included, comes out as an oversize frame with its true size.
    """

    rest: Final = None
    """Nothing that anybody takes for an event: a whole last line is an event."""
    __slots__ = ("_dropped", "_limit", "_line", "_start", "_suspicion", "comments")

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self.comments = 0
        """Always 0: the format has none."""
        self._limit = limit
        self._start: bytes | None = b""  # what may yet turn out to be the byte order mark; None once that is known
        self._line = bytearray()  # the unfinished last line, or the head of one beyond the limit
        self._dropped = 0  # how many bytes of that line are not kept
        self._suspicion = Suspicion("ndjson")

    @property
    def wrong(self) -> str:
        """What the body turned out to be where these are no lines of JSON: one of semconv.MISFRAMINGS, or ""."""
        return self._suspicion.wrong

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """The frames that end in this piece. What is needed of the piece is copied, never the piece kept."""
        if type(data) is not bytes:
            data = bytes(data)
        if self._start is not None:
            self._start, data = after_bom(self._start, data)
        frames: list[Frame] = []
        if _LF in data:
            first, *lines = data.split(b"\n")
            self._hold(first)
            text, length = self._take_line()
            self._end_line(text, length + 1, frames)
            data = lines.pop()
            for line in lines:
                self._end_line(line, len(line) + 1, frames)
        self._hold(data)
        return frames

    def finish(self) -> tuple[list[Frame], int]:
        """The body has ended: the last line as a frame if it is whole, else how many bytes of it there were."""
        if self._start:
            self._hold(self._start)
        self._start = None
        text, length = self._take_line()
        frames: list[Frame] = []
        if not text.strip():
            return frames, 0
        if length <= self._limit and is_whole(text):
            self._end_line(text, length, frames)
            return frames, 0
        if not (text.startswith(b"{") or BOM.startswith(text)):
            self._suspicion.odd(text)
        return frames, length

    def _hold(self, piece: bytes) -> None:
        """Keep a piece of an unfinished line, or but the head of one that goes beyond the limit."""
        self._line += piece
        if self._dropped or len(self._line) > self._limit:
            self._dropped += max(0, len(self._line) - LINE)
            del self._line[LINE:]

    def _take_line(self) -> tuple[bytes, int]:
        """The unfinished line, or its head, and its true length."""
        line, length = bytes(self._line), len(self._line) + self._dropped
        self._line.clear()
        self._dropped = 0
        return line, length

    def _end_line(self, text: bytes, size: int, frames: list[Frame]) -> None:
        if not text or text.isspace():
            return
        if size > self._limit:
            frame = Frame(b"", b"", size, "oversize")
        else:
            text = text.removesuffix(b"\r")
            frame = _new(Frame, (b"", text, size, "", b""))
        frames.append(frame)
        if text[0] == _OPEN and (text[-1] == _CLOSE or frame.fault):
            if self._suspicion.is_open:
                self._suspicion.event(frame)
        else:
            self._doubt(text, frame)

    def _doubt(self, text: bytes, frame: Frame) -> None:
        """A line that is no object on the face of it."""
        if frame.fault or not is_whole(text):
            self._suspicion.odd(text)
        elif self._suspicion.is_open:
            self._suspicion.event(frame)
