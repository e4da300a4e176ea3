"""The project's own envelope: how a gateway that speaks a protocol of its own numbers, names and ends its events.

One JSON object an event, in SSE (`data:`) or NDJSON; docs/envelope.md describes it for those who write one.

    kind          part          slot (unless `slot` says another of the same kind)
      start       other         -             stream, seq 0, model
      text        text          0/text/0
      reasoning   reasoning     0/reasoning/0
      refusal     refusal       0/refusal/0
      tool_start  tool_start    0/tool/0      delta = the tool's name
      tool_args   tool_args     0/tool/0
      usage       usage         -             input, output
      ping        ping          -
      error       error         -
      completion  finish,       0/finish/0    last, finish, checksum
                  terminal
    any other     other         -

Every event has the stream's id and the next number, `seq`, from 0; `upstream` is the id of the provider's event that it
was made from. A response is complete when the completion has come, its number and `last` are the count of the events
before it and its checksum is that of what was read: one that lost, doubled or moved an event is not. What an event says
never depends on those before it, so that a loss shows once.

Not understood (`other`): kinds that are not listed, so that a later one disturbs no reader; which kind may follow which
is judged by the envelope's reader (streamwitness.envelope), not here.
"""

from __future__ import annotations

import re
import zlib
from typing import ClassVar, Final, NamedTuple

import msgspec

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, FINISH_REASONS, PART, TERMINAL, USAGE

from .base import MAX_TRACKED, JsonProfile, count, label, line_of, piece, reading
from .numbers import Numbers
from .objects import utf8
from .shapes import Shape

CONTENT: Final = {
    "text": "text",
    "reasoning": "reasoning",
    "refusal": "refusal",
    "tool_start": "tool",
    "tool_args": "tool",
}
"""Kind of an event with a delta → kind in its slot."""

_ANY: Final = ("text", "reasoning", "refusal", "tool_start", "error", "completion")
TRANSITIONS: Final[dict[str, tuple[str, ...]]] = {
    "": ("start",),
    "start": _ANY,
    "text": _ANY,
    "reasoning": _ANY,
    "refusal": _ANY,
    "tool_start": ("tool_args", *_ANY),
    "tool_args": ("tool_args", *_ANY),
    "error": (),
    "completion": (),
}
"""What may follow which kind ("" = nothing yet), in each choice by itself; start, error, completion are all choices'.

`usage` and `ping` may stand anywhere between start and end, and change nothing.
"""
ASIDE: Final = ("usage", "ping")
KINDS: Final = (*(kind for kind in TRANSITIONS if kind), *ASIDE)

_SLOT: Final = re.compile(r"(0|[1-9]\d{0,3})/(text|reasoning|refusal|tool)/(0|[1-9]\d{0,3})")


class Event(msgspec.Struct, gc=False, omit_defaults=True):
    """One event of the envelope, in the order in which fields are written."""

    stream: str | None = None
    seq: int | None = None
    kind: str | None = None
    slot: str | None = None
    delta: str | None = None
    upstream: str | None = None
    model: str | None = None
    input: int | None = None
    output: int | None = None
    message: str | None = None
    last: int | None = None
    finish: str | None = None
    checksum: str | None = None


SHAPE: Final = Shape(Event)


class Delta(NamedTuple):
    """A piece of an answer: its kind, its text, the slot (`choice/kind/ordinal`) and the provider's event id."""

    kind: str
    text: str
    slot: str = ""
    upstream: str = ""


class Checksum:
    """CRC-32 (zlib's) of the UTF-8 of every delta of a kind with content, in order; eight hex digits."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value = 0

    def add(self, event: Event) -> None:
        """Take the delta of an event into account."""
        if event.kind in CONTENT and event.delta:
            self._value = zlib.crc32(utf8(event.delta), self._value)

    def __str__(self) -> str:
        return f"{self._value:08x}"


class Grammar:
    """Follows TRANSITIONS through one stream."""

    __slots__ = ("_choices", "_common")

    def __init__(self) -> None:
        self._common = ""
        self._choices: dict[str, str] = {}

    def step(self, event: Event) -> str:
        """Take an event; gives the kind after which it must not stand ("none" at the start), or "" where it may."""
        kind = event.kind or ""
        if kind not in KINDS:
            return ""
        choice = slot_of(event).partition("/")[0]
        known = self._choices.get(choice, self._common)
        after = known if kind in CONTENT else self._common
        if kind in ASIDE:
            return "" if TRANSITIONS[after] and after else after or "none"
        if kind not in TRANSITIONS[after]:
            return after or "none"
        if kind not in CONTENT:
            self._common = kind
            self._choices.clear()
        elif choice in self._choices or len(self._choices) < MAX_TRACKED:
            self._choices[choice] = kind
        return ""


def slot_of(event: Event) -> str:
    """The canonical slot of an event with content: what it says, where that is one of its kind, else the first."""
    kind = CONTENT.get(event.kind or "")
    if kind is None:
        return ""
    found = _SLOT.fullmatch(event.slot) if event.slot else None
    return found[0] if found is not None and found[2] == kind else f"0/{kind}/0"


class Envelope(JsonProfile[Event]):
    """Reads one stream of the envelope at one point."""

    name: ClassVar[str] = "envelope"
    provider: ClassVar[str] = "streamwitness"
    shape: ClassVar[Shape[Event]] = SHAPE
    numbered: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._numbers = self.numbers = Numbers()
        self._expected = 0
        self._whole = True
        self._completed = False
        self._checksum = Checksum()

    @property
    def complete(self) -> bool:
        """Every event up to the completion has come once and in order, with the text that the completion tells."""
        return self._completed and self._whole and not self.failed

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By its first event, which says `start` and number 0."""
        known = line_of(first)
        return known is not None and (known.get("kind"), known.get("seq")) == ("start", 0) and "stream" in known

    def read_object(self, obj: object) -> Reading:
        """As for any profile; also what the envelope's own reader hands on."""
        if not isinstance(obj, Delta):
            return super().read_object(obj)
        self.sequence = None
        self._whole = False  # numbers, and the end, are what its reader keeps to itself
        return self._said(Event(kind=obj.kind, slot=obj.slot, delta=obj.text))

    def _event(self, event: Event) -> Reading:
        self._note(event)
        return self._said(event)

    def _said(self, event: Event) -> Reading:
        parts, pieces = 0, list[Piece]()
        kind = event.kind or ""
        if kind in CONTENT and event.delta:
            parts = PART[kind]
            pieces.append(piece(slot_of(event), kind, event.delta))
        elif kind in ("ping", "tool_start"):
            parts = PART[kind]
        elif kind == "usage":
            self.usage, parts = (count(event.input), count(event.output)), USAGE
        elif kind == "error":
            self.failed, parts = True, ERROR
        elif kind == "completion":
            parts = self._completion(event, pieces)
        return reading(parts, pieces)

    def _note(self, event: Event) -> None:
        """What is known of the stream as a whole."""
        self.sequence = count(event.seq)
        self._numbers.note(self.sequence, self._at)
        self._whole = self._whole and not self._completed and event.seq == self._expected
        self._expected += 1
        self._checksum.add(event)
        if self.response_id is None:
            self.response_id = label(event.stream)
        if self.model is None:
            self.model = label(event.model)

    def _completion(self, event: Event, pieces: list[Piece]) -> int:
        self._completed = True
        told = (event.last, event.checksum) == (event.seq, str(self._checksum))
        self._whole = self._whole and told
        if event.finish is None:
            return TERMINAL
        return TERMINAL | self._finish(0, event.finish if event.finish in FINISH_REASONS else "other", pieces)
