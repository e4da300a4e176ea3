"""What became of an event at `applied`: the words of docs/design.md §3, as an enum that `applied().report` takes."""

from __future__ import annotations

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
