"""The answer as a reader would show it: every slot of it, from the chunks of any provider.

A chunk's pieces go each to its slot (`choice/kind/ordinal`), where a style applies them (`styles.py`):

| part | style |
|---|---|
| `text`, `reasoning`, `refusal`, `tool_start` | `Text` |
| `tool_args` | `Arguments` |
| `snapshot` | `Snapshot` |
| `patch` | `Patch` |

A chunk of several pieces may be half applied: where one slot refuses its delta, the others keep theirs, and the outcome
is `partial` and names the parts that were applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from streamwitness.events import Piece, Reading
from streamwitness.providers import Unreadable, profile
from streamwitness.semconv import MALFORMED, OTHER, PART, PING, TERMINAL

from .results import Outcome, Result
from .styles import Arguments, Patch, Refused, Snapshot, Style, Text

PRIMARY: Final = "0/text/0"
"""The slot that most applications show: the text of the first choice."""

STYLES: Final[dict[str, Callable[[], Style]]] = {
    "text": Text,
    "reasoning": Text,
    "refusal": Text,
    "tool_start": Text,
    "tool_args": Arguments,
    "snapshot": Snapshot,
    "patch": Patch,
}
"""Part → how its deltas are applied."""

_NOTHING: Final = OTHER | PING
_NAME: Final = "tool_start"


class Answer:
    """Applies each chunk's deltas to their slots. `name` is the provider's profile.

    Chunks may be dicts, the SDK's objects or raw data fields. No I/O; not thread-safe.
    """

    def __init__(self, name: str = "openai_chat") -> None:
        self._profile = profile(name)
        self._styles: dict[str, Style] = {}
        self._names: dict[str, Text] = {}
        self._finishes: dict[str, str] = {}
        self._is_over = False
        self.parts = 0
        """What the last chunk held, whatever became of it: a mask of semconv.PARTS; `Lifecycle.follow` takes it."""

    def apply(self, chunk: Any) -> Outcome:
        """Take a chunk in, and say what became of it. Never raises for what a chunk holds."""
        try:
            reading = self._profile.read_object(chunk)
        except Unreadable as error:
            self.parts = MALFORMED
            return Outcome(Result.MALFORMED, str(error))
        self.parts = reading.parts
        if reading.parts & MALFORMED:
            return Outcome(Result.MALFORMED, "it is no chunk of this provider's")
        if self._is_over:
            return Outcome(Result.AFTER_TERMINAL, "the answer was complete")
        self._is_over = bool(reading.parts & TERMINAL)
        return self._apply(reading)

    @property
    def text(self) -> str:
        """The text of the first choice so far."""
        return self.slot(PRIMARY)

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots that have content, in order of appearance."""
        return tuple(self._styles)

    @property
    def finishes(self) -> dict[str, str]:
        """Choice → canonical finish reason, for the choices that have one."""
        return dict(self._finishes)

    @property
    def usage(self) -> tuple[int | None, int | None]:
        """Input and output tokens as the provider counts them; it may tell them after the finish."""
        return self._profile.usage

    @property
    def is_complete(self) -> bool | None:
        """Whether the provider's completion rule is satisfied; None where the format has none that we know."""
        return self._profile.complete

    def slot(self, name: str) -> str:
        """The text of one slot so far (of a tool call the arguments' JSON text); empty where it has none."""
        style = self._styles.get(name)
        return str(style.text if isinstance(style, Arguments) else style.value) if style is not None else ""

    def value(self, name: str) -> Any:
        """The value of a slot: a text, a tool call's arguments, a document. ValueError while it is not whole."""
        return self._styles[name].value

    def tool(self, name: str) -> str:
        """The function that a tool call's slot calls; empty where that was not said."""
        return self._names[name].value if name in self._names else ""

    def _apply(self, reading: Reading) -> Outcome:
        refusals = {piece.part: reason for piece in reading.pieces if (reason := self._take(piece))}
        if refusals:
            applied = tuple(part for part, bit in PART.items() if reading.parts & bit and part not in refusals)
            result = Result.PARTIAL if applied else Result.MALFORMED
            return Outcome(result, "; ".join(refusals.values()), applied)
        if reading.parts & ~_NOTHING == 0:
            return Outcome(Result.IGNORED, "there is nothing in it")
        return Outcome(Result.APPLIED, "all of it was applied")

    def _take(self, piece: Piece) -> str:
        """Apply one piece; returns why it was refused, or ""."""
        if piece.finish:
            self._finishes[piece.slot.partition("/")[0]] = piece.finish
        make = STYLES.get(piece.part)
        if make is None or not piece.content:
            return ""
        slots: dict[str, Any] = self._names if piece.part == _NAME else self._styles
        style = slots.get(piece.slot) or make()
        try:
            style.add(piece.content)
        except Refused as refused:
            return f"{piece.slot}: {refused}"
        slots[piece.slot] = style
        return ""
