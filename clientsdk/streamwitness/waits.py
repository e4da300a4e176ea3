"""The longest waits of one point, and after which of its events they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .semconv import (
    FIRST_EVENT_MS,
    HOLD_AFTER,
    HOLD_MS,
    HOLD_TOTAL_MS,
    LAST_WAIT_MS,
    PROGRESS_GAP_AFTER,
    PROGRESS_GAP_MS,
    READ_WAIT_AFTER,
    READ_WAIT_MS,
    TIME_TO_FIRST_CHUNK,
)

_MS: Final = 1_000_000


class Longest:
    """The longest of many waits, in ns, and after which position it was."""

    __slots__ = ("after", "ns")

    def __init__(self) -> None:
        self.ns = 0
        self.after = -1

    def set(self, ns: int, after: int) -> None:
        """A longer one was found."""
        self.ns, self.after = ns, after


class Waits:
    """What one point waited for: `read_wait` for what is upstream, `hold` for its consumer, `gap` between two events.

    All times are monotonic, in ns. `started` is when the point began to look.
    """

    __slots__ = ("_started", "first_event", "gap", "held", "hold", "last_event", "last_wait", "read_wait")

    def __init__(self, started: int) -> None:
        self.read_wait, self.hold, self.gap = Longest(), Longest(), Longest()
        self.first_event = self.last_event = 0
        self.held = self.last_wait = 0
        """How long the consumer did not ask in all, and how long upstream had been waited for at the end."""
        self._started = started

    def follow(self, times: Iterable[int], after: int) -> None:
        """Further events came at these times, behind the one at position `after`; the very first ends no gap."""
        last, longest = self.last_event, self.gap.ns
        for now in times:
            if now - last > longest:
                if last:
                    longest = now - last
                    self.gap.set(longest, after)
                else:
                    self.first_event = now
            last = now
            after += 1
        self.last_event = last

    def attributes(self) -> dict[str, Any]:
        """For the closing block; a wait that never was is left out."""
        out: dict[str, Any] = {}
        if self.first_event:
            waited = self.first_event - self._started
            out[FIRST_EVENT_MS], out[TIME_TO_FIRST_CHUNK] = waited // _MS, waited / 1_000_000_000
        longest = (
            (self.read_wait, READ_WAIT_MS, READ_WAIT_AFTER),
            (self.hold, HOLD_MS, HOLD_AFTER),
            (self.gap, PROGRESS_GAP_MS, PROGRESS_GAP_AFTER),
        )
        for wait, ms, after in longest:
            if wait.ns:
                out[ms], out[after] = wait.ns // _MS, wait.after
        for ns, ms in ((self.held, HOLD_TOTAL_MS), (self.last_wait, LAST_WAIT_MS)):
            if ns >= _MS:
                out[ms] = ns // _MS
        return out
