"""Puts numbers into the events of a body that passes in arbitrary pieces: line by line, sans-IO, at once.

What goes in comes out in the same call, but for at most the beginning of a line that may yet become one to be numbered
(`dat`, with the stamp `field` also `data: {`), and with additions and omissions of two kinds only:

    stamp `id`      a line `id: <tag>.<number>` just before the first data line of an event; once one has been sent, a
                    blank line is left out where no `event`, `data` or `id` line stands since the blank line before it
    stamp `field`   `"_stream":"<tag>","_seq":<number>,` behind the brace that the event's data (SSE) or line (NDJSON)
                    begins with, where a quotation mark or the closing brace follows it

Such a blank line dispatches nothing and changes nothing for a parser that follows the standard; openai's, which
remembers the last id, takes it for an event without data, and raises. Numbers count the events that the standard
dispatches: comments, and blocks without data, use up none; an event that is not stamped uses up its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from streamwitness import faults
from streamwitness.semconv import Stamp
from streamwitness.stamping import tag_of

STAMPABLE: Final[dict[str, tuple[Stamp, ...]]] = {"sse": ("id", "field"), "ndjson": ("field",)}
"""Framing (semconv.FRAMINGS) → the stamps that its events can carry."""

_BOM: Final = b"\xef\xbb\xbf"
_CR: Final = 0x0D
_LF: Final = 0x0A
_ENDS: Final = b"\r\n"
_FIELD: Final = re.compile(rb"(?:data|event|id)(?=[:\r\n])")
_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")
_OBJECT: Final = {
    "sse": re.compile(rb"data: ?\{(?=[\"}])"),
    "ndjson": re.compile(rb"\{(?=[\"}])"),
}
"""The line's beginning behind which the stamp `field` is put."""


def _prefixes(*words: bytes) -> frozenset[bytes]:
    return frozenset(word[:end] for word in words for end in range(1, len(word)))


_UNDECIDED: Final[dict[str, frozenset[bytes]]] = {
    "id": _prefixes(b"data:", b"event:", b"id:"),
    "field": _prefixes(b'data: {"', b'data:{"', b"event:", b"id:"),
}
"""Unfinished lines that may yet become one that matters, and so are held back."""


class Rewriter:
    """Numbers the events of one body; one instance a body, not thread-safe; never raises.

    After an error of ours, which is counted, everything passes as it is: no byte is lost, none is doubled.
    """

    __slots__ = ("_broken", "_held", "_kind", "_size", "_start", "_tag", "ends", "number", "stamped")

    def __init__(self, exchange: str, kind: Stamp, first: int = 0) -> None:
        self.number = first
        """What the next event is numbered."""
        self.stamped = 0
        """Events that carry their number."""
        self.ends: list[tuple[int, int]] = []
        """Of the last call: the events that ended in it, as (number, offset in what came out just behind it)."""
        self._tag, self._kind = tag_of(exchange), kind
        self._held = b""  # the beginning of a line, not passed on yet
        self._size = 0  # bytes that came out so far in this call
        self._start = True  # the byte order mark may yet come
        self._broken = False

    @property
    def intact(self) -> bool:
        """Whether events are still being numbered: nothing has failed, and upstream does not number them itself."""
        return not self._broken

    def feed(self, piece: bytes | bytearray | memoryview, *, last: bool = False) -> bytes:
        """What to pass on instead of this piece; with `last`, it is the body's end, and nothing stays behind."""
        self.ends = []
        data = self._held + bytes(piece)
        if self._broken:
            return data
        self._held, self._size = b"", 0
        try:
            out = self._rewrite(data)
            if last:
                out, self._held = out + self._held, b""
                self._over(len(out))
        except Exception as error:
            self._held, self._broken, self.ends = b"", True, []
            faults.fault("gateway.stamp", error)
            return data
        return out

    def _rewrite(self, data: bytes) -> bytes:
        out = []
        if self._start:
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._held = data
                return b""
            self._start = False
            if data.startswith(_BOM):
                out.append(_BOM)
                data, self._size = data[len(_BOM) :], len(_BOM)
        for line in self._lines(data):
            passed = self._line(line)
            if passed:
                self._size += len(passed)
                out.append(passed)
        return b"".join(out)

    def _lines(self, data: bytes) -> Iterable[bytes]:
        raise NotImplementedError

    def _line(self, line: bytes) -> bytes:
        raise NotImplementedError

    def _over(self, size: int) -> None:
        """The body has ended, `size` bytes into what comes out last."""

    def _inside(self, line: bytes, opening: re.Pattern[bytes], number: int) -> bytes:
        """The line with the stamp in its JSON object, where it begins with one."""
        match = opening.match(line)
        if match is None:
            return line
        at = match.end()
        comma = b"" if line[at : at + 1] == b"}" else b","
        self.stamped += 1
        return b'%b"_stream":"%b","_seq":%d%b%b' % (line[:at], self._tag.encode(), number, comma, line[at:])


class SSERewriter(Rewriter):
    """For `text/event-stream`. A body whose first event has an id of its own is left alone altogether."""

    __slots__ = ("_counted", "_cr", "_midway", "_named", "_open", "_swallowed", "off")

    def __init__(self, exchange: str, kind: Stamp, first: int = 0) -> None:
        super().__init__(exchange, kind, first)
        self.off = False
        """Whether upstream numbers its events itself, so that ours are not put in."""
        self._midway = False  # within a line that has been decided
        self._cr = False  # the last byte was a CR that ended a line: an LF that comes now belongs to it
        self._swallowed = False  # and that line was left out
        self._open = False  # an event, data or id line stands in this block
        self._counted = False  # this block has data, and so its number
        self._named = False  # this block has an id line of upstream's

    @property
    def intact(self) -> bool:
        return not self._broken and not self.off

    def _lines(self, data: bytes) -> Iterable[bytes]:
        return data.splitlines(keepends=True)  # of bytes: at LF, CR and CR LF only, as the standard says

    def _line(self, line: bytes) -> bytes:
        if self._cr and line == b"\n":
            self._cr = False
            return b"" if self._swallowed else line
        ended = line[-1] in _ENDS
        if not self._midway and not ended and line in _UNDECIDED[self._kind]:
            self._held, self._cr = line, False
            return b""
        out = line if self._midway else self._decided(line)
        self._midway, self._cr, self._swallowed = not ended, line[-1] == _CR, not out
        return out

    def _decided(self, line: bytes) -> bytes:
        if line[0] in _ENDS:
            return self._blank(line)
        match = _FIELD.match(line)
        if match is None:
            return line
        self._open = True
        if match[0] == b"data":
            return self._data(line)
        self._named = self._named or match[0] == b"id"
        return line

    def _data(self, line: bytes) -> bytes:
        if self._counted:
            return line
        self._counted = True
        number, self.number = self.number, self.number + 1
        if self._kind == "field":
            return self._inside(line, _OBJECT["sse"], number)
        if self._named and not self.stamped:
            self.off = True
        if self._named or self.off:
            return line
        self.stamped += 1
        return b"id: %b.%d\n%b" % (self._tag.encode(), number, line)

    def _blank(self, line: bytes) -> bytes:
        counted, opened = self._counted, self._open
        self._counted = self._open = self._named = False
        if counted:
            self.ends.append((self.number - 1, self._size + len(line)))
        return b"" if self._kind == "id" and self.stamped and not opened else line


class LinesRewriter(Rewriter):
    """For NDJSON: a line with anything but white space in it is an event."""

    __slots__ = ("_counted", "_fresh")

    def __init__(self, exchange: str, kind: Stamp, first: int = 0) -> None:
        super().__init__(exchange, kind, first)
        self._fresh = True  # nothing of the line has passed
        self._counted = False  # the line is an event

    def _lines(self, data: bytes) -> Iterable[bytes]:
        return _LINE.findall(data)

    def _line(self, line: bytes) -> bytes:
        if self._fresh and line == b"{":
            self._held = line
            return b""
        out = line
        if not self._counted and line.strip():
            self._counted = True
            number, self.number = self.number, self.number + 1
            if self._fresh:
                out = self._inside(line, _OBJECT["ndjson"], number)
        self._fresh = line[-1] == _LF
        if self._fresh and self._counted:
            self._counted = False
            self.ends.append((self.number - 1, self._size + len(out)))
        return out

    def _over(self, size: int) -> None:
        if self._counted:  # the end of the body ends a line, too
            self.ends.append((self.number - 1, size))


def rewriter(exchange: str, kind: Stamp, framing: str, first: int = 0) -> Rewriter | None:
    """What numbers a body of this framing, from `first` on; None where nothing is to be, or can be, numbered."""
    if kind not in STAMPABLE.get(framing, ()):
        return None
    return (SSERewriter if framing == "sse" else LinesRewriter)(exchange, kind, first)
