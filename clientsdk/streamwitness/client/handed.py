"""Which of the objects handed to the application is this one? By identity, among the last 512; never guessed."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from streamwitness.semconv import MISSING

KEPT: Final = 512
"""Objects that are kept alive so that their identity stays theirs."""

_AMBIGUOUS: Final = -1


class Handed:
    """The objects last handed on at one point, with their positions there.

    Small texts and numbers are shared by the interpreter: the same object may be handed on twice. Then it names no
    position, and neither does one that may have been handed on before and forgotten since.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[Any, int]] = deque()
        self._positions: dict[int, int] = {}
        self._forgot_shared = False

    def add(self, item: Any, position: int) -> None:
        """Note that `item` is being handed on as the event at `position`."""
        key = id(item)
        self._positions[key] = _AMBIGUOUS if key in self._positions else position
        self._kept.append((item, position))
        if len(self._kept) > KEPT:
            self._forget()

    def position(self, item: Any) -> int:
        """The position of `item`, or MISSING where it is not known for sure."""
        position = self._positions.get(id(item), MISSING)
        if position == _AMBIGUOUS or (self._forgot_shared and _is_shared(item)):
            return MISSING
        return position

    def _forget(self) -> None:
        item, position = self._kept.popleft()
        if self._positions.get(id(item)) == position:
            del self._positions[id(item)]
            self._forgot_shared = self._forgot_shared or _is_shared(item)
        elif not any(other is item for other, _ in self._kept):
            del self._positions[id(item)]
            self._forgot_shared = True


def _is_shared(item: Any) -> bool:
    """Whether the interpreter may give the same object to unrelated values that are equal."""
    return isinstance(item, (str, bytes, int, float, bool, tuple, type(None)))
