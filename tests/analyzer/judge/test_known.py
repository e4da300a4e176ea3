"""A window in which every row is known: exact counts, and a place only where there is no other (§7.2 rules 4, 8)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from streamwitness_analyzer.judge.compare.align import compare
from streamwitness_analyzer.judge.compare.known import left_over, slide, surplus_kind
from tests.analyzer.judge.views import digests, view

WORDS = list(range(1, 31))


def told(before: Sequence[int], after: Sequence[int]) -> list[tuple[str, int, bool, tuple[int, int], bool]]:
    """Kind, count, exactness, span and whether its place is certain, of each change."""
    changes = compare(view("egress", before), view("wire", after), peer=True).changes
    return [(c.kind, c.count, c.exact, c.span, c.placed) for c in changes]


def test_a_lost_run_has_its_place() -> None:
    """Nothing beside it is equal to its ends."""
    assert told(WORDS, [*WORDS[:10], *WORDS[13:]]) == [("gap", 3, True, (10, 12), True)]
    assert told(WORDS, WORDS[:20]) == [("tail", 10, True, (20, 29), True)]


def test_a_lost_run_slides_over_events_that_are_equal_to_its_ends() -> None:
    """Which of the equal ones is missing nobody can know: the place is the hull over all of them."""
    same = [1, 2, 7, 7, 7, 7, 3]
    assert told(same, [1, 2, 7, 7, 7, 3]) == [("gap", 1, True, (2, 5), False)]
    assert slide(digests(same), 3, 1) == (2, 5, True)
    assert slide([1, None, 7, 7, 3], 2, 1) == (0, 3, False)


def test_others_than_one_run_may_be_lost() -> None:
    """Of a, b, a, b the first two, the last two, or b and a in the middle leave the same rest."""
    assert left_over(digests([1, 2, 1, 2]), 1, 2) == (0, 3)


@pytest.mark.parametrize("after", [900, 31])
def test_one_event_in_the_place_of_another_is_changed(after: int) -> None:
    """One place that differs is neither lost nor invented."""
    assert told(WORDS, [*WORDS[:10], after, *WORDS[11:]]) == [("corrupt", 1, True, (10, 10), True)]


def test_an_event_that_both_have_and_that_stands_elsewhere_is_displaced() -> None:
    """Neither lost nor doubled."""
    (change,) = told(WORDS, [*WORDS[:10], *WORDS[11:20], WORDS[10], *WORDS[20:]])
    assert change[:3] == ("reorder", 1, True)


def test_a_copy_is_no_invention_and_an_invention_no_copy() -> None:
    """What A has, or B besides, was doubled; what neither can have held is new."""
    a, lost, b = view("egress", WORDS), view("egress", WORDS, (10, 20), (1,)), view("wire", [*WORDS, 3, 900])
    assert surplus_kind(a, b, digests([3])[0], 1) == "duplicate"
    assert surplus_kind(a, b, digests([900])[0], 1) == "fabricated"
    assert surplus_kind(lost, view("wire", [*WORDS, 900], (5,), (0,)), digests([900])[0], 1) == "extra"


def test_many_changes_are_told_as_one_of_a_kind() -> None:
    """A stream that was garbled throughout is no list of events."""
    words = list(range(1, 301))
    changes = told(words, [word + 5_000 if word % 2 else word for word in words])
    assert {kind for kind, *_ in changes} == {"gap", "fabricated"}
    assert [count for _, count, *_ in changes] == [150, 150]
