"""The ids that a body's own events carry (SSE `id`): how many came again, or behind a later one.

An id stays in force until another one comes, so only one that is written again says that its event came again. Ids
are anybody's: those that end in a number have an order among those that begin alike; of the others only a repetition
tells. Where every event has the same one, it names the answer and not the event.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

_MAX_KEPT: Final = 256
"""Newest ids that are told apart from each other."""
_NUMBERED: Final = re.compile(rb"(?s)(.*?)([0-9]{1,18})\Z")


class Ids:
    """The ids of one body, as they came."""

    __slots__ = ("_again", "_first", "_highest", "_newest", "_several")

    def __init__(self) -> None:
        self._newest: deque[bytes] = deque(maxlen=_MAX_KEPT)
        self._highest: tuple[bytes, int] | None = None
        self._first: bytes | None = None
        self._several = False
        self._again = 0

    @property
    def out_of_turn(self) -> int:
        """Events whose id had come before, or whose number is behind one that had."""
        return self._again if self._several else 0

    def note(self, value: bytes) -> None:
        """The id of an event that has one of its own."""
        if self._first is None:
            self._first = value
        self._several = self._several or value != self._first
        self._again += self._is_late(value) or value in self._newest
        self._newest.append(value)

    def _is_late(self, value: bytes) -> bool:
        """Whether its number is not beyond the highest of those that begin alike."""
        match = _NUMBERED.match(value)
        if match is None:
            return False
        stem, number, highest = match[1], int(match[2]), self._highest
        if highest is not None and highest[0] == stem and number <= highest[1]:
            return True
        self._highest = (stem, number)
        return False
