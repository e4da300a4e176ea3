"""Ollama: `/api/chat` and `/api/generate`, one JSON object a line.

    field                                part                    slot
      message.role                       role                    -
      message.content, response          text                    0/text/0
      message.thinking, thinking         reasoning               0/reasoning/0
      message.tool_calls[].function      tool_start, tool_args   0/tool/n, n = order of appearance
      done: true                         terminal                -
      done_reason                        finish                  0/finish/0
      prompt_eval_count, eval_count      usage                   -
      error                              error                   -
      nothing of these                   other                   -

A tool call comes whole, with its arguments as an object: they count in canonical JSON. Complete when a line says
`done: true` and none an error. A failure in mid-stream is a line with only `error`, and the status stays 200; a clean
end after `done: false` is truncation. `done: true` without a reason is what the server says where the connection to its
runner has closed (llm/server.go): an end, and no finish. A turn that calls tools ends with `stop`.

Not understood: images that a model makes, `logprobs`, `context`, durations; progress of `/api/pull` and the like.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, REASONING, ROLE, TERMINAL, TEXT, TOOL_ARGS, TOOL_START, USAGE

from .base import MAX_TRACKED, JsonProfile, count, label, line_of, piece, reading
from .objects import canonical, utf8
from .shapes import Shape

FINISHES: Final = {"stop": "stop", "length": "length"}
"""`done_reason` → canonical; `load` and `unload` (a request without a prompt) and any other are `other`."""


PATHS: Final = ("/api/chat", "/api/generate")
"""Where its streams are asked for; many other servers have the first, too."""


class Function(msgspec.Struct, gc=False):
    """`tool_calls[].function`."""

    name: str | None = None
    arguments: dict[str, Any] | list[Any] | str | None = None


class Call(msgspec.Struct, gc=False):
    """`message.tool_calls[]`."""

    function: Function | None = None


class Message(msgspec.Struct, gc=False):
    """`message` of /api/chat."""

    role: str | None = None
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None
    images: Any = None


class Line(msgspec.Struct, gc=False):
    """One event of the stream."""

    model: str | None = None
    message: Message | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: Any = None


class Ollama(JsonProfile[Line]):
    """Reads one answer of Ollama at one point."""

    name: ClassVar[str] = "ollama"
    provider: ClassVar[str] = "ollama"
    shape: ClassVar[Shape[Line]] = Shape(Line)

    def __init__(self) -> None:
        super().__init__()
        self._done = False
        self._calls = 0

    @property
    def complete(self) -> bool:
        """A line said `done: true`, none an error."""
        return self._done and not self.failed

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By a line that names its model and says whether it is done.

        Its paths are common elsewhere: they tell only for NDJSON, and where the line is an error or not known yet.
        """
        known = line_of(first)
        if known is not None and isinstance(known.get("model"), str) and isinstance(known.get("done"), bool):
            return bool(known.keys() & {"message", "response"})
        if content_type.startswith("application/x-ndjson") and path.endswith(PATHS):
            return not first or (known is not None and "error" in known)
        return False

    def _event(self, event: Line) -> Reading:
        parts, pieces = 0, list[Piece]()
        message = event.message or Message(None, event.response, event.thinking)
        if message.role:
            parts |= ROLE
        if message.thinking:
            parts |= REASONING
            pieces.append(piece("0/reasoning/0", "reasoning", message.thinking))
        if message.content:
            parts |= TEXT
            pieces.append(piece("0/text/0", "text", message.content))
        for call in message.tool_calls or ():
            parts |= self._call(call.function or Function(), pieces)
        self.beside += bool(pieces and message.images)
        if event.error:
            self.failed, parts = True, parts | ERROR
        if event.model and self.model is None:
            self.model = label(event.model)
        return reading(parts | self._end(event, pieces), pieces)

    def _call(self, function: Function, pieces: list[Piece]) -> int:
        """A whole call; each one is a new one."""
        slot = f"0/tool/{self._calls}"
        self._calls = min(self._calls + 1, MAX_TRACKED)
        if function.name:
            pieces.append(piece(slot, "tool_start", function.name))
        if (arguments := function.arguments) is None or arguments == "":
            return TOOL_START
        pieces.append(Piece(slot, "tool_args", utf8(arguments) if isinstance(arguments, str) else canonical(arguments)))
        return TOOL_START | TOOL_ARGS

    def _end(self, event: Line, pieces: list[Piece]) -> int:
        parts = 0
        if event.prompt_eval_count is not None or event.eval_count is not None:
            self.usage, parts = (count(event.prompt_eval_count), count(event.eval_count)), USAGE
        if not event.done:
            return parts
        self._done = True
        if event.done_reason:
            finish = FINISHES.get(event.done_reason, "other")
            # Ollama says stop there; every other API, and the translations to them, say that a tool is wanted.
            parts |= self._finish(0, "tool_calls" if finish == "stop" and self._calls else finish, pieces)
        return parts | TERMINAL
