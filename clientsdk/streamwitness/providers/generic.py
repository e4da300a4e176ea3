"""Anything unknown: framing only. An event is one piece of opaque content; what it means, nobody here can say.

The content of a piece is the canonical form of the data field where that is JSON (so that an application that
decodes it can be compared with the bytes on the wire), else the field itself. `[DONE]` is the terminal, and no content:
most readers keep it to themselves. Completion is unknown.

    event                              part        slot
      [DONE]                           terminal    -
      data that is not empty           other       0/other/0
      anything else                    other       -

Not understood: everything. Losses and additions of events are found; translations cannot be compared, and neither
tokens nor endings are known. A gateway that speaks a protocol of its own can use the project's envelope instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ALL_PARTS, OTHER, TERMINAL, UNKNOWN_PROVIDER

from .objects import SENTINEL, Unreadable, canonical, decode, raw_event, utf8

_SLOT: Final = "0/other/0"
_TERMINAL: Final = Reading(TERMINAL)
_EMPTY: Final = Reading(OTHER)


class Generic:
    """Reads events of a format that no other profile knows."""

    name: Final = "generic"
    provider: Final = UNKNOWN_PROVIDER
    delivers: Final = ALL_PARTS
    complete: Final = None
    finish_reasons: Final[tuple[str, ...]] = ()
    model: Final = None
    response_id: Final = None
    usage: Final = (None, None)
    numbered: Final = False
    sequence: Final = None
    snapshot_mismatches: Final = 0
    beside: Final = 0
    grammar_breaks: Final = 0
    shared_numbers: Final = 0
    contradictions: Final[tuple[str, ...]] = ()
    numbers: Final = None

    def placed(self, at: Callable[[], int]) -> None:
        """Nothing here has a place."""

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event; its name is no content, because few applications see it."""
        return _reading(_content(data))

    def read_object(self, obj: object) -> Reading:
        """Read what JSON decodes to, the raw data field, or a server-sent event object; else raises Unreadable."""
        if obj is None or isinstance(obj, (dict, list, bool, int, float)):
            return _reading(canonical(obj))
        raw = raw_event(obj)
        if raw is None:
            raise Unreadable(obj)
        return self.read(*raw)

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """Anything."""
        return True


def _reading(content: bytes) -> Reading:
    if content.startswith(SENTINEL):
        return _TERMINAL
    return Reading(OTHER, (Piece(_SLOT, "other", content),)) if content else _EMPTY


def _content(data: bytes) -> bytes:
    """The data field in canonical form.

    A JSON string is what it holds, read in the same way: an application that was handed one cannot be told from one
    that was handed the raw field. Each turn is shorter than the one before.
    """
    while True:
        try:
            value: Any = decode(data)
            if not isinstance(value, str):
                return canonical(value)
        except (ValueError, Unreadable):
            return utf8(data.decode("utf-8", "replace"))
        data = utf8(value)
