"""Numbers in the events that leave a gateway: read here, written by the rewriter of `gateway/stamp.py`.

    id: 3f9a1c07.12                                 stamp `id`: the SSE field, just before the event's first data line
    data: {"_stream":"3f9a1c07","_seq":12,"a":1}    stamp `field`: first in the JSON object (NDJSON lines, too)

The tag is the first 8 hex digits of the exchange, which all exchanges of a stream have in common; the number counts the
events of the stream as they left, from 0, on through its exchanges.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from .events import Frame
from .semconv import MISSING, TAG_DIGITS, Stamp

StampReader = Callable[[Frame], tuple[int, bytes]]
"""A frame's number (MISSING where it has none, ANOTHERS where it bears another stream's) and its data without it."""

ANOTHERS: Final = MISSING - 1
"""In place of a number: it is another stream's. No number is as high, so that it never stands in a row."""

_NUMBER: Final = rb"(0|[1-9][0-9]{0,8})"
_FIELD: Final = re.compile(rb'\{"_stream":"([0-9a-f]{8})","_seq":' + _NUMBER + rb"(?:,|(?=\}))")
_ID: Final = re.compile(rb"([0-9a-f]{8})\." + _NUMBER + rb"\Z")


def tag_of(exchange: str) -> str:
    """What stands for an exchange (16 hex digits) in the stamps of its events."""
    return exchange[:TAG_DIGITS]


def stamp_reader(exchange: str, kind: Stamp) -> StampReader | None:
    """How an observer of this exchange's body reads stamps of this kind; None where there are none.

    A frame that could not be read, or whose stamp is malformed or another stream's, has no number; its data stays as
    it is.
    """
    tag = tag_of(exchange).encode("ascii")
    return {"id": _by_id, "field": _by_field}[kind](tag) if kind != "none" else None


def _by_id(tag: bytes) -> StampReader:
    def read(frame: Frame) -> tuple[int, bytes]:
        match = _ID.match(frame.id) if not frame.fault else None
        if match is None or match[1] != tag:
            return MISSING if match is None else ANOTHERS, frame.data
        return int(match[2]), frame.data

    return read


def _by_field(tag: bytes) -> StampReader:
    def read(frame: Frame) -> tuple[int, bytes]:
        match = _FIELD.match(frame.data)
        if match is None or match[1] != tag:
            return MISSING if match is None else ANOTHERS, frame.data
        return int(match[2]), b"{" + frame.data[match.end() :]

    return read
