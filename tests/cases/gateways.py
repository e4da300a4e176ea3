"""Gateways that the reports are about: the reads of their upstream → the pieces that they sent on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Reads = list[bytes]
Gateway = Callable[[Reads], Reads]


def events(reads: Reads) -> Reads:
    """The body cut at blank lines, each with its own; a rest without one stays a piece of its own."""
    *whole, rest = b"".join(reads).split(b"\n\n")
    return [event + b"\n\n" for event in whole] + ([rest] if rest else [])


def pass_on(reads: Reads) -> Reads:
    """The gateway that does what it should."""
    return reads


def at_once(reads: Reads) -> Reads:
    """Holds everything until the end (a buffering proxy, a compressor that is not flushed)."""
    return [b"".join(reads)]


def nothing(_: Reads) -> Reads:
    """Never drives the body."""
    return []


def rewrap_comments(reads: Reads) -> Reads:
    """Takes every block for data: a keep-alive comment becomes an event."""
    return [b"data: " + event if event.startswith(b":") else event for event in events(reads)]


def drop_what_repeats(reads: Reads) -> Reads:
    """Drops a piece that equals, or begins, the one before: "a replay", it thinks."""
    out, last = [], None
    for event in events(reads):
        content = _content(event)
        if content and last is not None and last.startswith(content):
            continue
        last = content or last
        out.append(event)
    return out


def close_at_read(reads: Reads) -> Reads:
    """Closes an event wherever a read ends."""
    return [read if read.endswith(b"\n\n") else read + b"\n\n" for read in reads]


def decode_each_read(reads: Reads) -> Reads:
    """Decodes each read by itself: a character that was cut turns into two that nobody wrote."""
    return [read.decode(errors="replace").encode() for read in reads]


def error_into_the_open_event(reads: Reads) -> Reads:
    """Writes its own error without closing the event that its upstream broke off in."""
    error = b'\ndata: {"type":"error","sequence_number":0,"error":{"message":"stream_read_error"}}\n\n'
    return [*reads, error]


def write_done(reads: Reads) -> Reads:
    """Its own time is up; its stream helper ends every body with a clean terminator."""
    return [*reads, b"data: [DONE]\n\n"]


def write_finish_and_done(reads: Reads) -> Reads:
    """The same with a finish before it, so that nobody notices."""
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    finish = {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}
    return [*reads, b"data: " + json.dumps(finish).encode() + b"\n\n", b"data: [DONE]\n\n"]


def without(n: int) -> Gateway:
    """Loses the n-th event."""
    return lambda reads: [event for i, event in enumerate(events(reads)) if i != n]


def _content(event: bytes) -> str:
    try:
        chunk: Any = json.loads(event.removeprefix(b"data: "))
    except ValueError:
        return ""
    return str(chunk["choices"][0]["delta"].get("content") or "") if chunk["choices"] else ""
