"""DashScope's native API (Qwen): server-sent events with `id:`, `event:result` and `:HTTP_STATUS/200` comments.

    field                                          part         slot: cumulative         slot: delta
      message.role                                 role         -                        -
      output.text, message.content                 text         i/snapshot/0             i/text/0
      message.reasoning_content                    reasoning    i/snapshot_reasoning/0   i/reasoning/0
      message.tool_calls[].function.name           tool_start   i/tool/n                 i/tool/n
      message.tool_calls[].function.arguments      tool_args    i/snapshot_tool/n        i/tool/n
      finish_reason, neither null nor "null"       finish       i/finish/0               i/finish/0
      usage (of the whole answer so far)           usage        -                        -
      code                                         error        -                        -
      nothing of these                             other        -                        -

`message` is that of `output.choices[i]`. Whether each event holds the whole text so far or what is new of it is decided
by the request (`incremental_output`, true by default for some models), never by looking at the text: `dashscope` reads
the first (its part is then `snapshot`), `dashscope_delta` the second. A response is seen to be DashScope's by its path
or first event and read as `dashscope`; for requests with `incremental_output` set the setting `profiles` to the other.
Each reads the same wherever it is read; only reducers and translations need the right one.

Complete when every choice seen has a finish; there is no end marker. An error is `event:error` with `code`.

Not understood: applications' `workflow_message` and `thoughts`, `search_info`, audio and images; the Python SDK adds up
the deltas itself where it was asked for whole texts, so that its objects are not what was on the wire.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, PART, ROLE, TOOL_START, USAGE

from .base import MAX_TRACKED, JsonProfile, count, label, line_of, piece, reading
from .objects import canonical, fields, utf8
from .shapes import Shape

PATHS: Final = ("/text-generation/generation", "/multimodal-generation/generation")
"""Where its streams are asked for, below `/api/v1/services/aigc`."""
FINISHES: Final = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "content_filter": "content_filter"}
"""`finish_reason` → canonical; any other is `other`."""
NO_FINISH: Final = frozenset(("", "null"))
SNAPSHOTS: Final = {
    "text": ("snapshot", "snapshot"),
    "reasoning": ("snapshot", "snapshot_reasoning"),
    "tool_args": ("snapshot", "snapshot_tool"),
}
"""What of a cumulative answer → its part and the kind in its slot."""
DELTAS: Final = {"text": ("text", "text"), "reasoning": ("reasoning", "reasoning"), "tool_args": ("tool_args", "tool")}
"""The same of deltas."""


class Function(msgspec.Struct, gc=False):
    """`tool_calls[].function`."""

    name: str | None = None
    arguments: str | dict[str, Any] | list[Any] | None = None


class Call(msgspec.Struct, gc=False):
    """`message.tool_calls[]`."""

    index: int | None = None
    function: Function | None = None


class Message(msgspec.Struct, gc=False):
    """`message`; multimodal models send content as a list of parts."""

    role: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None


class Choice(msgspec.Struct, gc=False):
    """`output.choices[]`."""

    index: int | None = None
    finish_reason: str | None = None
    message: Message | None = None


class Output(msgspec.Struct, gc=False):
    """`output`, in either result format."""

    text: str | None = None
    finish_reason: str | None = None
    choices: list[Choice] | None = None


class Usage(msgspec.Struct, gc=False):
    """`usage`."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Event(msgspec.Struct, gc=False):
    """One event of the stream."""

    output: Output | None = None
    usage: Usage | None = None
    request_id: str | None = None
    code: str | int | None = None


class DashScope(JsonProfile[Event]):
    """Reads one answer whose events hold the whole text so far."""

    name: ClassVar[str] = "dashscope"
    provider: ClassVar[str] = "alibaba"
    shape: ClassVar[Shape[Event]] = Shape(Event)
    slots: ClassVar[dict[str, tuple[str, str]]] = SNAPSHOTS

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[int] = set()
        self._calls: dict[tuple[int, int], int] = {}
        self._counts: dict[int, int] = {}
        self._overflow = False

    @property
    def complete(self) -> bool:
        """Every choice seen has a finish, and none of the events was an error."""
        return bool(self._seen) and self._seen <= self._finishes.keys() and not (self.failed or self._overflow)

    @classmethod
    def matches(cls, path: str, content_type: str, first: bytes) -> bool:
        """By path, or an event with a request's id and an output of text or choices. Never as `dashscope_delta`."""
        if cls.slots is DELTAS:
            return False
        if path.endswith(PATHS):
            return True
        known = line_of(first)
        output = None if known is None or not isinstance(known.get("request_id"), str) else known.get("output")
        return isinstance(output, dict) and (
            isinstance(output.get("text"), str) or isinstance(output.get("choices"), list)
        )

    def _event(self, event: Event) -> Reading:
        parts, pieces = 0, list[Piece]()
        output = event.output or Output()
        if output.text is not None or output.finish_reason is not None:
            parts |= self._choice(Choice(0, output.finish_reason, Message(None, output.text)), 0, pieces)
        for place, choice in enumerate(output.choices or ()):
            parts |= self._choice(choice, place, pieces)
        if (usage := event.usage) is not None and (usage.input_tokens, usage.output_tokens) != (None, None):
            self.usage, parts = (count(usage.input_tokens), count(usage.output_tokens)), parts | USAGE
        if event.code:
            self.failed, parts = True, parts | ERROR
        if self.response_id is None:
            self.response_id = label(event.request_id)
        return reading(parts, pieces)

    def _choice(self, choice: Choice, place: int, pieces: list[Piece]) -> int:
        index = place if choice.index is None else choice.index
        if index in self._seen or len(self._seen) < MAX_TRACKED:
            self._seen.add(index)
        else:
            self._overflow = True
        parts = 0 if choice.message is None else self._message(index, choice.message, pieces)
        reason = choice.finish_reason
        if reason is None or reason in NO_FINISH:
            return parts
        return parts | self._finish(index, FINISHES.get(reason, "other"), pieces)

    def _message(self, index: int, message: Message, pieces: list[Piece]) -> int:
        parts = ROLE if message.role else 0
        parts |= self._add(pieces, index, "reasoning", utf8(message.reasoning_content or ""))
        parts |= self._add(pieces, index, "text", utf8(_text(message.content)))
        for place, call in enumerate(message.tool_calls or ()):
            parts |= self._call(index, place if call.index is None else call.index, call.function, pieces)
        return parts

    def _call(self, index: int, key: int, function: Function | None, pieces: list[Piece]) -> int:
        ordinal, new = self._ordinal(index, key)
        parts = TOOL_START if new else 0
        if function is None:
            return parts
        if function.name and (new or self.slots is DELTAS):
            parts |= TOOL_START
            pieces.append(piece(f"{index}/tool/{ordinal}", "tool_start", function.name))
        if (arguments := function.arguments) is None:
            return parts
        content = utf8(arguments) if isinstance(arguments, str) else canonical(arguments)
        return parts | self._add(pieces, index, "tool_args", content, ordinal)

    def _ordinal(self, index: int, key: int) -> tuple[int, bool]:
        """Place of a call in its choice, in order of appearance, and whether it is a new one."""
        known = self._calls.get((index, key))
        if known is not None:
            return known, False
        ordinal = self._counts.get(index, 0)
        if len(self._calls) < MAX_TRACKED:
            self._calls[index, key] = ordinal
            self._counts[index] = ordinal + 1
        return ordinal, True

    def _add(self, pieces: list[Piece], index: int, what: str, content: bytes, ordinal: int = 0) -> int:
        if not content:
            return 0
        part, kind = self.slots[what]
        pieces.append(Piece(f"{index}/{kind}/{ordinal}", part, content))
        return PART[part]


class DashScopeDelta(DashScope):
    """Reads one answer whose events hold what is new: a request with `incremental_output`."""

    name: ClassVar[str] = "dashscope_delta"
    slots: ClassVar[dict[str, tuple[str, str]]] = DELTAS


def _text(content: str | list[Any] | None) -> str:
    """The text of content in either form."""
    if isinstance(content, list):
        texts = ((fields(item) or {}).get("text") for item in content)
        return "".join(text for text in texts if isinstance(text, str))
    return content or ""
