"""For a slow consumer: deltas wait in order, merged where they belong together, in bounded memory, and none is lost.

What is bounded is what waits: a source that is asked to wait does not read on, and the network's own flow control
passes that upstream. `streamwitness.pacing.pace` drives this with asyncio.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

LIMIT_BYTES: Final = 1 << 16
"""Text that waits for the consumer at most, in UTF-8 bytes; a longer delta may wait alone."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What one slot has to show next: one delta, or several that followed one another."""

    slot: str
    text: str
    deltas: int


class _Run:
    __slots__ = ("fragments", "slot")

    def __init__(self, slot: str) -> None:
        self.slot = slot
        self.fragments: list[str] = []


class Paced:
    """A bounded queue of deltas. `limit` is in bytes of UTF-8."""

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._runs: deque[_Run] = deque()
        self.pending = 0
        """Bytes that wait; a delta without any counts as one."""

    def offer(self, slot: str, delta: str) -> bool:
        """Take a delta; False, and nothing is taken, where it has to be offered again once something was taken out."""
        size = len(delta.encode("utf-8", "surrogatepass")) or 1  # an empty one takes room, too
        if self.pending and self.pending + size > self._limit:
            return False
        if not self._runs or self._runs[-1].slot != slot:
            self._runs.append(_Run(slot))
        self._runs[-1].fragments.append(delta)
        self.pending += size
        return True

    def take(self) -> list[Rendered]:
        """All that waits, in order: neighbours of one slot as one."""
        rendered = [Rendered(run.slot, "".join(run.fragments), len(run.fragments)) for run in self._runs]
        self._runs.clear()
        self.pending = 0
        return rendered
