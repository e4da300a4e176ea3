"""Messages of AWS's binary event stream (`application/vnd.amazon.eventstream`), both checksums verified.

A message is a prelude of 12 bytes (its whole length, the length of its headers, the CRC-32 of these eight bytes), the
headers, the payload, and the CRC-32 of everything before it; integers are big-endian. Each byte of a message belongs to
its event.

| what does not fit | outcome |
|---|---|
| the message's checksum, its headers | a malformed frame; the next message is read normally |
| the prelude's checksum, or an impossible length | a malformed frame of 12 bytes; nothing more is read, since where \
the next message begins nobody knows, and the body is `broken` |
| text where a message should begin | no event; what it is, is said (a gateway wrote its error as JSON or SSE) |
| more than the limit | an oversize frame, once it has been skipped by its length; its checksum is not verified |

Format: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

from struct import Struct
from typing import Final
from zlib import crc32

from streamwitness.events import Frame
from streamwitness.semconv import MAX_FRAME_BYTES

from .suspicion import SAMPLE, judge

_PRELUDE: Final = Struct(">III")
_CRC: Final = Struct(">I")
_OVERHEAD: Final = _PRELUDE.size + _CRC.size
_TEXT: Final = frozenset(b"\t\n\r\xef" + bytes(range(0x20, 0x7F)))
"""What text begins with. A message begins with 0 or 1, for it has at most 24 MiB."""
_NAMES: Final = {b"event": b":event-type", b"exception": b":exception-type"}
"""`:message-type` → the header that names the event; an `error` has a code and a text of its own, and no type."""
_WIDTHS: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Header value type → bytes: true, false, byte, short, integer, long, timestamp, UUID."""
_STRING: Final = 7
_SIZED: Final = frozenset((6, _STRING))
"""Header value types that state their length: bytes, string."""


class EventStreamFramer:
    """Cuts one body into frames; one instance a body, not thread-safe; never raises.

    `Frame.name` is the value of `:event-type`, of `:exception-type` for an exception, or `error`; `data` the payload.
    """

    rest: Final = None
    """Nothing that anybody takes for an event: half a message is none."""
    __slots__ = ("_aside", "_head", "_held", "_is_text", "_limit", "_size", "_total", "comments")

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self.comments = 0
        """Always 0: the format has none."""
        self._limit = limit
        self._aside = False  # nothing more is read
        self._is_text = False  # because there is text where a message should begin
        self._head = bytearray()  # of that text
        self._begin()

    @property
    def wrong(self) -> str:
        """What the body turned out to be where it is no event stream, or no longer: one of semconv.MISFRAMINGS."""
        if not self._aside:
            return ""
        return (judge(bytes(self._head)) or "text") if self._is_text else "broken"

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """The frames that end in this piece. What is needed of the piece is copied, never the piece kept."""
        if type(data) is not bytes:
            data = bytes(data)
        frames: list[Frame] = []
        at = 0
        while at < len(data):
            if self._aside:
                if self._is_text:
                    self._head += data[at : at + SAMPLE - len(self._head)]
                break
            if not self._size and data[at] in _TEXT:
                self._aside = self._is_text = True
            else:
                at = self._take(data, at, frames)
        return frames

    def finish(self) -> tuple[list[Frame], int]:
        """The body has ended: how many bytes of a message there were that was never complete."""
        pending = self._size
        self._begin()
        return [], pending

    def _begin(self) -> None:
        """The next message has not begun."""
        self._held = bytearray()
        self._size = 0  # bytes of it so far, held or not
        self._total = 0  # its length, once the prelude is verified

    def _take(self, data: bytes, at: int, frames: list[Frame]) -> int:
        """Bytes of one message, as many as it needs next; returns where they end."""
        piece = data[at : at + (self._total or _PRELUDE.size) - self._size]
        self._size += len(piece)
        if self._total <= self._limit:
            self._held += piece
        if self._total:
            if self._size == self._total:
                frames.append(self._message())
                self._begin()
        elif self._size == _PRELUDE.size:
            self._prelude(frames)
        return at + len(piece)

    def _prelude(self, frames: list[Frame]) -> None:
        total, _, checksum = _PRELUDE.unpack(self._held)
        if checksum == crc32(self._held[:8]) and total >= _OVERHEAD:
            self._total = total
            return
        frames.append(Frame(b"", b"", self._size, "malformed"))
        self._begin()
        self._aside = True

    def _message(self) -> Frame:
        total = self._total
        if total > self._limit:
            return Frame(b"", b"", total, "oversize")
        message = bytes(self._held)
        split = _PRELUDE.size + int.from_bytes(message[4:8], "big")
        end = total - _CRC.size
        name = None
        if split <= end and _CRC.unpack_from(message, end)[0] == crc32(message[:end]):
            name = _name(message[_PRELUDE.size : split])
        if name is None:
            return Frame(b"", b"", total, "malformed")
        return Frame(name, message[split:end], total)


def _name(block: bytes) -> bytes | None:
    """What a message with these headers is called; None where they cannot be read."""
    try:
        headers = _texts(block)
    except (ValueError, IndexError):
        return None
    kind = headers.get(b":message-type", b"event")
    return headers.get(_NAMES.get(kind, b""), kind if kind == b"error" else b"")


def _texts(block: bytes) -> dict[bytes, bytes]:
    """The headers that have a string for a value. Raises ValueError or IndexError where they are cut."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(block):
        start = at + 1
        at = start + block[at]
        name, kind = block[start:at], block[at]
        at += 1
        width = _WIDTHS.get(kind)
        if width is None:
            if kind not in _SIZED:
                raise ValueError(f"unknown header type {kind}")
            width = int.from_bytes(block[at : at + 2], "big")
            at += 2
        if kind == _STRING:
            found[name] = block[at : at + width]
        at += width
    if at > len(block):
        raise ValueError("the last header is cut")
    return found
