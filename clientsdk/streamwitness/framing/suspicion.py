"""What a body turned out to be where it is not framed as announced: said only when the bytes leave no other reading.

`wrong` is evidence in a verdict, so everything here rather says nothing. Two questions are asked, of at most 1 KiB:

- *No event has come.* What are the lines instead: NDJSON, JSON, a JSON error, an HTML page, server-sent events, text?
  The first event answers it for good: a body with events and a few unknown lines is framed as announced.
- *Events have come, and behind the last one stand lines that are none.* Only a JSON error is looked for: Gemini writes
  its errors bare into a stream that has begun (googleapis/python-genai#1162). An event that follows takes it back,
  because then it was the text of a model, written without its field names; `[DONE]` does not, since gateways send it
  after whatever has happened.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from streamwitness.events import Frame

SAMPLE: Final = 1024
"""Bytes looked at."""
LINE: Final = 768
"""Of these, the most that one line may take, so that the next can be seen to begin."""
_SENTINEL: Final = b"[DONE]"
_BLANK: Final = b" \t\r\n"

_ERROR: Final = re.compile(
    rb"""[\[\s]*\{\s*
    (?: "(?:type|object)"\s*:\s*"error" | "error"\s*:\s*(?: [{\[]\s*[^\s}\]] | "[^"] | [1-9] | true ) )""",
    re.VERBOSE,
)
"""The beginning of an object with an error in it: one that says so first, for those that are cut or long."""
_HTML: Final = re.compile(rb"<(?:!doctype\s+html|html|head|body|title)\b", re.IGNORECASE)
_SSE: Final = re.compile(rb"(?:data|event|id|retry)?:")
_NDJSON: Final = re.compile(rb"\{[^\n]*[^\s{][^\n]*\n\{")
_JSON: Final = re.compile(rb'\{\s*(?:["}]|\Z)|\[\s*(?:[{["\]]|\Z)')
_FIELD: Final = re.compile(rb'[^\s<{["]+[ \t]*:')
"""A field that the standard does not know: may be text, may be an event stream of another time."""
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_skim: Final = msgspec.json.Decoder(msgspec.Raw).decode
"""Checks the grammar and builds nothing."""


def is_whole(text: bytes) -> bool:
    """Whether this is one complete JSON value, as the most lenient of the usual readers takes it."""
    try:
        _skim(text)
    except (ValueError, RecursionError):  # strict about control characters, surrogates and NaN
        return _loads(text) is not None
    return True


def judge(sample: bytes) -> str:
    """What bytes that no framer could read are: one of semconv.MISFRAMINGS, or "" where that is open.

    `broken` stands for what is no text at all; whether `sse` or `ndjson` is wrong, the caller knows.
    """
    text = sample[:SAMPLE].removeprefix(b"\xef\xbb\xbf").strip(_BLANK)
    if not text or _FIELD.match(text):
        return "sse" if _SSE.match(text) else ""
    if _BINARY.search(text):
        return "broken"
    if text.startswith(b"<"):
        return "html" if _HTML.search(text) else "text"
    if _is_error(text):
        return "json_error"
    if _NDJSON.match(text):
        return "ndjson"
    if _JSON.match(text) or is_whole(text):
        return "json"
    return "sse" if _SSE.match(text) else "text"


class Suspicion:
    """The lines of one body that are nothing in the announced framing, and what they amount to.

    `own` is the framing announced.
    """

    __slots__ = ("_fixed", "_lines", "_own", "_room", "_settled", "is_open")

    def __init__(self, own: str) -> None:
        self._own = own
        self._fixed = ""
        self._settled = False
        self.is_open = True
        """Whether an event that comes now answers a question: none has come yet, or there are odd lines before it."""
        self._clear()

    @property
    def wrong(self) -> str:
        """One of semconv.MISFRAMINGS, or ""."""
        if self._fixed or not self._lines:
            return self._fixed
        found = judge(b"\n".join(self._lines))
        return "" if found == self._own or (self._settled and found != "json_error") else found

    def odd(self, line: bytes) -> None:
        """A line without its end, or the head of one, that is no part of an event."""
        if self._settled and not self._lines and not line.startswith((b"{", b"[")):
            return
        self.is_open = True
        if kept := line[: min(LINE, self._room)]:
            self._room -= len(kept)
            self._lines.append(kept)

    def proper(self) -> None:
        """Part of an event was seen: from here on this is what was announced, if perhaps with an error in it."""
        self._settled = True

    def event(self, frame: Frame) -> None:
        """The first event at all, or after odd lines: it takes back what they seemed to be. Call it while `is_open`."""
        if frame.data == _SENTINEL and self.wrong == "json_error":
            self.error()
        self._settled, self.is_open = True, False
        self._clear()

    def error(self) -> None:
        """A JSON error for certain, whatever comes behind it."""
        self._fixed = "json_error"

    def _clear(self) -> None:
        self._lines: list[bytes] = []
        self._room = SAMPLE


def _is_error(text: bytes) -> bool:
    if _ERROR.match(text):
        return True
    if not text.startswith((b"{", b"[")):
        return False
    value = _loads(text)
    if isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and bool(value.get("error") or "error" in (value.get("type"), value.get("object")))


def _loads(text: bytes) -> Any:
    """The value, or None where it is not one complete value (or `null`)."""
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
