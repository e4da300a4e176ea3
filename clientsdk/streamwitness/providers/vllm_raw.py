"""vLLM's own demonstration server: `/generate`, one JSON object a line, each with the whole text so far.

    field          part        slot
      text[i]      snapshot    i/snapshot/0
      error        error       -
      else         other       -

The text is cumulative, the prompt included (vllm/entrypoints/api_server.py), so it is a `snapshot` in a slot of its
own kind: it equals the same snapshot at another point, and is never compared with deltas. Nothing says how or whether
an answer ended: completion is unknown. Where a server fails, the body just ends.

Not understood: `logprobs` and finish reasons (it sends none); releases before 2024 that part their lines with NUL.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, SNAPSHOT

from .base import JsonProfile, line_of, piece, reading
from .shapes import Shape

PATH: Final = "/generate"
"""Where its streams are asked for; SGLang has it, too, in another form."""


class Line(msgspec.Struct, gc=False):
    """One event of the stream."""

    text: list[Any] | None = None
    error: Any = None


class VllmRaw(JsonProfile[Line]):
    """Reads one answer of vLLM's `/generate` at one point."""

    name: ClassVar[str] = "vllm_raw"
    provider: ClassVar[str] = "vllm"
    shape: ClassVar[Shape[Line]] = Shape(Line)

    @property
    def complete(self) -> bool | None:
        """Unknown: no line says that it is the last. An error is no answer."""
        return False if self.failed else None

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path and a first line of nothing but texts; neither is telling alone."""
        known = line_of(first) if path.endswith(PATH) else None
        texts = None if known is None or known.keys() != {"text"} else known["text"]
        return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) for text in texts)

    def _event(self, event: Line) -> Reading:
        parts, pieces = 0, list[Piece]()
        for i, text in enumerate(event.text or ()):
            if isinstance(text, str) and text:
                parts |= SNAPSHOT
                pieces.append(piece(f"{i}/snapshot/0", "snapshot", text))
        if event.error:
            self.failed, parts = True, parts | ERROR
        return reading(parts, pieces)
