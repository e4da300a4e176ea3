"""Bodies: events → bytes in the framings of the formats and the styles of their servers, and bytes → events again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .acts import Event

FRAMING: Final = {
    "openai_chat": "sse",
    "openai_responses": "sse",
    "anthropic": "sse",
    "gemini": "sse",
    "gemini_array": "json_array",
    "ollama": "ndjson",
}
"""Provider → how its events are framed."""

TYPES: Final = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json_array": "application/json"}
"""Framing → content type."""

PATHS: Final = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent",
    "gemini_array": "/v1beta/models/m:streamGenerateContent",
    "ollama": "/api/chat",
}
"""Provider → the path of its requests."""

_BLANK: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE: Final = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Style:
    """How a server frames: its line ends, the space behind `data:`, a BOM, comments, and how it cuts what it writes."""

    newline: bytes = b"\n"
    space: bytes = b" "
    bom: bool = False
    comments: int = 0
    """A comment before every so many events; 0: none."""
    multiline: bool = False
    """JSON over several `data` lines."""
    cut: int = 0
    """Bytes in one write; 0: one event, -1: all at once."""


PLAIN: Final = Style()
"""As most servers do it."""


class Framer:
    """Frames the events of one body."""

    def __init__(self, framing: str, style: Style) -> None:
        self._framing, self._style, self._count = framing, style, 0

    def frame(self, event: Event) -> bytes:
        """The bytes of one event; those that it came as, where it came."""
        first, self._count = not self._count, self._count + 1
        if event.raw:
            return event.raw
        if self._framing == "ndjson":
            return b"" if event.comment else event.data.encode() + b"\n"
        if self._framing == "json_array":
            return b"" if event.comment else (b"[" if first else b",\r\n") + event.data.encode()
        return self._sse(event, first)

    def end(self) -> bytes:
        """What closes the body."""
        return (b"]" if self._count else b"[]") if self._framing == "json_array" else b""

    def _sse(self, event: Event, first: bool) -> bytes:
        style = self._style
        line = style.newline
        if event.comment:
            return b": keep-alive" + line * 2
        head = b"\xef\xbb\xbf" if first and style.bom else b""
        if style.comments and self._count % style.comments == 0:
            head += b": PROCESSING" + line * 2
        name = b"event:" + style.space + event.name.encode() + line if event.name else b""
        data = event.data.replace('","', '",\n"') if style.multiline else event.data
        lines = b"".join(b"data:" + style.space + part.encode() + line for part in data.split("\n"))
        return head + name + lines + line


class Splitter:
    """Cuts a body of pieces into frames, each with its bytes; understands only what the bench itself writes."""

    def __init__(self, framing: str) -> None:
        self._framing, self.rest = framing, b""
        self._searched = 0
        """Up to where no event ends."""

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are whole now."""
        self.rest += piece
        find = {"sse": self._block, "ndjson": self._row, "json_array": self._element}[self._framing]
        while (end := find()) > 0:
            raw, self.rest, self._searched = self.rest[:end], self.rest[end:], 0
            yield self._event(raw)

    def _block(self) -> int:
        found = _BLANK.search(self.rest, self._searched)
        self._searched = max(0, len(self.rest) - 3)
        return found.end() if found else 0

    def _row(self) -> int:
        return self.rest.find(b"\n") + 1

    def _element(self) -> int:
        """The end of the first whole object at depth 0; the bracket or comma before it belongs to it."""
        depth, quoted, escaped = 0, False, False
        for at, byte in enumerate(self.rest):
            if quoted:
                quoted, escaped = byte != 0x22 or escaped, byte == 0x5C and not escaped
            elif byte == 0x22:
                quoted = True
            elif byte in b"{}":
                depth += 1 if byte == 0x7B else -1
                if not depth:
                    return at + 1
        return 0

    def _event(self, raw: bytes) -> Event:
        if self._framing == "json_array":
            return Event("", raw.lstrip(b"[,\r\n").decode(errors="replace"), raw)
        if self._framing == "ndjson":
            return Event("", raw.strip().decode(errors="replace"), raw, comment=not raw.strip())
        name, data = "", []
        for line in _LINE.split(raw.removeprefix(b"\xef\xbb\xbf")):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value.decode(errors="replace"))
            elif field == b"event":
                name = value.decode(errors="replace")
        return Event(name, "\n".join(data), raw, comment=not data)


def cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in writes of `size`; 0: as they are, -1: all in one."""
    if not size:
        yield from pieces
        return
    whole = b"".join(pieces)
    step = size if size > 0 else max(len(whole), 1)
    yield from (whole[at : at + step] for at in range(0, len(whole), step))
