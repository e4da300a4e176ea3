"""The reorder buffer: sorts events that come out of order, within bounds, and says what it had to give up.

    next one expected     released at once, and with it everything that waited for it
    above it              waits, until what is missing comes, or for at most `max_wait`; then the hole is given up:
                          the event behind it is released as `stall_flushed`, and counted in `flushes`
    buffer full           the event that comes is dropped (`overflow_dropped`), the ones that wait keep their place
    below it              `duplicate`, or `reordered` where it comes after its hole was given up

No I/O and no clock: `now` is a monotonic time in nanoseconds that the caller took.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from .results import Outcome, Result

T = TypeVar("T")

MAX_PENDING: Final = 500
"""Events that wait at most."""

MAX_WAIT_NS: Final = 2_000_000_000
"""How long an event waits at most for the ones before it."""


@dataclass(frozen=True, slots=True)
class Released(Generic[T]):
    """An event with its final outcome. Where `outcome.is_applied`, it is the caller's to apply, in this order."""

    event: T
    sequence: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[T]):
    event: T
    since: int


class Reorder(Generic[T]):
    """Gives events back in sequence, each exactly once with its outcome; not thread-safe.

    `first` is the sequence expected first, `max_pending` how many events wait at most, `max_wait` for how many ns.
    """

    def __init__(self, *, first: int = 0, max_pending: int = MAX_PENDING, max_wait: int = MAX_WAIT_NS) -> None:
        self.expected = first
        """The sequence that will be released next."""
        self.flushes = 0
        """How many holes were given up."""
        self._max_pending, self._max_wait = max_pending, max_wait
        self._waiting: dict[int, _Waiting[T]] = {}  # in order of arrival
        self._given_up: deque[range] = deque(maxlen=max_pending)

    @property
    def pending(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    @property
    def due(self) -> int | None:
        """When `tick` will have a hole to give up, in the time of `now`; None while nothing waits."""
        first = next(iter(self._waiting.values()), None)
        return None if first is None else first.since + self._max_wait

    def offer(self, event: T, *, sequence: int, now: int) -> list[Released[T]]:
        """Take an event; returns what is settled by it, and by the time that has passed."""
        released = self.tick(now)
        if sequence < self.expected:
            return [*released, Released(event, sequence, self._late(sequence))]
        if sequence in self._waiting:
            return [*released, Released(event, sequence, Outcome(Result.DUPLICATE, f"event {sequence} waits already"))]
        if sequence == self.expected:
            released.append(self._release(event, Outcome(Result.APPLIED, f"event {sequence} is the next one")))
            return released + self._run()
        if len(self._waiting) >= self._max_pending:
            reason = f"event {sequence} is dropped: {self._max_pending} wait for event {self.expected} already"
            return [*released, Released(event, sequence, Outcome(Result.OVERFLOW_DROPPED, reason))]
        self._waiting[sequence] = _Waiting(event, now)
        return released

    def tick(self, now: int) -> list[Released[T]]:
        """Give up the holes that somebody has waited behind for too long."""
        released: list[Released[T]] = []
        while (due := self.due) is not None and now >= due:
            released += self._flush(f"waited {self._max_wait / 1e9:g} s for")
        return released

    def close(self) -> list[Released[T]]:
        """Nothing more will come: give up every hole."""
        released: list[Released[T]] = []
        while self._waiting:
            released += self._flush("the stream ended without")
        return released

    def _flush(self, why: str) -> list[Released[T]]:
        """Give up the hole before the first event that waits."""
        hole = range(self.expected, min(self._waiting))
        self._given_up.append(hole)
        self.flushes += 1
        self.expected = hole.stop
        names = f"event {hole.start}" if len(hole) == 1 else f"events {hole.start}–{hole.stop - 1}"
        event = self._waiting.pop(self.expected).event
        return [self._release(event, Outcome(Result.STALL_FLUSHED, f"{why} {names}")), *self._run()]

    def _run(self) -> list[Released[T]]:
        """What waited for nothing but the events just released."""
        released: list[Released[T]] = []
        while (waiting := self._waiting.pop(self.expected, None)) is not None:
            outcome = Outcome(Result.APPLIED, f"event {self.expected} waited for its turn")
            released.append(self._release(waiting.event, outcome))
        return released

    def _release(self, event: T, outcome: Outcome) -> Released[T]:
        self.expected += 1
        return Released(event, self.expected - 1, outcome)

    def _late(self, sequence: int) -> Outcome:
        if any(sequence in hole for hole in self._given_up):
            return Outcome(Result.REORDERED, f"event {sequence} comes after it was given up")
        return Outcome(Result.DUPLICATE, f"event {sequence} was released already")
