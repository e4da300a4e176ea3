"""Text Generation Inference's own API: `/generate_stream`, one `data:` event a token.

    field                                      part        slot
      token.text, unless token.special         text        0/text/0
      details.finish_reason                    finish      0/finish/0
      details.input_length, generated_tokens   usage       -
      generated_text not null                  terminal    -
      error (with error_type)                  error       -
      else                                     other       -

Server-sent events, `data:{` without a space, no event name and no `[DONE]` (router/src/server.rs). The last event
carries the last token, the whole text and the details; a response is complete when it has come and no error has. The
whole text repeats what the tokens said, so it is no content. Special tokens (`</s>`) are no text, as in its own client.

Not understood: `top_tokens`, `prefill`, log probabilities; `index` (it counts tokens) is no sequence number here.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, TERMINAL, TEXT, USAGE

from .base import JsonProfile, count, line_of, piece, reading
from .shapes import Shape

PATH: Final = "/generate_stream"
_TRITON: Final = "/v2/models/"
"""Triton has the same last segment, below its models, and says something else there."""
FINISHES: Final = {"length": "length", "eos_token": "stop", "stop_sequence": "stop"}
"""`details.finish_reason` → canonical; any other is `other`."""


class Token(msgspec.Struct, gc=False):
    """`token`."""

    text: str | None = None
    special: bool | None = None


class Details(msgspec.Struct, gc=False):
    """`details` of the last event; `input_length` since version 2."""

    finish_reason: str | None = None
    generated_tokens: int | None = None
    input_length: int | None = None


class Event(msgspec.Struct, gc=False):
    """One event of the stream."""

    token: Token | None = None
    generated_text: str | None = None
    details: Details | None = None
    error: Any = None


class TgiRaw(JsonProfile[Event]):
    """Reads one answer of `/generate_stream` at one point."""

    name: ClassVar[str] = "tgi_raw"
    provider: ClassVar[str] = "huggingface"
    shape: ClassVar[Shape[Event]] = Shape(Event)

    def __init__(self) -> None:
        super().__init__()
        self._ended = False

    @property
    def complete(self) -> bool:
        """The event with the whole text has come, and no error."""
        return self._ended and not self.failed

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By an event with a token and a place for the text (it is served below many paths); by path where none is."""
        known = line_of(first)
        if known is not None and isinstance(known.get("token"), dict):
            return "text" in known["token"] and "generated_text" in known
        told = path.endswith(PATH) and _TRITON not in path
        return told and (not first or (known is not None and {"error", "error_type"} <= known.keys()))

    def _event(self, event: Event) -> Reading:
        parts, pieces = 0, list[Piece]()
        token, details = event.token, event.details
        if token is not None and token.text and not token.special:
            parts |= TEXT
            pieces.append(piece("0/text/0", "text", token.text))
        if details is not None:
            parts |= self._details(details, pieces)
        if event.generated_text is not None:
            self._ended, parts = True, parts | TERMINAL
        if event.error:
            self.failed, parts = True, parts | ERROR
        return reading(parts, pieces)

    def _details(self, details: Details, pieces: list[Piece]) -> int:
        parts = 0
        if details.finish_reason:
            parts |= self._finish(0, FINISHES.get(details.finish_reason, "other"), pieces)
        if details.generated_tokens is not None or details.input_length is not None:
            self.usage, parts = (count(details.input_length), count(details.generated_tokens)), parts | USAGE
        return parts
