"""What every profile of JSON events has: from bytes, fields or objects to a struct, and what is known of the response.

A profile derives from `JsonProfile`, names its struct and says in `_event` what one event is. Everything about wrong
types, invalid bytes and other people's objects is done here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ALL_PARTS, ERROR, FINISH, MALFORMED, OTHER, TERMINAL

from .objects import SENTINEL, Unreadable, decode, fields, raw_event, utf8
from .shapes import S, Shape

if TYPE_CHECKING:
    from .numbers import Numbers

MAX_TRACKED: Final = 1024
"""Choices of a response, and tool calls of a choice, that are told apart; a real one has a handful."""
MAX_LABEL: Final = 256
"""Characters of a model's name or of a response's id that are kept."""
_INT64: Final = 1 << 63
_TERMINAL: Final = Reading(TERMINAL)
_MALFORMED: Final = Reading(MALFORMED)
_OTHER: Final = Reading(OTHER)
_new: Final = tuple.__new__
"""Makes a Piece or a Reading in half the time of its Python-level constructor; there are some for every event."""


class JsonProfile(Generic[S]):
    """Reads the events of one response at one point; see Profile for what the members mean."""

    name: ClassVar[str]
    provider: ClassVar[str]
    shape: ClassVar[Shape[Any]]
    """Its events."""
    delivers: ClassVar[int] = ALL_PARTS
    numbered: ClassVar[bool] = False
    numbers: Numbers | None = None

    def __init__(self) -> None:
        self.model: str | None = None
        self.response_id: str | None = None
        self.usage: tuple[int | None, int | None] = (None, None)
        self.sequence: int | None = None
        self.snapshot_mismatches = self.grammar_breaks = self.beside = 0
        self._at: Callable[[], int] = _nowhere
        self.failed = False
        """Whether an error was among the events."""
        self._finishes: dict[int, str] = {}

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """Canonical finish of each choice that has one, in order of the choices."""
        return tuple(finish for _, finish in sorted(self._finishes.items()))

    @property
    def shared_numbers(self) -> int:
        """Calls that began under a number of another's; none where they have none, or nobody counts."""
        return 0

    def placed(self, at: Callable[[], int]) -> None:
        """Who counts the events, to be asked for the position of the one that is read."""
        self._at = at

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What the stream says against itself."""
        return ()

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event; never raises."""
        self.sequence = None
        try:
            return self._event(self.shape.decode(data))
        except (ValueError, RecursionError, Unreadable):
            return self._read_odd(data)

    def read_object(self, obj: object) -> Reading:
        """Read a decoded event, an object with the same fields, or the raw data field; else raises Unreadable."""
        self.sequence = None
        raw = raw_event(obj)
        if raw is not None:
            return self.read(*raw)
        if obj is None or isinstance(obj, (list, bool, int, float)):
            return _MALFORMED
        known = fields(obj)
        if known is None or not (isinstance(obj, dict) or self.shape.names & known.keys()):
            raise Unreadable(obj)
        return self._event(self.shape.lenient(known))

    def _read_odd(self, data: bytes) -> Reading:
        """An event whose fields do not all have the documented types, or that is none."""
        if data.lstrip().startswith(SENTINEL):
            return _TERMINAL
        try:
            value = decode(data)
            return self._event(self.shape.lenient(value)) if isinstance(value, dict) else _MALFORMED
        except (ValueError, Unreadable):
            return _MALFORMED

    def _or_error(self, name: bytes, result: Reading) -> Reading:
        """The reading of an event with this name: one that is called `error` is one, whatever its data."""
        if name != b"error" or result.parts & ERROR:
            return result
        self.failed = True
        return Reading(result.parts & ~OTHER | ERROR, result.pieces)

    def _event(self, event: Any) -> Reading:
        """What an event of this shape says."""
        raise NotImplementedError

    def _finish(self, choice: int, finish: str, pieces: list[Piece]) -> int:
        """Note a canonical finish of a choice; gives the part."""
        if choice in self._finishes or len(self._finishes) < MAX_TRACKED:
            self._finishes[choice] = finish
        pieces.append(Piece(f"{choice}/finish/0", "finish", b"", finish))
        return FINISH


def _nowhere() -> int:
    return -1


def reading(parts: int, pieces: list[Piece]) -> Reading:
    """A reading of these, one piece for each slot and part; an event with none of the parts is `other`."""
    if len(pieces) > 1:
        pieces = _merged(pieces)
    return _new(Reading, (parts, tuple(pieces))) if parts else _OTHER


def _merged(pieces: list[Piece]) -> list[Piece]:
    """One piece for each slot and part, in order of appearance; the last finish stands."""
    merged: dict[tuple[str, str], Piece] = {}
    for each in pieces:
        known = merged.get((each.slot, each.part))
        merged[each.slot, each.part] = each if known is None else each._replace(content=known.content + each.content)
    return list(merged.values())


def piece(slot: str, part: str, text: str) -> Piece:
    """Text of a slot as content."""
    return _new(Piece, (slot, part, utf8(text), ""))


def label(text: str | None) -> str | None:
    """A name or an id as it is kept."""
    return text[:MAX_LABEL] if text else None


def count(tokens: int | None) -> int | None:
    """Tokens that can be told in an attribute; None for what is no such number."""
    return tokens if tokens is not None and 0 <= tokens < _INT64 else None


def line_of(first: bytes) -> dict[str, Any] | None:
    """The fields of a first event, for `matches`; None where it is no JSON object."""
    try:
        value = decode(first)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
