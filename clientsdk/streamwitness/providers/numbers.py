"""A provider's own sequence numbers: the first, the last, those that never came, and those that came oddly.

Holes by themselves prove nothing, for hops that edit leave them; what does is in `snapshots.py`. No more than some
missing numbers are kept one by one: beyond that only their count is known, and nothing is concluded from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MAX_MISSING: Final = 256
"""Missing numbers of a stream that are told apart."""


class Numbers:
    """The numbers of one stream, as they came."""

    __slots__ = ("_beyond", "again", "first", "last", "late", "missing", "odd", "trusted")

    def __init__(self) -> None:
        self.first: int | None = None
        self.last: int | None = None
        """The highest so far."""
        self.missing: dict[int, int] = {}
        """Number that never came so far → position of the event behind the hole."""
        self.odd = False
        """Whether any number was not the one behind the highest."""
        self.trusted = -1
        """The highest before the first odd one: up to it, all came in order."""
        self.again = self.late = 0
        """Events whose number had come before, or whose number had been missing."""
        self._beyond = 0

    @property
    def holes(self) -> int | None:
        """How many are missing between the first and the last; None where there are no numbers."""
        return None if self.first is None else len(self.missing) + self._beyond

    @property
    def known(self) -> bool:
        """Whether each missing number is known."""
        return not self._beyond

    def note(self, number: int | None, at: Callable[[], int]) -> str:
        """The number of an event, None where it has none; gives `late`, `again`, or "" for neither.

        `at` is asked for the event's position where that matters.
        """
        if number is None:
            return ""
        last = self.last
        if last is None:
            self.first = self.last = number
            return ""
        if number == last + 1:
            self.last = number
            return ""
        return self._strange(number, last, at)

    def _strange(self, number: int, last: int, at: Callable[[], int]) -> str:
        if not self.odd:
            self.odd, self.trusted = True, last
        if number <= last:
            late = self.missing.pop(number, None) is not None
            self.late += late
            self.again += not late
            return "late" if late else "again"
        kept = min(number, last + 1 + MAX_MISSING - len(self.missing))
        self.missing.update(dict.fromkeys(range(last + 1, kept), at()))
        self._beyond += number - max(last + 1, kept)
        self.last = number
        return ""
