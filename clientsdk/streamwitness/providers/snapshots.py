"""What a provider's whole text confirms of its own numbers: which were lost, doubled or moved on the way to here.

A whole text that differs from its deltas has many causes: a hop that filters deltas, a server that trims, an event of a
kind that nobody here knows. It confirms what the numbers say only where the deltas, in the order of their numbers and
each once, are that text but for the places of missing numbers, and where it has more than white space at such a place.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Final

MAX_KEPT: Final = 1 << 16
"""Bytes of deltas that one stream keeps behind its first odd number."""
MAX_ODD: Final = 256
"""Events of one place that came again or late, and are kept."""
_Found = dict[str, list[int]]
"""Kind of fault → numbers (`gap`) or positions of the events."""


class Kept:
    """The deltas of one place: size and checksum of those up to the first odd number, then each by its number."""

    __slots__ = ("again", "begins", "check", "late", "pieces", "size")

    def __init__(self, size: int, check: int, begins: int) -> None:
        self.size, self.check = size, check
        self.begins = begins
        """A number at which the place had begun: only those behind it can be missing in it."""
        self.pieces: dict[int, bytes] = {}
        self.again: list[int] = []
        self.late: list[int] = []

    def add(self, number: int, content: bytes, came: str, position: int) -> None:
        """A delta, and whether its number came `late` or `again`."""
        if came:
            (self.late if came == "late" else self.again).append(position)
        if came != "again":
            self.pieces[number] = content

    def explained(self, text: bytes, missing: Mapping[int, int], end: int) -> _Found:
        """What this whole text, told by the event with number `end`, confirms."""
        if max(len(self.again), len(self.late)) > MAX_ODD or len(text) < self.size:
            return {}
        runs, gaps = self._runs(sorted(missing), end)
        spaces = _spaces(text, self.size, runs) if zlib.crc32(text[: self.size]) == self.check else None
        if spaces is None:
            return {}
        found: _Found = {}
        if lost := [number for gap, more in zip(gaps, spaces, strict=True) if more.strip() for number in gap]:
            found["gap"] = lost
        if self.again and not any(gap for gap, more in zip(gaps, spaces, strict=True) if not more.strip()):
            found["duplicate"] = self.again
        elif self.late and not gaps:
            found["reorder"] = self.late
        return found

    def _runs(self, missing: Sequence[int], end: int) -> tuple[list[bytes], list[list[int]]]:
        """Texts without a missing number within them, and the missing numbers between each two of them.

        The first one goes on from what was not kept; the last one is empty where numbers are missing at the end.
        """
        runs: list[list[bytes]] = [[]]
        gaps: list[list[int]] = []
        at = self.begins
        for number, piece in [*sorted(self.pieces.items()), (end, b"")]:
            if between := [m for m in missing if at < m < number]:
                gaps.append(between)
                runs.append([])
            runs[-1].append(piece)
            at = max(at, number)
        return [b"".join(run) for run in runs], gaps


def _spaces(text: bytes, start: int, runs: Sequence[bytes]) -> list[bytes] | None:
    """What stands between the runs wherever they may lie in the text; None where it is not made of them so.

    The first one begins at `start`, the last one ends the text. Of those between, the space is what is left from the
    last place where the one before can end to the first where the one behind can begin.
    """
    first, last = runs[0], runs[-1]
    if len(runs) == 1:
        return [] if text[start:] == first else None
    begin, end = start + len(first), len(text) - len(last)
    if begin > end or not text.startswith(first, start) or not text.endswith(last):
        return None
    starts, at = list[int](), begin
    for run in runs[1:-1]:
        found = text.find(run, at, end)
        if found < 0:
            return None
        starts.append(found)
        at = found + len(run)
    ends, at = list[int](), end
    for run in reversed(runs[1:-1]):
        at = text.rfind(run, begin, at)
        ends.append(at + len(run))
    return [text[a:b] for a, b in zip([begin, *reversed(ends)], [*starts, end], strict=True)]
