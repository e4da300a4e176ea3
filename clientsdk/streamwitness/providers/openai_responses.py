"""OpenAI Responses, as OpenAI, Azure and those that imitate them stream it: `event:` and one flat JSON object.

    type                                             part                  slot
      response.output_item.added: message            role                  -
        … function_call, custom_tool_call            tool_start            0/tool/n, n = order of appearance
      response.output_text.delta                     text                  0/text/0
      response.refusal.delta                         refusal               0/refusal/0
      response.reasoning_text.delta                  reasoning             0/reasoning/0
      response.reasoning_summary_text.delta          reasoning             0/reasoning/0
      response.function_call_arguments.delta         tool_args             0/tool/n
      response.custom_tool_call_input.delta          tool_args             0/tool/n
      response.….done of these, of items and parts   snapshot              -
      response.completed, .incomplete                finish, usage         0/finish/0
                                                     terminal              -
      response.failed, .cancelled                    the same and error    0/finish/0
      error, or a field `error`                      error                 -
      keepalive                                      ping                  -
      anything else                                  other                 -

Complete when `response.completed` or `response.incomplete` was there and no error. Text of all items and content parts
is one slot, as it is one string in Chat Completions. What was told with `…added` (`part.text`, `item.arguments`, empty
at OpenAI) counts like a delta, because the SDK adds it up like one. A snapshot repeats what was told, so that it is no
content; but where it differs from the deltas before it, `snapshot_mismatches` counts it: a loss at the source.
`[DONE]`, which some proxies append, is `other`: the end was there before, and readers keep it to themselves. Content
that a proxy sends in snapshots only is not told at all. `keepalive` is not documented (openai/openai-node#1964).

Every event is numbered (`sequence_number`); some proxies leave holes or send 0 throughout.

Not understood (`other`): what the server's own tools say (web and file search, code interpreter, MCP, image generation,
hosted shell), audio, annotations, compaction, steering. They are the provider's doings, not output for the caller.
Source: the event types of the `openai` package, 3.57 (openai/types/responses).
"""

from __future__ import annotations

import zlib
from typing import Any, ClassVar, Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import (
    ERROR,
    OTHER,
    PING,
    REASONING,
    REFUSAL,
    ROLE,
    SNAPSHOT,
    TERMINAL,
    TEXT,
    TOOL_ARGS,
    TOOL_START,
    USAGE,
)

from .base import MAX_TRACKED, JsonProfile, count, label, line_of, reading
from .contradictions import Contradictions
from .numbers import Numbers
from .objects import SENTINEL, utf8
from .openai_responses_event import EVENT, Event, Item, Part, Response
from .shapes import Shape
from .snapshots import MAX_KEPT, Kept

DELTAS: Final = {
    "response.output_text.delta": ("0/text/0", "text", TEXT),
    "response.refusal.delta": ("0/refusal/0", "refusal", REFUSAL),
    "response.reasoning_text.delta": ("0/reasoning/0", "reasoning", REASONING),
    "response.reasoning_summary_text.delta": ("0/reasoning/0", "reasoning", REASONING),
}
"""Type → slot, part and its bit."""

TOOL_DELTAS: Final = frozenset(("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"))

CALLS: Final = frozenset(("function_call", "custom_tool_call"))
"""Items that ask the caller to run a tool."""

SNAPSHOTS: Final = {
    "response.output_text.done": "text",
    "response.refusal.done": "refusal",
    "response.reasoning_text.done": "text",
    "response.reasoning_summary_text.done": "text",
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
    "response.content_part.done": "",
    "response.reasoning_summary_part.done": "",
    "response.reasoning_part.done": "",
    "response.output_item.done": "",
}
"""Type → the field that repeats the deltas of the same place; "" where the same was compared before."""

PARTS_ADDED: Final = frozenset(
    (
        "response.content_part.added",
        "response.reasoning_part.added",  # so called by servers of open models
        "response.reasoning_summary_part.added",
    )
)
"""Announcements of a part; its text, where there is any, is the first delta."""

ENDS: Final = {
    "response.completed": "stop",
    "response.incomplete": "other",
    "response.failed": "error",
    "response.cancelled": "error",
}
"""Type → canonical finish, where nothing makes it another one."""

INCOMPLETE: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""`incomplete_details.reason` → canonical finish; others (`max_messages`, `steered`) are `other`."""

_BEGIN: Final = "response.created"
_OTHER: Final = Reading(OTHER)
_NOTHING: Final = (0, 0)
"""Size and checksum of no content."""
_new: Final = tuple.__new__
"""Makes a Piece or a Reading in half the time of its constructor."""
_Place = tuple[str, int, int]
"""Type without its last word, output index, content or summary index."""


class OpenAIResponses(JsonProfile[Event]):
    """Reads one Responses stream at one point."""

    name: ClassVar[str] = "openai_responses"
    provider: ClassVar[str] = "openai"
    shape: ClassVar[Shape[Any]] = EVENT
    numbered: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.snapshot_mismatches = 0
        """Snapshots that are not what the deltas before them add up to; only judged where the start was seen."""
        self.grammar_breaks = 0
        """Arguments for a call that was never announced."""
        self._ended = False
        self._whole = False
        self._calls: dict[int, str] = {}
        self._called_for = 0
        self._sums: dict[_Place, tuple[int, int]] = {}
        self._numbers = self.numbers = Numbers()
        self._items: set[int] = set()  # places in the output of which an item was announced
        self._came = ""  # how the number of this event came
        self._announced: dict[_Place, int] = {}  # parts that were announced, and by which number
        self._kept: dict[_Place, Kept] = {}  # deltas behind the first odd number
        self._kept_bytes = 0
        self._lost: set[int] = set()  # missing numbers that a snapshot confirms
        self._contradictions = Contradictions()

    @property
    def complete(self) -> bool:
        """`response.completed` or `response.incomplete`, and no error."""
        return self._ended and not self.failed

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What snapshots confirm of the numbers, and arguments for calls that were never announced."""
        numbers = self._numbers
        return self._contradictions.told(gap=numbers.holes, duplicate=numbers.again, reorder=numbers.late)

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event; the name only tells an error whose data is not JSON."""
        return self._or_error(name, super().read(name, data))

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path; else (a response that is fetched again by its id) by a first event `response.…`."""
        if path.endswith(("/v1/responses", "/openai/responses")):
            return True
        kind = (line_of(first) or {}).get("type")
        return isinstance(kind, str) and kind.startswith("response.")

    def _read_odd(self, data: bytes) -> Reading:
        return _OTHER if data.lstrip().startswith(SENTINEL) else super()._read_odd(data)

    def _event(self, event: Event) -> Reading:
        number = event.sequence_number
        self.sequence = number = count(number)
        self._came = self._numbers.note(number, self._at)
        kind = event.type or ""
        if (delta := DELTAS.get(kind)) is not None:
            return self._delta(event, delta)
        if kind in TOOL_DELTAS:
            return self._delta(event, (self._called(event), "tool_args", TOOL_ARGS))
        if (field := SNAPSHOTS.get(kind)) is not None:
            return self._snapshot(event, field)
        pieces: list[Piece] = []
        parts = self._rest(kind, event, pieces)
        if event.error or kind == "error":
            self.failed, parts = True, parts | ERROR
        return reading(parts, pieces)

    def _delta(self, event: Event, to: tuple[str, str, int]) -> Reading:
        if not event.delta:
            return _OTHER
        slot, part, bit = to
        content = utf8(event.delta)
        self._add(event.type, event, content)
        return _new(Reading, (bit, (_new(Piece, (slot, part, content, "")),)))

    def _rest(self, kind: str, event: Event, pieces: list[Piece]) -> int:
        """Events that begin or end something."""
        if event.response is not None:
            self._known(kind, event.response)
            return self._end(kind, event.response, pieces) if kind in ENDS else 0
        if kind == "response.output_item.added" and event.item is not None:
            return self._item(event, event.item, pieces)
        if kind in PARTS_ADDED and event.part is not None:
            return self._part(kind, event, event.part, pieces)
        if kind == "keepalive":
            return PING
        return self._end(kind, Response(), pieces) if kind in ENDS else 0

    def _known(self, kind: str, response: Response) -> None:
        self._whole = self._whole or kind == _BEGIN
        self.response_id = self.response_id or label(response.id)
        self.model = self.model or label(response.model)

    def _item(self, event: Event, item: Item, pieces: list[Piece]) -> int:
        if len(self._items) < MAX_TRACKED:
            self._items.add(event.output_index or 0)
        if item.type not in CALLS:
            return ROLE if item.role else 0
        slot, parts = self._call(event.output_index or 0), TOOL_START
        self._announce("response.function_call_arguments.delta", event)
        if item.name:
            pieces.append(Piece(slot, "tool_start", utf8(item.name)))
        if told := item.arguments or item.input:
            kind = "function_call_arguments" if item.arguments else "custom_tool_call_input"
            parts |= self._told(f"response.{kind}.delta", event, told, (slot, "tool_args", TOOL_ARGS), pieces)
        return parts

    def _part(self, kind: str, event: Event, part: Part, pieces: list[Piece]) -> int:
        summary = kind.startswith("response.reasoning_summary")
        delta = f"response.{'reasoning_summary_text' if summary else part.type}.delta"
        self._announce(delta, event)
        told = part.refusal if part.type == "refusal" else part.text
        if delta not in DELTAS or not told:
            return 0
        return self._told(delta, event, told, DELTAS[delta], pieces)

    def _told(self, kind: str, event: Event, told: str, to: tuple[str, str, int], pieces: list[Piece]) -> int:
        """Content that came with the announcement: as if the first delta of its place."""
        slot, part, bit = to
        content = utf8(told)
        self._add(kind, event, content)
        pieces.append(Piece(slot, part, content))
        return bit

    def _end(self, kind: str, response: Response, pieces: list[Piece]) -> int:
        finish = ENDS[kind]
        if kind == "response.incomplete" and response.incomplete_details is not None:
            finish = INCOMPLETE.get(response.incomplete_details.reason or "", finish)
        elif finish == "stop" and self._asks(response):
            finish = "tool_calls"
        self._ended = True
        parts = TERMINAL | self._finish(0, finish, pieces)
        if finish == "error":
            self.failed, parts = True, parts | ERROR
        if response.usage is not None:
            self.usage, parts = (count(response.usage.input_tokens), count(response.usage.output_tokens)), parts | USAGE
        return parts

    def _asks(self, response: Response) -> bool:
        """Whether the caller is to run a tool: by the output that the event repeats, without one by what was seen."""
        return any(item.type in CALLS for item in response.output) if response.output else bool(self._calls)

    def _announce(self, kind: str, event: Event) -> None:
        """Note by which number a place was begun: numbers before it cannot be missing in it."""
        if self.sequence is not None and len(self._announced) < MAX_TRACKED:
            self._announced.setdefault(_place(kind, event), self.sequence)

    def _call(self, index: int) -> str:
        """Slot of a new call."""
        slot = f"0/tool/{self._called_for}"
        if self._called_for < MAX_TRACKED:
            self._called_for += 1
            self._calls[index] = slot
        return slot

    def _called(self, event: Event) -> str:
        """Slot of a call that is known by its place in the output."""
        index = event.output_index or 0
        slot = self._calls.get(index)
        if slot is None:
            if index not in self._items and self._called_for < MAX_TRACKED:
                self._unannounced(event)
            slot = self._call(index)
        return slot

    def _unannounced(self, event: Event) -> None:
        """Arguments of a call that no item began: a fault where others are announced, or its number is missing."""
        self.grammar_breaks += 1
        behind_a_hole = self.sequence is not None and self.sequence - 1 in self._numbers.missing
        if self._whole and event.delta and (self._items or behind_a_hole):
            self._contradictions.note("malformed", (1, self._at(), self._at()))

    def _add(self, kind: str | None, event: Event, content: bytes) -> None:
        """Note a delta, to be compared with the snapshot of the same place."""
        place = _place(kind, event)
        size, check = self._sums.get(place, _NOTHING)
        if self._numbers.odd:
            self._keep(place, size, check, content)
        self._sums[place] = size + len(content), zlib.crc32(content, check)
        if len(self._sums) > MAX_TRACKED:
            self._whole = False
            self._sums.clear()

    def _keep(self, place: _Place, size: int, check: int, content: bytes) -> None:
        """Keep a delta that comes behind an odd number; beyond some bytes of them nothing is explained any more."""
        number, kept = self.sequence, self._kept.get(place)
        self._kept_bytes += len(content)
        if number is None or self._kept_bytes > MAX_KEPT or len(self._kept) > MAX_TRACKED:
            self._kept_bytes = MAX_KEPT
            self._kept.clear()
            return
        if kept is None:
            known = self._announced.get(place, self._numbers.trusted if size else number - 1)
            begins = max(known, self._numbers.trusted) if size or place in self._announced else known
            kept = self._kept[place] = Kept(size, check, begins)
        kept.add(number, content, self._came, self._at())

    def _explain(self, place: _Place, told: tuple[int, int], content: bytes) -> None:
        """Note what a snapshot that differs from its deltas confirms of the numbers."""
        numbers, end = self._numbers, self.sequence
        kept = self._kept.pop(place, None) or Kept(*told, numbers.trusted)
        if end is None or not numbers.known or self._kept_bytes >= MAX_KEPT:
            return
        for kind, found in kept.explained(content, numbers.missing, end).items():
            fresh = [n for n in found if n not in self._lost] if kind == "gap" else found
            places = [numbers.missing[n] for n in fresh] if kind == "gap" else fresh
            self._lost.update(fresh if kind == "gap" else ())
            if places:
                self._contradictions.note(kind, (len(places), min(places), max(places)))

    def _snapshot(self, event: Event, field: str) -> Reading:
        text: str | None = getattr(event, field) if field else None
        if text is not None and self._whole:
            self._compare(_place(event.type, event), utf8(text))
        return Reading(SNAPSHOT | (ERROR if event.error else 0))

    def _compare(self, place: _Place, content: bytes) -> None:
        """Count a snapshot that differs from its deltas, unless they may stand at a place that is told otherwise."""
        told = self._sums.pop(place, None)
        if told is None and any(kind == place[0] for kind, _, _ in self._sums):
            return
        if (told or _NOTHING) != (len(content), zlib.crc32(content)):
            self.snapshot_mismatches += 1
            if told is not None and self._numbers.odd:
                self._explain(place, told, content)


def _place(kind: str | None, event: Event) -> _Place:
    """Where a delta or a snapshot belongs; some servers leave out an index that is 0."""
    within = event.summary_index if event.content_index is None else event.content_index
    return (kind or "").rpartition(".")[0], event.output_index or 0, within or 0
