"""What a provider's stream says against itself: kinds, counts and places, for `stream.upstream.faults`."""

from __future__ import annotations

from .base import MAX_TRACKED

_Run = tuple[int, int, int]
"""How many events, the position of the first and of the last."""


class Contradictions:
    """What was noticed of one stream; where nobody counts its events, nothing is told."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[str, _Run] = {}

    def note(self, kind: str, run: _Run) -> None:
        """So many more events, between these positions."""
        self._found[kind] = joined(self._found.get(kind), run)

    def told(self, **odd: int | None) -> tuple[str, ...]:
        """`kind count first last` each, in order of the kinds; a `+` behind a count says that it may be more.

        `odd` are the events of a kind that came oddly at all: where all of them are faults, the count is exact.
        """
        known = sorted(item for item in self._found.items() if item[1][1] >= 0)
        return tuple(
            f"{kind} {count}{'' if odd.get(kind) == count else '+'} {first} {last}"
            for kind, (count, first, last) in known
        )


class Astray:
    """Output for blocks that were never begun: a fault only where such a block ends, as one does that had begun.

    Many servers that imitate a provider begin and end no blocks at all, and nothing is lost by that.
    """

    __slots__ = ("_begun", "_runs", "broken")

    def __init__(self) -> None:
        self._begun: set[int] = set()
        self._runs: dict[int, _Run] = {}
        self.broken = Contradictions()

    def begins(self, index: int | None) -> None:
        """A block begins, be it late; more of them than are told apart make everything unknown."""
        if index is None:
            return
        self._runs.pop(index, None)
        if len(self._begun) <= MAX_TRACKED:
            self._begun.add(index)

    def says(self, index: int | None, position: int) -> None:
        """An event with output for a block that is not open."""
        known = index is not None and index not in self._begun and len(self._begun) <= MAX_TRACKED
        if index is not None and known and (index in self._runs or len(self._runs) < MAX_TRACKED):
            self._runs[index] = joined(self._runs.get(index), (1, position, position))

    def ends(self, index: int | None) -> None:
        """A block ends."""
        if index is not None and (run := self._runs.pop(index, None)) is not None:
            self.broken.note("malformed", run)


def joined(one: _Run | None, other: _Run) -> _Run:
    """Two runs of events as one."""
    return other if one is None else (one[0] + other[0], min(one[1], other[1]), max(one[2], other[2]))
