"""Client parsers: the proper one, and those that the reports are about, as short as they come."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import Any

from streamwitness.events import Frame
from streamwitness.framing import FRAMINGS

Pieces = Iterator[bytes]


def proper(framing: str = "sse") -> Callable[[Pieces], Iterator[Any]]:
    """Our reference framing, then JSON; what is no JSON raises, as it does in most clients."""

    def parse(pieces: Pieces) -> Iterator[Any]:
        framer = FRAMINGS[framing]()
        for piece in pieces:
            yield from map(_event, framer.feed(piece))
        frames, _ = framer.finish()
        yield from map(_event, frames)

    return parse


def _event(frame: Frame) -> Any:
    """A frame as a client hands it on; AWS clients put a message under its name."""
    named = frame.name.startswith((b"message", b"content", b"metadata")) and b'"type"' not in frame.data
    return {frame.name.decode(): json.loads(frame.data)} if named else _decoded(frame.data)


def _decoded(data: bytes) -> Any:
    return "[DONE]" if data.strip() == b"[DONE]" else json.loads(data)


def splitlines(pieces: Pieces, *, skips: bool = False) -> Iterator[Any]:
    """Splits lines with `str.splitlines`, which knows more line ends than SSE does."""
    decoder, held = codecs.getincrementaldecoder("utf-8")("replace"), ""
    for piece in pieces:
        held += decoder.decode(piece)
        lines = held.splitlines(keepends=True)
        held = lines.pop() if lines and not lines[-1].endswith("\n") else ""
        for line in lines:
            yield from _data_line(line, skips=skips)


def splitlines_and_skips(pieces: Pieces) -> Iterator[Any]:
    """The same, and takes what it cannot decode for a keep-alive."""
    return splitlines(pieces, skips=True)


def _data_line(line: str, *, skips: bool) -> Iterator[Any]:
    if not line.startswith("data:"):
        return
    try:
        yield _decoded(line.removeprefix("data:").strip().encode())
    except json.JSONDecodeError:
        if not skips:
            raise


def keeps_the_bom(pieces: Pieces) -> Iterator[Any]:
    """Decodes without dropping a BOM: the first field is then called `\\ufeffdata`, and nobody knows that one."""
    decoder, held = codecs.getincrementaldecoder("utf-8")(), ""
    for piece in pieces:
        held += decoder.decode(piece).replace("\r\n", "\n").replace("\r", "\n")
        *lines, held = held.split("\n")
        for line in lines:
            yield from _data_line(line, skips=False)


def json_per_line(pieces: Pieces) -> Iterator[Any]:
    """Takes every `data` line for a document of its own, and skips what is none."""
    held = b""
    for piece in pieces:
        *lines, held = (held + piece).split(b"\n")
        for line in lines:
            yield from _data_line(line.decode(), skips=True)


def json_per_read(pieces: Pieces, *, skips: bool = False) -> Iterator[Any]:
    """Takes what one read brought for whole lines of JSON."""
    for piece in pieces:
        for line in piece.decode().split("\n"):
            try:
                if line.strip():
                    yield json.loads(line)
            except json.JSONDecodeError:
                if not skips:
                    raise


def json_per_read_and_skips(pieces: Pieces) -> Iterator[Any]:
    """The same with the fix that some made: the error is swallowed, and so is the event."""
    return json_per_read(pieces, skips=True)


def array_per_read(pieces: Pieces) -> Iterator[Any]:
    """Takes each read of a streamed array for one object."""
    for piece in pieces:
        yield json.loads(piece)


def text_per_read(pieces: Pieces) -> Iterator[Any]:
    """Decodes each read by itself: a character that was cut becomes two that were never sent."""
    held = ""
    for piece in pieces:
        held += piece.decode(errors="replace")
        *events, held = held.split("\n\n")
        for event in events:
            yield from _data_line(event, skips=False)


def flushing(pieces: Pieces) -> Iterator[Any]:
    """Hands on an event that the body ends within, as some clients do; the standard discards it."""
    held = b""
    for piece in pieces:
        *events, held = (held + piece).split(b"\n\n")
        for event in events:
            yield from _data_line(event.decode(), skips=False)
    yield from _data_line(held.decode(), skips=False)
