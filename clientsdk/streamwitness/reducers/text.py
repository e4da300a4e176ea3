"""The text reducer: the answer's texts, one a slot, from the chunks of a provider that sends deltas."""

from __future__ import annotations

from typing import Any, Final

from streamwitness.providers import Unreadable, profile
from streamwitness.semconv import MALFORMED, OTHER, PING, TERMINAL

from .results import Result

PRIMARY: Final = "0/text/0"
"""The slot that most applications show: the text of the first choice."""

_TEXTS: Final = frozenset(("text", "reasoning", "refusal", "tool_args"))
"""Parts whose content is a piece of a text (a tool's name is not)."""

_NOTHING: Final = OTHER | PING


class TextReducer:
    """Appends each chunk's deltas to their slots (`choice/kind/ordinal`: texts, reasoning, refusals, tool arguments).

    `name` is the provider's profile. Chunks may be dicts, the SDK's objects or raw data fields. No I/O.
    """

    def __init__(self, name: str = "openai_chat") -> None:
        self._profile = profile(name)
        self._fragments: dict[str, list[bytes]] = {}
        self._finishes: dict[str, str] = {}
        self._is_over = False

    def apply(self, chunk: Any) -> Result:
        """Take a chunk in: `applied`, `ignored` (nothing in it), `malformed`, or `after_terminal`. Never raises."""
        try:
            reading = self._profile.read_object(chunk)
        except Unreadable:
            return Result.MALFORMED
        if reading.parts & MALFORMED:
            return Result.MALFORMED
        if self._is_over:
            return Result.AFTER_TERMINAL
        self._is_over = bool(reading.parts & TERMINAL)
        for piece in reading.pieces:
            if piece.finish:
                self._finishes[piece.slot.partition("/")[0]] = piece.finish
            if piece.content and piece.part in _TEXTS:
                self._fragments.setdefault(piece.slot, []).append(piece.content)
        return Result.IGNORED if reading.parts & ~_NOTHING == 0 else Result.APPLIED

    @property
    def text(self) -> str:
        """The text of the first choice so far."""
        return self.slot(PRIMARY)

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots that have content, in order of appearance."""
        return tuple(self._fragments)

    @property
    def finishes(self) -> dict[str, str]:
        """Choice → canonical finish reason, for the choices that have one."""
        return dict(self._finishes)

    def slot(self, name: str) -> str:
        """The content of one slot so far; empty where it has none."""
        whole = b"".join(self._fragments.get(name, ()))
        if name in self._fragments:
            self._fragments[name] = [whole]
        return whole.decode("utf-8", "surrogatepass")
