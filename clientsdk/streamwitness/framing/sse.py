"""Server-sent events cut out of a body that arrives in arbitrary pieces, as the WHATWG standard says.

Two ways lead to the same frames. Events that stand whole in one piece, in the shape nearly every server sends, are
cut out from one LF to the next; everything else goes line by line through `_lines`, a complete incremental parser. A
test compares the two for every cut.

What a byte belongs to, wherever the reads are cut:

    field lines with their ends, the blank line    the event that this blank line dispatches (`Frame.size`)
    comment lines                                  no event
    blank lines that dispatch nothing              no event, nor do the fields without `data` before them
    a leading byte order mark                      no event
    the LF of a CR LF that is the blank line       no event: its CR has already dispatched one

Standard: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

from typing import Final

from streamwitness.events import Frame
from streamwitness.semconv import MAX_FRAME_BYTES

from .bom import BOM, after_bom
from .ids import Ids
from .suspicion import LINE, Suspicion

_FIELDS: Final = frozenset((b"data", b"event", b"id", b"retry"))
_LF: Final = 0x0A
_CR: Final = 0x0D
_ENDS: Final = b"\n\r"
_COLON: Final = 0x3A
_new: Final = tuple.__new__
"""Makes a Frame in half the time of its Python-level constructor; there is one for every event."""


class SSEFramer:
    """Cuts one body into frames; one instance a body, not thread-safe.

    Frames carry raw bytes: what is no valid UTF-8 is the reader's business. An event of more than `limit` bytes comes
    out as an oversize frame with its true size and neither name nor data, and its `id` is ignored; no more than a
    small multiple of `limit` is ever held. `retry` is not looked at.
    """

    __slots__ = (
        "_cr",
        "_data",
        "_dropped",
        "_has_data",
        "_id",
        "_ids",
        "_lf_size",
        "_limit",
        "_line",
        "_name",
        "_odd_at",
        "_own_id",
        "_size",
        "_start",
        "_suspicion",
        "comments",
        "last_id",
        "rest",
    )

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self.comments = 0
        """Comment lines seen so far: they carry nothing, but show that the peer lives."""
        self.last_id = b""
        """The last event id: what a client would send as Last-Event-ID."""
        self.rest: Frame | None = None
        """After the end: the event that a blank line would have made of what was left; None where it is none."""
        self._limit = limit
        self._start: bytes | None = b""  # what may yet turn out to be the byte order mark; None once that is known
        self._suspicion = Suspicion("sse")
        self._odd_at = 0  # how many frames of this piece came before the last line that is no field
        self._line = bytearray()  # the unfinished last line, or the head of one beyond the limit
        self._dropped = 0  # how many bytes of that line are not kept
        self._cr = False  # the last byte was a CR that ended a line: an LF that comes now belongs to it
        self._lf_size = 0  # what such an LF adds to the open event's size
        self._id = b""
        self._ids: Ids | None = None  # there are none in most bodies
        self._begin()

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """The frames that end in this piece. What is needed of the piece is copied, never the piece kept."""
        if type(data) is not bytes:
            data = bytes(data)
        if self._start is not None:
            self._start, data = after_bom(self._start, data)
        frames: list[Frame] = []
        line = self._line
        if _CR in data or self._cr:
            self._lines(data, frames)
        elif _LF in data:
            self._events(data, self._resume(data, frames) if line or self._size else 0, frames)
        else:
            line += data
            if self._dropped or len(line) + self._size > self._limit:
                self._drop()
            return frames
        if self._suspicion.is_open:
            self._answer(frames)
            self._odd_at = 0
        return frames

    def finish(self) -> tuple[list[Frame], int]:
        """The body has ended: discard what was never dispatched, and say how many bytes of an event that was.

        These are the field lines since the last blank line, and an unfinished last line unless it is a comment. There
        are no frames that only the end completes; `rest` is what others may take for one. A second call gives 0.
        """
        if self._start:
            self._hold(self._start)
        text, length = self._take_line()
        if text and text[0] != _COLON:
            self._size += length
            if not any(start.startswith(text) for start in (BOM, *_FIELDS)):  # may have been cut within
                self._unless_known(text, [])
        pending = self._size
        self.rest = self._left(text) if length == len(text) and pending <= self._limit else None
        self._start, self._cr = None, False
        self._begin()
        return [], pending

    def _left(self, line: bytes) -> Frame | None:
        """The open event with this unfinished line, as readers have it that take the end for a blank line."""
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        data = [*self._data, value] if field == b"data" else self._data
        if not data:
            return None
        return Frame(value if field == b"event" else self._name, b"\n".join(data), self._size)

    @property
    def wrong(self) -> str:
        """What the body turned out to be where it is no event stream: one of semconv.MISFRAMINGS, or ""."""
        return self._suspicion.wrong

    @property
    def out_of_turn(self) -> int:
        """Events that came again, or behind a later one, by the ids that the body's own events carry."""
        return 0 if self._ids is None else self._ids.out_of_turn

    def _begin(self) -> None:
        """Nothing of the next event has been seen."""
        self._own_id = False
        self._name = b""
        self._data: list[bytes] = []
        self._has_data = False
        self._size = 0

    def _resume(self, data: bytes, frames: list[Frame]) -> int:
        """Go on with the open event in a piece with an LF and no CR; returns where in it the next event starts."""
        end = data.find(b"\n")
        if not (self._size or self._dropped) and data.startswith(b"\n\n", end):  # one line is all of it
            line = self._line
            line += data[: end + 2]
            event = bytes(line)
            line.clear()
            self._events(event, 0, frames)
            return end + 2
        blank = data.find(b"\n\n", end) + 2
        stop = blank if blank > 1 else len(data)
        self._lines(data[:stop], frames)
        return stop

    def _events(self, data: bytes, at: int, frames: list[Frame]) -> None:
        """From a clean start at `at` in a piece free of CR: ordinary events are cut out, the rest goes by lines."""
        stop = len(data)
        find, starts, limit = data.find, data.startswith, self._limit
        while at < stop:
            end = find(b"\n", at) + 2
            if end == 1:
                self._hold(data[at:])
                return
            if starts(b"data: ", at) and end <= stop and data[end - 1] == _LF and end - at <= limit:
                frames.append(_new(Frame, (b"", data[at + 6 : end - 2], end - at, "", self.last_id)))
            else:
                end = self._event(data, at, frames)
            at = end

    def _event(self, data: bytes, at: int, frames: list[Frame]) -> int:
        """One event of another shape at `at`, or the piece's unfinished rest; returns where it ends."""
        name, start = b"", at
        if data.startswith(b"event: ", at) and (line_end := data.find(b"\n", at)) > 0:
            start = line_end + 1
            name = data[at + 7 : line_end]
        if data.startswith(b"data:", start):
            end = data.find(b"\n", start) + 2
            if 1 < end <= len(data) and data[end - 1] == _LF and end - at <= self._limit:
                frames.append(
                    _new(Frame, (name, data[start + 5 : end - 2].removeprefix(b" "), end - at, "", self.last_id))
                )
                return end
        blank = data.find(b"\n\n", at) + 2
        end = blank if blank > 1 else len(data)
        self._lines(data[at:end], frames)
        return end

    def _lines(self, data: bytes, frames: list[Frame]) -> None:
        """Any bytes whatever, in any state."""
        if not data:
            return
        if self._cr and data[0] == _LF:
            self._size += self._lf_size
            data = data[1:]
        # bytes.splitlines, unlike str.splitlines, splits at LF, CR and CR LF only: exactly the standard's lines.
        for line in data.splitlines(keepends=True):
            if line[-1] in _ENDS:
                self._end_line(line, frames)
            else:
                self._hold(line)
        self._cr = data.endswith(b"\r")

    def _hold(self, piece: bytes) -> None:
        """Keep a piece of an unfinished line, or but the head of one that goes beyond the limit."""
        self._line += piece
        if self._dropped or len(self._line) + self._size > self._limit:
            self._drop()

    def _drop(self) -> None:
        self._dropped += max(0, len(self._line) - LINE)
        del self._line[LINE:]

    def _take_line(self) -> tuple[bytes, int]:
        """The unfinished line, or its head, and its true length."""
        line, length = bytes(self._line), len(self._line) + self._dropped
        self._line.clear()
        self._dropped = 0
        return line, length

    def _end_line(self, line: bytes, frames: list[Frame]) -> None:
        text = line.rstrip(b"\r\n")
        length, ends = len(text), len(line) - len(text)
        if self._line:
            self._hold(text)
            text, length = self._take_line()
        if not text:
            self._dispatch(frames)
        elif text[0] == _COLON:
            self.comments += 1
            self._lf_size = 0
        else:
            # Measured without the line's end, because a CR LF may be cut between two reads.
            over = self._size + length > self._limit
            self._size += length + ends
            self._lf_size = 1
            self._field(text, over, frames)

    def _field(self, text: bytes, over: bool, frames: list[Frame]) -> None:
        field, _, value = text.partition(b":")
        if field == b"data":
            self._has_data = True
        if over:
            self._data.clear()
            self._unless_known(text, frames)
            return
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value:
            self._id, self._own_id = value, True
        self._unless_known(text, frames)

    def _unless_known(self, text: bytes, frames: list[Frame]) -> None:
        """A line that is no field of the standard is odd, unless it stands in an event with data: there a server may
        have forgotten the field names of a text's further lines. llama.cpp's older builds had a field for errors."""
        field, _, value = text.partition(b":")
        if field in _FIELDS:
            self._suspicion.proper()
            return
        if field == b"error" and value.lstrip(b" ").startswith(b'{"'):
            self._suspicion.error()
        if self._has_data:
            return
        self._answer(frames)
        self._suspicion.odd(text)
        self._odd_at = len(frames)

    def _answer(self, frames: list[Frame]) -> None:
        """Tell the suspicion of the first event that came after an odd line."""
        if self._suspicion.is_open and len(frames) > self._odd_at:
            self._suspicion.event(frames[self._odd_at])

    def _dispatch(self, frames: list[Frame]) -> None:
        """A blank line: dispatch the event if it has data; its id takes effect in any case."""
        self._lf_size = 0
        if not self._size:
            return
        size = self._size + 1
        oversize = size > self._limit
        if oversize:
            self._id = self.last_id
        self.last_id = self._id
        if self._has_data:
            if self._own_id and self._id:
                self._ids = self._ids or Ids()
                self._ids.note(self._id)
            name, data = (b"", b"") if oversize else (self._name, b"\n".join(self._data))
            frames.append(_new(Frame, (name, data, size, "oversize" if oversize else "", self.last_id)))
        self._begin()
