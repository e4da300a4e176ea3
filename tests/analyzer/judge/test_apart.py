"""Kinds of output, each in an order of its own (docs/design.md §7.1)."""

from __future__ import annotations

from bench.truth.build import FINISHED, Event, How
from streamwitness.semconv import FINISH, REASONING, TEXT, TOOL_ARGS, TOOL_START
from streamwitness_analyzer.judge.client.apart import displaced, kinds_of, passed
from streamwitness_analyzer.judge.testimony.records import Record, collect

PARTS = (TEXT, TOOL_START, TEXT, TOOL_ARGS, TEXT | TOOL_ARGS, FINISH)


def record(*parts: int) -> Record:
    """A point whose events carry these."""
    events = [Event(FINISHED if part == FINISH else i + 1, part) for i, part in enumerate(parts)]
    return collect(How("wire").blocks(events)).records[0]


MIXED = record(*PARTS)
KINDS = kinds_of(MIXED, MIXED)


def test_output_of_one_kind_is_not_told_apart() -> None:
    """There is only one order; pieces of a call are of one kind with its beginning."""
    assert kinds_of(record(TEXT, TEXT, FINISH), record(TEXT)) is None
    assert kinds_of(record(TOOL_START, TOOL_ARGS), record(TOOL_START)) is None
    assert kinds_of(record(TEXT, REASONING), record(TEXT)) is not None


def test_calls_may_be_taken_up_before_the_text() -> None:
    """Each kind is in order; a finish that stands before anything is not."""
    assert displaced([1, 3, 0, 2, 4, 5], KINDS) == frozenset()
    assert displaced([1, 3, 0, 2, 4, 5], None) != frozenset()
    assert displaced([5, 0, 2], KINDS) == frozenset([5])


def test_what_is_displaced_within_its_kind_is_displaced() -> None:
    """Two texts in each other's place, with the calls between them."""
    assert len(displaced([2, 1, 0, 3, 5], KINDS)) == 1


def test_who_went_past_an_event_has_taken_up_a_later_one_of_each_of_its_kinds() -> None:
    """A later call says nothing of a text that may still come."""
    assert KINDS is not None
    assert not passed([3], KINDS, 2)
    assert passed([4], KINDS, 2)
    assert passed([5], KINDS, 4)


def test_of_several_calls_no_piece_has_an_order_but_before_the_finish() -> None:
    """No row tells of which call a piece is, and calls may be taken up one after the other, whichever came first."""
    calls = record(TEXT, TOOL_START, TOOL_START, TOOL_ARGS, TOOL_ARGS, TOOL_ARGS, FINISH, TOOL_ARGS)
    kinds = kinds_of(calls, calls)
    assert displaced([0, 2, 4, 1, 3, 5, 6], kinds) == frozenset()
    assert len(displaced([0, 1, 2, 3, 4, 6, 5], kinds)) == 1
    assert kinds is not None
    assert not passed([0, 2, 4], kinds, 3)
    assert passed([0, 2, 6], kinds, 3)


def test_of_one_call_that_is_known_to_be_the_only_one_pieces_have_an_order() -> None:
    """Where the end is not held, another call may have come."""
    one = How("wire").blocks([Event(1, TOOL_START), Event(2, TOOL_ARGS), Event(3, TOOL_ARGS)], [2])
    closed, open_ = collect(one).records[0], collect(one[:1]).records[0]
    assert kinds_of(closed, closed) is None
    assert kinds_of(open_, open_) is not None
