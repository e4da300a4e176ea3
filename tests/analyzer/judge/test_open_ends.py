"""A hop with an open end: what was gone past is missing, and only against the whole is anything too many (§7.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from streamwitness_analyzer.judge.compare.align import compare
from streamwitness_analyzer.judge.compare.open_ends import anchor
from tests.analyzer.judge.views import view

WORDS = list(range(1, 31))
CUTS = (10, 20)
Told = list[tuple[str, int, bool]]


def told(before: Sequence[int], after: Sequence[int], *, ends: tuple[bool, bool] = (True, True), peer: bool) -> Told:
    """Kind, count and exactness of each change; `ends`: whether the closing block of each point is held."""
    a, b = view("egress", before, CUTS, closed=ends[0]), view("wire", after, CUTS, closed=ends[1])
    return [(change.kind, change.count, change.exact) for change in compare(a, b, peer=peer).changes]


def test_what_a_reader_that_stopped_never_came_to_is_not_missing() -> None:
    """Its own stop, with all before it in order."""
    assert told(WORDS, WORDS[:15], peer=False) == []


def test_what_it_went_past_is_missing_or_late() -> None:
    """It read on behind the hole, and might have been given the event later."""
    assert told(WORDS, [*WORDS[:8], *WORDS[9:20]], peer=False) == [("gap_or_late", 1, False)]


def test_a_reader_that_was_cut_off_has_lost_at_least_what_is_known_to_have_been_sent() -> None:
    """The end of what was sent is not known: there may have been more of it."""
    assert told(WORDS, WORDS[:15], ends=(False, True), peer=True) == [("tail", 5, False)]


def test_nothing_is_too_many_while_the_end_of_what_was_sent_is_not_known() -> None:
    """Rule 7: more may have come from there; whatever differs before is told without a word on what was added."""
    after = [*WORDS[:8], 900, *WORDS[8:]]
    assert told(WORDS, after, ends=(True, False), peer=False) == [("fabricated", 1, False)]
    assert "fabricated" not in {kind for kind, _, _ in told(WORDS, after, ends=(False, False), peer=False)}


@pytest.mark.parametrize(
    ("after", "due"),
    [(WORDS[:12], 12), ([*WORDS[:4], *WORDS[9:14]], 14), ([1, 5, 3, 9], 0)],
    ids=["a beginning", "with a hole", "no three neighbours"],
)
def test_how_much_was_due(after: Sequence[int], due: int) -> None:
    """Up to the furthest three neighbours that both have once: a copy further on would be an accident."""
    assert anchor(view("egress", WORDS), view("wire", after)) == due


def test_of_equal_events_nothing_tells_how_much_was_due() -> None:
    """Any run of them stands anywhere."""
    assert anchor(view("egress", [7] * 30), view("wire", [7] * 12)) == 0
