"""From places on an axis to event positions, and from a point's positions to those of the point before."""

from __future__ import annotations

from bench.truth.build import DELIVERED_BY_SDK, How, answer, handed_on
from streamwitness_analyzer.judge.compare.places import back, judge_views, same
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.judge.testimony.view import View
from tests.analyzer.judge.views import view

ANSWER = answer(range(1, 13))
WORDS = list(range(1, 13))


def said(how: How, events: object) -> View:
    """A view of what the events say."""
    return View(collect(how.blocks(events)).records[0], "semantic")  # type: ignore[arg-type]


def test_a_change_of_what_is_said_is_told_at_the_position_of_its_event() -> None:
    """The role says nothing that is compared: the fifth text is the sixth event."""
    parsed = [event for event in handed_on(ANSWER) if event.text != 5]
    hop = judge_views(said(How("wire"), ANSWER), said(How("parsed", delivers=DELIVERED_BY_SDK), parsed), peer=True)
    assert [(change.kind, change.span) for change in hop.changes] == [("gap", (5, 5))]


def test_on_an_intact_hop_of_bytes_a_position_is_the_same() -> None:
    """Both count the same events."""
    a, b = view("egress", WORDS), view("wire", WORDS)
    assert back(a, b, intact=True) is same
    assert same(4) == (4, 4, True)


def test_behind_a_loss_a_position_is_found_by_its_neighbours() -> None:
    """What came as the third was sent as the fourth."""
    a, b = view("egress", WORDS), view("wire", [*WORDS[:2], *WORDS[3:]])
    mapped = back(a, b, intact=False)
    assert [mapped(p) for p in (1, 2, 10)] == [(1, 1, True), (3, 3, True), (11, 11, True)]


def test_what_the_point_before_never_had_stands_behind_its_neighbour() -> None:
    """And that is not certain."""
    mapped = back(view("egress", WORDS), view("wire", [*WORDS[:2], 900, *WORDS[2:]]), intact=False)
    assert mapped(2) == (2, 2, False)


def test_where_rows_are_lost_a_position_is_a_range() -> None:
    """Up to the next event that is known at both."""
    a, b = view("egress", WORDS, (4, 8), (1,)), view("wire", [*WORDS[:5], *WORDS[6:]], (4, 8))
    low, high, sure = back(a, b, intact=False)(5)
    assert (low <= 6 <= high, sure) == (True, False)
