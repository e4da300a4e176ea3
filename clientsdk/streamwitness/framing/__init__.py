"""Bytes of a body → frames, sans-IO: how the pieces were cut never shows in what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from streamwitness.events import Frame

from .announced import framing_of, media_type
from .eventstream import EventStreamFramer
from .json_array import JSONArrayFramer
from .ndjson import NDJSONFramer
from .sse import SSEFramer

__all__ = [
    "EventStreamFramer",
    "FRAMINGS",
    "Framer",
    "JSONArrayFramer",
    "NDJSONFramer",
    "SSEFramer",
    "framing_of",
    "media_type",
]


class Framer(Protocol):
    """Cuts one body into frames; one instance a body, not thread-safe; never raises, whatever the bytes are.

    A frame that exceeds the limit comes out as one with the fault `oversize`, its rest is skipped, and the next one is
    read normally. Time is linear in the bytes, memory a small multiple of the limit.
    """

    @property
    def comments(self) -> int:
        """Comments seen so far: they carry nothing, but show that the peer lives."""

    @property
    def wrong(self) -> str:
        """What the body turned out to be where it is not framed as announced: one of semconv.MISFRAMINGS, or ""."""

    @property
    def rest(self) -> Frame | None:
        """After the end: what some readers take for a last event, though it was never closed; else None."""

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """The frames that end in this piece. What is needed of the piece is copied, never the piece kept."""

    def finish(self) -> tuple[list[Frame], int]:
        """The body has ended: frames that only the end completes, and the bytes of one that never was complete."""


FRAMINGS: Final[dict[str, Callable[[], Framer]]] = {
    "sse": SSEFramer,
    "ndjson": NDJSONFramer,
    "json_array": JSONArrayFramer,
    "eventstream": EventStreamFramer,
}
"""Name (semconv.FRAMINGS) → framer."""
