"""The ordered reducer: applies events in sequence, once each, and fails closed.

After a gap nothing more is applied: the answer stays a true prefix, instead of a text with a hole in it. What is
refused has a reason, looked up in this order:

| event | result | afterwards |
|---|---|---|
| of another stream than the first | `wrong_stream` | goes on |
| after the completing event, a second completion included | `after_terminal` | goes on |
| below the next one expected | `duplicate` | goes on (`duplicates="suppress"`), or closed (`"reject"`) |
| below one that was already seen, and refused | `reordered` | closed already |
| above the next one expected | `gap` | closed |
| the next one, after anything closed the reducer | `gap` | closed already |
| the next one, but without the delta it should carry | `malformed` | closed |
| the next one | `applied`, or what `apply` says | goes on; closed where `apply` says neither applied nor `ignored` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from .results import Outcome, Result

T = TypeVar("T")

Duplicates = Literal["suppress", "reject"]
"""What becomes of the answer at a duplicate: it is left out and the answer goes on, or the answer is given up."""


def _always(_event: object) -> bool:
    return True


class Ordered(Generic[T]):
    """Hands events to `apply` in order.

    `first` is the sequence expected first, `stream` the stream's id (None: that of the first event applied), `whole`
    tells whether an event carries the delta that its kind must have. No I/O, no clock, nothing buffered. Not
    thread-safe.
    """

    def __init__(
        self,
        apply: Callable[[T], object],
        *,
        first: int = 0,
        stream: str | None = None,
        duplicates: Duplicates = "suppress",
        whole: Callable[[T], bool] = _always,
    ) -> None:
        self._apply = apply
        self._stream = stream
        self._duplicates, self._whole = duplicates, whole
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
        as not applied, and everything after it is refused. An Outcome that `apply` returns (`Answer.apply` does) is the
        event's.
        """
        refused = self._refusal(sequence, stream, final) or self._hollow(event, sequence)
        if refused is not None:
            return refused
        try:
            said = self._apply(event)
        except BaseException:
            self.is_broken = True
            raise
        if self._stream is None:
            self._stream = stream
        self._seen = sequence
        outcome = said if isinstance(said, Outcome) else Outcome(Result.APPLIED, f"event {sequence} is the next one")
        if outcome.is_applied or outcome.result is Result.IGNORED:
            self.expected = sequence + 1
            self.is_complete = final
        else:
            self.is_broken = True
        return outcome

    def _refusal(self, sequence: int, stream: str | None, final: bool) -> Outcome | None:
        if stream is not None and self._stream is not None and stream != self._stream:
            return Outcome(Result.WRONG_STREAM, f"event {sequence} is of another stream")
        if self.is_complete:
            again = "completes again" if final else "comes"
            return Outcome(Result.AFTER_TERMINAL, f"event {sequence} {again} after the answer was complete")
        if sequence < self.expected:
            self.is_broken = self.is_broken or self._duplicates == "reject"
            return Outcome(Result.DUPLICATE, f"event {sequence} was applied already")
        if sequence <= self._seen:
            return Outcome(Result.REORDERED, f"event {sequence} comes after event {self._seen}")
        if sequence > self.expected:
            self.is_broken = True
            self._seen = max(self._seen, sequence)
            return Outcome(Result.GAP, f"event {self.expected} is missing before event {sequence}")
        if self.is_broken:
            self._seen = sequence
            return Outcome(Result.GAP, f"event {sequence} comes after the answer was given up")
        return None

    def _hollow(self, event: T, sequence: int) -> Outcome | None:
        if self._whole(event):
            return None
        self.is_broken = True
        self._seen = sequence
        return Outcome(Result.MALFORMED, f"event {sequence} lacks the delta that its kind must have")
