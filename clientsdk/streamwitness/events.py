"""What framing and profiles hand to a recorder: frames, and what a frame says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .semconv import PART


class Frame(NamedTuple):
    """One event as the framing cut it out of the body.

    `name` is the SSE event name (empty where none was sent), `data` the raw data field (lines joined by LF),
    `size` the bytes it took on the wire, line ends and blank line included. `fault` is "oversize" or "malformed" (a
    checksum that does not match) for a frame that was found and cannot be read: it carries neither name nor data.
    `id` is the last event id when it was dispatched (SSE; else empty).
    """

    name: bytes
    data: bytes
    size: int
    fault: str = ""
    id: bytes = b""


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


def mask_of(parts: Iterable[str]) -> int:
    """The parts mask of these names (semconv.PARTS). Raises ValueError that lists the known ones."""
    names = set(parts)
    if unknown := sorted(names - PART.keys()):
        raise ValueError(f"unknown part {unknown[0]!r}; known: {', '.join(PART)}")
    return sum(PART[name] for name in names)
