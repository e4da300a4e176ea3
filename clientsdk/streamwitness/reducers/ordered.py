"""The ordered reducer: applies events in sequence, once each, and fails closed.

After a gap nothing more is applied: the answer stays a true prefix, instead of a text with a hole in it. What is
refused has a reason, looked up in this order:

| event | result |
|---|---|
| of another stream than the first | `wrong_stream` |
| after the completing event, a second completion included | `after_terminal` |
| below the next one expected | `duplicate` |
| below one that was already seen, and refused | `reordered` |
| above the next one expected | `gap` |
| the next one, after the reducer raised on an earlier one | `gap` |
| the next one | `applied` |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .results import Result

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an event: the result, and in words why; `is_applied` is all that most callers ask."""

    result: Result
    reason: str

    @property
    def is_applied(self) -> bool:
        """Whether the event is part of the answer now."""
        return self.result is Result.APPLIED


class Ordered(Generic[T]):
    """Hands events to `apply` in order.

    `first` is the sequence expected first, `stream` the stream's id (None: that of the first event applied).
    No I/O, no clock, nothing buffered. Not thread-safe.
    """

    def __init__(self, apply: Callable[[T], object], *, first: int = 0, stream: str | None = None) -> None:
        self._apply = apply
        self._stream = stream
        self._seen = first - 1
        self.expected = first
        """The sequence that will be applied next."""
        self.is_complete = False
        """Whether the completing event was applied."""
        self.is_broken = False
        """Whether something was lost or failed, so that nothing will be applied any more."""

    def offer(self, event: T, *, sequence: int, stream: str | None = None, final: bool = False) -> Outcome:
        """Apply `event` if it is the next one, else refuse it and change nothing.

        `final` marks the event that completes the answer. What `apply` raises is raised here; the event then counts
        as not applied, and everything after it is refused.
        """
        refused = self._refusal(sequence, stream, final)
        if refused is not None:
            return refused
        try:
            self._apply(event)
        except BaseException:
            self.is_broken = True
            raise
        if self._stream is None:
            self._stream = stream
        self._seen, self.expected = sequence, sequence + 1
        self.is_complete = final
        return Outcome(Result.APPLIED, f"event {sequence} is the next one")

    def _refusal(self, sequence: int, stream: str | None, final: bool) -> Outcome | None:
        if stream is not None and self._stream is not None and stream != self._stream:
            return Outcome(Result.WRONG_STREAM, f"event {sequence} is of another stream")
        if self.is_complete:
            again = "completes again" if final else "comes"
            return Outcome(Result.AFTER_TERMINAL, f"event {sequence} {again} after the answer was complete")
        if sequence < self.expected:
            return Outcome(Result.DUPLICATE, f"event {sequence} was applied already")
        if sequence <= self._seen:
            return Outcome(Result.REORDERED, f"event {sequence} comes after event {self._seen}")
        if sequence > self.expected or self.is_broken:
            self.is_broken = True
            self._seen = max(self._seen, sequence)
            return Outcome(Result.GAP, f"event {self.expected} is missing before event {sequence}")
        return None
