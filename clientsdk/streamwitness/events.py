"""What framing and profiles hand to a recorder: frames, and what a frame says."""

from __future__ import annotations

from typing import NamedTuple


class Frame(NamedTuple):
    """One event as the framing cut it out of the body.

    `name` is the SSE event name (empty where none was sent), `data` the raw data field (lines joined by LF),
    `size` the bytes it took on the wire, line ends and blank line included. `oversize` frames carry no data.
    """

    name: bytes
    data: bytes
    size: int
    oversize: bool = False


class Piece(NamedTuple):
    """Decoded model output (or a finish) for one slot.

    `slot` is canonical, `choice/kind/ordinal`, so that Anthropic's block 1 and OpenAI's tool call 0 are the same
    slot; `part` a name of semconv.PARTS; `content` UTF-8 bytes; `finish` a canonical finish reason or "".
    """

    slot: str
    part: str
    content: bytes
    finish: str = ""


class Reading(NamedTuple):
    """What a profile understood of one event: the parts mask and the pieces with content or a finish."""

    parts: int
    pieces: tuple[Piece, ...] = ()
