"""Bedrock's ConverseStream, and InvokeModelWithResponseStream of the models whose own format is known here.

Each message of the AWS event stream has a name (`:event-type`) and a JSON payload. What they say:

    name                                          part                 slot
      messageStart: role                          role                 -
      contentBlockStart: start.toolUse            tool_start           0/tool/n, n = order of appearance
      contentBlockDelta: delta.text               text                 0/text/0
        … delta.reasoningContent.text             reasoning            0/reasoning/0
        … delta.toolUse.input                     tool_args            0/tool/n
      contentBlockStop                            other                -
      messageStop: stopReason                     finish (also error)  0/finish/0
      metadata: usage                             usage                -
      …Exception, error                           error                -
      chunk: bytes                                as the event inside  as there
      anything else                               other                -

Complete when `messageStop` was there with a stop reason other than an error, and no exception. It is not the terminal:
`metadata` follows it, and a stream without metadata is whole all the same. Blocks of text have no start. Exceptions are
messages as well (`modelStreamErrorException`, `throttlingException`), in a response with status 200.

`chunk` wraps an event of the model's own format in base64: Anthropic's is read by that profile, Nova's is that of
ConverseStream; of other models a chunk is `other`, and completion unknown. Where an SDK has unwrapped the message
(boto3: `{"contentBlockDelta": {…}}`), the key is the name; boto3 raises exceptions.

Not understood (`other`): citations, images and results of server tools in blocks, guardrail traces, metrics.
Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html.
"""

from __future__ import annotations

import binascii
from typing import Any, ClassVar, Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, MALFORMED, OTHER, REASONING, ROLE, TEXT, TOOL_ARGS, TOOL_START, USAGE

from .anthropic import Anthropic, is_event
from .base import MAX_TRACKED, JsonProfile, count, line_of, piece, reading
from .bedrock_event import PAYLOAD, Delta, Payload, Usage
from .contradictions import Astray
from .objects import Unreadable, fields, raw_event, utf8
from .shapes import Shape

FINISHES: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
"""`stopReason` → canonical; any other is `other`."""

_PATHS: Final = ("/converse-stream", "/invoke-with-response-stream")
_ERROR: Final = Reading(ERROR)
_MALFORMED: Final = Reading(MALFORMED)
_OTHER: Final = Reading(OTHER)


class Bedrock(JsonProfile[Payload]):
    """Reads one ConverseStream or InvokeModelWithResponseStream response at one point."""

    name: ClassVar[str] = "bedrock"
    provider: ClassVar[str] = "aws.bedrock"
    shape: ClassVar[Shape[Any]] = PAYLOAD

    def __init__(self) -> None:
        super().__init__()
        self.grammar_breaks = 0
        """Input for a tool call that was never started."""
        self._astray = Astray()
        self._begun = False
        self._tools: dict[int | None, str] = {}
        self._called = 0
        self._inside: Anthropic | None = None
        self._opaque = False

    @property
    def complete(self) -> bool | None:
        """As the format inside says, else: a stop reason other than an error, and no exception."""
        if self.failed:
            return False
        if self._inside is not None:
            return self._inside.complete
        return None if self._opaque else self._finishes.get(0, "error") != "error"

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """Canonical finish, where there was one."""
        return tuple(self._finishes.values()) if self._inside is None else self._inside.finish_reasons

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Input for tool calls that end and were never started, where the message's start was seen; as inside."""
        if self._inside is not None:
            return self._inside.contradictions
        return self._astray.broken.told() if self._begun else ()

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a message: its name and payload. Without a name, the payload's only key is one."""
        event = _name(name)
        if event == "error":
            return self._error()
        if event not in EVENTS:
            return self._read_unnamed(data) if not name else _read_unknown(data)
        try:
            return self._named(event, PAYLOAD.decode(data))
        except (ValueError, RecursionError):
            return self._read_lenient(event, data)

    def read_object(self, obj: object) -> Reading:
        """Read a message as boto3 unwraps it, one with `event` and `data`, or an event of the model's own format."""
        raw = raw_event(obj)
        if raw is not None:
            return self.read(*raw)
        if obj is None or isinstance(obj, (list, bool, int, float)):
            return _MALFORMED
        if is_event(fields(obj) or {}):
            return self._model_event(obj)
        if not isinstance(obj, dict):
            raise Unreadable(obj)
        return self._unwrapped(obj)

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path; else by an event that boto3 has unwrapped."""
        return path.endswith(_PATHS) or _event_key(line_of(first) or {}) in _CONVERSE

    def _named(self, event: str, payload: Payload) -> Reading:
        if event == "contentBlockDelta":
            return self._delta(payload.content_block_index, payload.delta or Delta())
        if event == "chunk":
            return self._chunk(payload.bytes)
        pieces: list[Piece] = []
        return reading(_HANDLERS[event](self, payload, pieces), pieces)

    def _read_lenient(self, event: str, data: bytes) -> Reading:
        known = line_of(data)
        return _MALFORMED if known is None else self._named(event, PAYLOAD.lenient(known))

    def _read_unnamed(self, data: bytes) -> Reading:
        known = line_of(data)
        if known is None:
            return _MALFORMED
        return self._model_event(data) if is_event(known) else self._unwrapped(known)

    def _unwrapped(self, value: dict[str, Any], *, chunk: bool = False) -> Reading:
        """An event under its name; keys that are no event's are passed over."""
        event = _event_key(value)
        if event == "error":
            return self._error()
        if event not in (_CONVERSE if chunk else EVENTS):
            self._opaque = self._opaque or chunk
            return _OTHER
        known = value[event]
        return self._named(event, PAYLOAD.lenient(known)) if isinstance(known, dict) else _MALFORMED

    def _error(self) -> Reading:
        self.failed = True
        return _ERROR

    def _delta(self, index: int | None, delta: Delta) -> Reading:
        if delta.text:
            return Reading(TEXT, (piece("0/text/0", "text", delta.text),))
        if (thought := delta.reasoning_content) is not None and thought.text:
            return Reading(REASONING, (piece("0/reasoning/0", "reasoning", thought.text),))
        if (tool := delta.tool_use) is not None:
            slot = self._tools.get(index)
            if slot is None:
                self.grammar_breaks += self._called < MAX_TRACKED
                if tool.input:
                    self._astray.says(index, self._at())
                slot = self._tool(index)
            if tool.input:
                return Reading(TOOL_ARGS, (piece(slot, "tool_args", tool.input),))
        return _OTHER

    def _tool(self, index: int | None) -> str:
        """Slot of a new tool call."""
        slot = f"0/tool/{self._called}"
        if self._called < MAX_TRACKED:
            self._called += 1
            self._tools[index] = slot
        return slot

    def _message_start(self, payload: Payload, pieces: list[Piece]) -> int:
        self._begun = True
        return ROLE if payload.role else OTHER

    def _block_start(self, payload: Payload, pieces: list[Piece]) -> int:
        tool = payload.start.tool_use if payload.start is not None else None
        if tool is None:
            return OTHER
        self._astray.begins(payload.content_block_index)
        slot = self._tool(payload.content_block_index)
        if tool.name:
            pieces.append(Piece(slot, "tool_start", utf8(tool.name)))
        return TOOL_START

    def _block_stop(self, payload: Payload, pieces: list[Piece]) -> int:
        self._astray.ends(payload.content_block_index)
        return OTHER

    def _message_stop(self, payload: Payload, pieces: list[Piece]) -> int:
        if not payload.stop_reason:
            return OTHER
        finish = FINISHES.get(payload.stop_reason, "other")
        return self._finish(0, finish, pieces) | (ERROR if finish == "error" else 0)

    def _metadata(self, payload: Payload, pieces: list[Piece]) -> int:
        if payload.usage is None:
            return OTHER
        self.usage = _tokens(payload.usage)
        return USAGE

    def _chunk(self, wrapped: object) -> Reading:
        """The event inside: Anthropic's, ConverseStream's (Nova), or one that nobody here knows."""
        inner = _unwrap(wrapped)
        if inner is None:
            return _MALFORMED
        if self._inside is not None:
            return self._model_event(inner)
        known = line_of(inner)
        if known is None:
            return _MALFORMED
        return self._model_event(inner) if is_event(known) else self._unwrapped(known, chunk=True)

    def _model_event(self, event: object) -> Reading:
        """An event of Anthropic's, from a chunk or from the `anthropic` package, which has unwrapped it."""
        if self._inside is None:
            self._inside = Anthropic()
            self._inside.placed(self._at)
        inside = self._inside
        result = inside.read_object(event)
        self.model, self.response_id, self.usage = inside.model, inside.response_id, inside.usage
        return result


def _name(name: bytes) -> str:
    """What an event is; `error` for every exception."""
    text = name.decode("utf-8", "replace")
    return "error" if text.endswith("Exception") else text


def _event_key(value: dict[str, Any]) -> str:
    """The key of an unwrapped message that is an event's name; `error` for every exception, "" for none."""
    names = ("error" if key.endswith("Exception") else key for key in value)
    return next((name for name in names if name in EVENTS or name == "error"), "")


def _read_unknown(data: bytes) -> Reading:
    return _MALFORMED if line_of(data) is None else _OTHER


def _unwrap(wrapped: object) -> bytes | None:
    """What a chunk holds: base64 on the wire, bytes from boto3."""
    if isinstance(wrapped, bytes):
        return wrapped
    try:
        return binascii.a2b_base64(wrapped) if isinstance(wrapped, str) else None
    except ValueError:
        return None


def _tokens(usage: Usage) -> tuple[int | None, int | None]:
    read = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_write_input_tokens)
    total = None if count(usage.input_tokens) is None else count(sum(count(number) or 0 for number in read))
    return total, count(usage.output_tokens)


_HANDLERS: Final = {
    "messageStart": Bedrock._message_start,
    "contentBlockStart": Bedrock._block_start,
    "contentBlockStop": Bedrock._block_stop,
    "messageStop": Bedrock._message_stop,
    "metadata": Bedrock._metadata,
}
"""Name of an event → what reads it; deltas and chunks, nearly all events, are asked for first."""

_CONVERSE: Final = frozenset(_HANDLERS) | {"contentBlockDelta"}
EVENTS: Final = _CONVERSE | {"chunk"}
"""All names of events but exceptions."""
