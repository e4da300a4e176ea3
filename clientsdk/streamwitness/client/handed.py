"""Which of the objects handed to the application is this one? By identity, among the last 512; never guessed."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from streamwitness.semconv import MISSING

KEPT: Final = 512
"""Objects that are remembered."""

_AMBIGUOUS: Final = -1
_new: Final = tuple.__new__


class _Entry(NamedTuple):
    """An object and its position: by a weak reference where it can have one, else the object itself, kept alive.

    Kept alive its identity stays its own; behind a weak reference nobody else can be taken for it. The chunks of an
    SDK are of the second kind: hundreds of them kept alive would cost the host far more than what we do with them.
    """

    reference: weakref.ref[Any] | None
    item: Any
    position: int

    def is_of(self, item: Any) -> bool:
        return self.item is item if self.reference is None else self.reference() is item


class Handed:
    """The objects last handed on at one point, with their positions there.

    Small texts and numbers are shared by the interpreter: the same object may be handed on twice. Then it names no
    position, and neither does one that may have been handed on before and forgotten since.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[int, _Entry]] = deque()
        self._positions: dict[int, _Entry] = {}
        self._forgot_shared = False

    def add(self, item: Any, position: int) -> None:
        """Note that `item` is being handed on as the event at `position`."""
        key = id(item)
        if type(item).__weakrefoffset__:
            self.add_reference(key, weakref.ref(item), position)
            return
        known = self._positions.get(key)
        if known is not None and known.is_of(item):
            position = _AMBIGUOUS
        self._add(key, _Entry(None, item, position))

    def add_reference(self, key: int, reference: weakref.ref[Any], position: int) -> None:
        """The same of an object with this identity that may be gone by now."""
        self.add_references(((key, reference),), position)

    def add_references(self, references: Sequence[tuple[int, weakref.ref[Any]]], position: int) -> None:
        """The same of several objects, the first of them at `position`."""
        positions, kept = self._positions, self._kept
        for at, (key, reference) in enumerate(references, position):
            known = positions.get(key)
            if known is not None and known.reference is reference:  # an object has but one
                at = _AMBIGUOUS
            positions[key] = entry = _new(_Entry, (reference, None, at))
            kept.append((key, entry))
            if len(kept) > KEPT:
                self._forget()

    def _add(self, key: int, entry: _Entry) -> None:
        self._positions[key] = entry
        self._kept.append((key, entry))
        if len(self._kept) > KEPT:
            self._forget()

    def position(self, item: Any) -> int:
        """The position of `item`, or MISSING where it is not known for sure."""
        entry = self._positions.get(id(item))
        if entry is None or entry.position == _AMBIGUOUS or not entry.is_of(item):
            return MISSING
        return MISSING if self._forgot_shared and _is_shared(item) else entry.position

    def has(self, item: Any) -> bool:
        """Whether this very object was handed on; never said of a value that the interpreter may share."""
        entry = self._positions.get(id(item))
        return entry is not None and entry.is_of(item) and not _is_shared(item)

    def last(self) -> Any:
        """The object handed on last, as long as it lives; else None."""
        if not self._kept:
            return None
        _, entry = self._kept[-1]
        return entry.item if entry.reference is None else entry.reference()

    def _forget(self) -> None:
        """The oldest goes; one that was handed on again since stays ambiguous until the last time is forgotten."""
        key, entry = self._kept.popleft()
        if self._positions.get(key) is entry:
            del self._positions[key]
            self._forgot_shared = self._forgot_shared or (entry.reference is None and _is_shared(entry.item))


def _is_shared(item: Any) -> bool:
    """Whether the interpreter may give the same object to unrelated values that are equal."""
    return isinstance(item, (str, bytes, int, float, bool, tuple, type(None)))
