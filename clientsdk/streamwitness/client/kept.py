"""The answer as the application kept it, digested: `applied(stream).result(text)` (docs/design.md §7.3, misapplied).

Slots are those of the events, `choice/kind/ordinal`. What was shown last of a slot counts; it is digested when the
record closes, with the stream's key and as the points before digest what they saw, and goes nowhere else. A tool call's
slot holds its name and then its arguments, so both are needed. Of several who report of one stream each may show a
title, a preview or its part: the longest text is the likeliest to be all of it, and another one proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from streamwitness import faults
from streamwitness.digests import Contents
from streamwitness.semconv import MAX_SLOTS

Kind = Literal["text", "reasoning", "refusal", "tool"]
KINDS: Final = ("text", "reasoning", "refusal", "tool")
"""Kinds of slots whose content is its pieces in order; a snapshot or a patch has no such content."""

_PRIMARY: Final = "0/text/0"
_SLOT: Final = re.compile(rf"[0-9]{{1,9}}/(?:{'|'.join(KINDS)})/[0-9]{{1,9}}\Z")
_MOST_BYTES: Final = 16 << 20
"""Longer texts are not digested: it would hold the application up."""
_STRANGE: Final = "a result that is neither a text nor an answer of streamwitness.reducers is not compared (%d so far)"


class Kept:
    """The newest text of each slot. Never raises; what it cannot take is counted in `refused`."""

    def __init__(self) -> None:
        self.refused = 0
        """Results that were no text, of no slot, or too many."""
        self._texts: dict[str, str | bytes] = {}
        self._answers: list[Any] = []

    def take(self, result: Any, choice: object, kind: object, ordinal: object, name: object) -> None:
        """A text of one slot, or an object with `slots`, `slot(name)` and `tool(name)`, which is read at the end."""
        if hasattr(result, "slots") and callable(getattr(result, "slot", None)):
            if not any(answer is result for answer in self._answers):
                self._answers = [*self._answers, result][-MAX_SLOTS:]
            return
        slot = f"{choice}/{kind}/{ordinal}"
        more = slot not in self._texts and len(self._texts) >= MAX_SLOTS
        if more or not (isinstance(result, (str, bytes)) and isinstance(name, str) and _SLOT.match(slot)):
            self.refuse()
            return
        self._texts[slot] = _bytes(name) + result if isinstance(result, bytes) else f"{name}{result}"

    def texts(self) -> dict[str, str | bytes]:
        """Slot → the newest text of it."""
        return dict(self._of_answers()) | self._texts

    def _of_answers(self) -> Iterator[tuple[str, str]]:
        for answer in self._answers:
            for slot in tuple(answer.slots):
                text = answer.slot(slot)
                if isinstance(slot, str) and isinstance(text, str) and _SLOT.match(slot):
                    yield slot, (answer.tool(slot) + text if "/tool/" in slot else text)

    def refuse(self) -> None:
        """Count a result that is not compared."""
        self.refused += 1
        faults.limited("client.applied", _STRANGE, self.refused)


def digested(shown: Sequence[Kept], key: bytes) -> Contents | None:
    """What was shown, under the stream's key, of several the longest text of each slot; None: nothing was."""
    texts: dict[str, bytes] = {}
    for kept in tuple(shown):
        for slot, text in kept.texts().items():
            content = text if isinstance(text, bytes) else _bytes(text)
            if len(content) > _MOST_BYTES:
                kept.refuse()
            elif len(content) >= len(texts.get(slot, b"")):
                texts[slot] = content
    contents = Contents(key)
    for slot in sorted(texts, key=lambda slot: slot != _PRIMARY):
        contents.add(slot, texts[slot])
    return contents if texts else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
