"""What became of an event at `applied`: the words of docs/design.md §3, as an enum that `applied().report` takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """The final result of one event; each value is one of semconv.RESULTS."""

    APPLIED = "applied"
    IGNORED = "ignored"
    PARTIAL = "partial"
    RAISED = "raised"
    OVERFLOW_DROPPED = "overflow_dropped"
    DUPLICATE = "duplicate"
    GAP = "gap"
    REORDERED = "reordered"
    BUFFERED = "buffered"
    STALL_FLUSHED = "stall_flushed"
    WRONG_STREAM = "wrong_stream"
    AFTER_TERMINAL = "after_terminal"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an event: the result, in words why, and of a `partial` one the names of the parts applied.

    `applied().report(event, outcome.result, parts=outcome.parts)` reports it; `parts` None means all or nothing.
    """

    result: Result
    reason: str
    parts: tuple[str, ...] | None = None

    @property
    def is_applied(self) -> bool:
        """Whether the event is part of the answer now, as a whole."""
        return self.result in (Result.APPLIED, Result.STALL_FLUSHED)
