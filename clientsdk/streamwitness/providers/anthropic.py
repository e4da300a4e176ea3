"""Anthropic Messages, from Anthropic, Vertex and those that imitate it: `event:` and one JSON object with a `type`.

    type                                        part                    slot
      message_start                             role, usage             -
      content_block_start: tool_use             tool_start              0/tool/n, n = order of appearance
        … its input, where it is not empty      tool_args               0/tool/n
        … text, thinking, where not empty       as their deltas
      content_block_stop of a tool_use that     tool_args `{}`          0/tool/n
        was given no input
      content_block_delta: text_delta           text                    0/text/0
        … thinking_delta                        reasoning               0/reasoning/0
        … input_json_delta                      tool_args               0/tool/n
      message_delta: stop_reason                finish                  0/finish/0
        … usage                                 usage                   -
      message_stop                              terminal                -
      ping (its data may be empty)              ping                    -
      error                                     error                   -
      anything else                             other                   -

Complete when a stop reason was there, `message_stop`, the `content_block_stop` of every block that was started, and no
error. An error (`overloaded_error`) comes in a stream with status 200, also as its first event, and ends it.

Text of all blocks is one slot, as it is one string in Chat Completions: an answer with citations has dozens of blocks.
A tool's input starts as `{}` and then comes in pieces of JSON; some proxies send all of it at the start, which counts
in canonical JSON. Usage is cumulative: each number stands until it is sent again. Input tokens are those read from and
written to the cache as well, as everybody else counts them.

A delta for a block that is not open is read by its own type, and `grammar_breaks` counts it.

Not understood (`other`): what the server's own tools say (`server_tool_use`, `mcp_tool_use`, their input and results),
citations, signatures, redacted thinking, compaction, fallback. The events that the SDK's `.stream()` adds (`text`,
`thinking`, `input_json`, `citation`, `signature`) repeat provider events that it hands on as well: they are `other`,
too, and its snapshots in `content_block_stop` and `message_stop` are not looked at.
Source: the event types of the `anthropic` package, 2.14 (anthropic/types/raw_*, types/beta).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import (
    ERROR,
    OTHER,
    PING,
    REASONING,
    ROLE,
    TERMINAL,
    TEXT,
    TOOL_ARGS,
    TOOL_START,
    USAGE,
)

from .anthropic_event import EVENT, Block, Delta, Event, Message, Usage
from .base import MAX_TRACKED, JsonProfile, count, label, line_of, reading
from .contradictions import Astray
from .objects import canonical, utf8
from .shapes import Shape

FINISHES: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}
"""`stop_reason` → canonical; `pause_turn`, `compaction` and any other are `other`."""

DELTAS: Final = {
    "text_delta": ("text", "text", TEXT),
    "thinking_delta": ("thinking", "reasoning", REASONING),
    "input_json_delta": ("tool", "tool_args", TOOL_ARGS),
}
"""Type of a delta → kind of block that it is for, part and its bit."""

KINDS: Final = {"text": "text", "thinking": "thinking", "tool_use": "tool"}
"""Type of a block → kind; all others are the server's, and silent."""

_SLOTS: Final = {"text": "0/text/0", "thinking": "0/reasoning/0", "server": ""}
_PING: Final = Reading(PING)
_OTHER: Final = Reading(OTHER)
_new: Final = tuple.__new__
"""Makes a Piece or a Reading in half the time of its constructor."""


class Anthropic(JsonProfile[Event]):
    """Reads one Messages stream at one point."""

    name: ClassVar[str] = "anthropic"
    provider: ClassVar[str] = "anthropic"
    shape: ClassVar[Shape[Any]] = EVENT

    def __init__(self) -> None:
        super().__init__()
        self.grammar_breaks = 0
        """Deltas and stops of a block that is not open, or of another kind; starts of one that is."""
        self._stopped = self._begun = False
        self._astray = Astray()
        self._blocks: dict[int | None, tuple[str, str]] = {}
        self._hollow: set[int | None] = set()  # tool calls that no input has come for yet
        self._tools = 0
        self._overflow = False
        self._tokens = Usage()

    @property
    def complete(self) -> bool:
        """Stop reason, `message_stop`, no block left open, no error."""
        done = self._stopped and bool(self._finishes) and not self._blocks
        return done and not self.failed and not self._overflow

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Output for blocks that end and were never begun; only judged where the message's start was seen."""
        return self._astray.broken.told() if self._begun and not self._overflow else ()

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event; the name tells a ping without data, and an error whose data is not JSON."""
        if name == b"ping":
            return _PING
        return self._or_error(name, super().read(name, data))

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path (Vertex: the publisher's models); else by a first event `message_start`."""
        known = line_of(first)
        if path.endswith("/v1/messages"):  # other services have such a path, too
            return known is None or "type" in known or "error" in known
        if path.endswith(":streamRawPredict") and "/publishers/anthropic/" in path:
            return True
        return known is not None and known.get("type") == "message_start" and isinstance(known.get("message"), dict)

    def _event(self, event: Event) -> Reading:
        kind = event.type
        if kind == "content_block_delta":
            return self._delta(event.index, event.delta or Delta())
        pieces: list[Piece] = []
        handle = _HANDLERS.get(kind or "")
        parts = 0 if handle is None else handle(self, event, pieces)
        if event.error or kind == "error":
            self.failed, parts = True, parts | ERROR
        return reading(parts, pieces)

    def _delta(self, index: int | None, delta: Delta) -> Reading:
        to = DELTAS.get(delta.type or "")
        block = self._blocks.get(index)
        if block is None:
            self._breaks()
        if to is None:
            return _OTHER
        kind, part, bit = to
        text = delta.text if kind == "text" else delta.thinking if kind == "thinking" else delta.partial_json
        if block is None or (block[0] != kind and block[0] != "server"):
            if block is None and text:
                self._astray.says(index, self._at())
            elif block is not None:
                self._breaks()
            block = self._open(index, kind) if kind == "tool" else (kind, _SLOTS[kind])
        if not text or not block[1]:
            return _OTHER
        if kind == "tool":
            self._hollow.discard(index)
        return _new(Reading, (bit, (_new(Piece, (block[1], part, utf8(text), "")),)))

    def _breaks(self) -> None:
        """An event stands where it must not; with more blocks than are told apart, nothing is known of that."""
        self.grammar_breaks += not self._overflow

    def _open(self, index: int | None, kind: str) -> tuple[str, str]:
        """A new block: its kind, and the slot of what it says ("" for nothing)."""
        slot = _SLOTS.get(kind) if kind != "tool" else f"0/tool/{self._tools}"
        if kind == "tool":
            self._tools = min(self._tools + 1, MAX_TRACKED)
        block = (kind, slot or "")
        if len(self._blocks) < MAX_TRACKED:
            self._blocks[index] = block
        else:
            self._overflow = True
        return block

    def _message_start(self, event: Event, pieces: list[Piece]) -> int:
        self._begun = True
        message = event.message or Message()
        self.model = self.model or label(message.model)
        self.response_id = self.response_id or label(message.id)
        return (ROLE if message.role else 0) | self._count(message.usage)

    def _block_start(self, event: Event, pieces: list[Piece]) -> int:
        block = event.content_block or Block()
        if event.index in self._blocks:
            self._breaks()
        self._astray.begins(event.index)
        kind, slot = self._open(event.index, KINDS.get(block.type or "", "server"))
        if kind == "tool":
            self._note_hollow(event.index, block)
            return _tool(slot, block, pieces)
        told = block.text if kind == "text" else block.thinking if kind == "thinking" else None
        if not told:
            return 0
        part, bit = ("text", TEXT) if kind == "text" else ("reasoning", REASONING)
        pieces.append(Piece(slot, part, utf8(told)))
        return bit

    def _block_stop(self, event: Event, pieces: list[Piece]) -> int:
        block = self._blocks.pop(event.index, None)
        self._astray.ends(event.index)
        if block is None:
            self._breaks()
        if block is None or event.index not in self._hollow:
            return OTHER
        # Every other API writes the arguments of a call without any as `{}`.
        self._hollow.discard(event.index)
        pieces.append(Piece(block[1], "tool_args", b"{}"))
        return TOOL_ARGS | OTHER  # it does not say so itself

    def _note_hollow(self, index: int | None, block: Block) -> None:
        if block.input or len(self._hollow) >= MAX_TRACKED:
            self._hollow.discard(index)
        else:
            self._hollow.add(index)

    def _message_delta(self, event: Event, pieces: list[Piece]) -> int:
        parts = self._count(event.usage)
        reason = event.delta.stop_reason if event.delta is not None else None
        if not reason:
            return parts
        finish = FINISHES.get(reason, "other")
        return parts | self._finish(0, finish, pieces)

    def _message_stop(self, event: Event, pieces: list[Piece]) -> int:
        self._stopped = True
        return TERMINAL

    def _ping(self, event: Event, pieces: list[Piece]) -> int:
        return PING

    def _count(self, usage: Usage | None) -> int:
        """Take over the numbers that are there."""
        if usage is None:
            return 0
        tokens = self._tokens
        for field in Usage.__struct_fields__:
            if (number := count(getattr(usage, field))) is not None:
                setattr(tokens, field, number)
        known = (tokens.input_tokens, tokens.cache_creation_input_tokens, tokens.cache_read_input_tokens)
        read = None if tokens.input_tokens is None else sum(number or 0 for number in known)
        self.usage = (count(read), tokens.output_tokens)
        return USAGE


def _tool(slot: str, block: Block, pieces: list[Piece]) -> int:
    """A tool call that starts, with its whole input where that is there."""
    if block.name:
        pieces.append(Piece(slot, "tool_start", utf8(block.name)))
    if not block.input:
        return TOOL_START
    whole = utf8(block.input) if isinstance(block.input, str) else canonical(block.input)
    pieces.append(Piece(slot, "tool_args", whole))
    return TOOL_START | TOOL_ARGS


_HANDLERS: Final = {
    "message_start": Anthropic._message_start,
    "content_block_start": Anthropic._block_start,
    "content_block_stop": Anthropic._block_stop,
    "message_delta": Anthropic._message_delta,
    "message_stop": Anthropic._message_stop,
    "ping": Anthropic._ping,
}
"""Type of an event → what reads it; deltas of blocks, nearly all events, are asked for first."""

TYPES: Final = frozenset(_HANDLERS) | {"content_block_delta", "error"}
"""All types of events."""


def is_event(known: Mapping[str, Any]) -> bool:
    """Whether these are the fields of an event."""
    kind = known.get("type")
    return isinstance(kind, str) and kind in TYPES
