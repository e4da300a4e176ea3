"""A hop by digests where rows are lost, and where the stream is made to be hard: right, and at a bounded cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.truth.build import Event, How
from streamwitness.blocks import Block
from streamwitness.semconv import Point
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.judge.compare import align
from streamwitness_analyzer.judge.compare.align import compare
from streamwitness_analyzer.judge.compare.change import Hop
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.judge.testimony.view import View
from tests.analyzer.judge.views import view
from tests.analyzer.judge.work import lines

WORDS = list(range(1, 41))
CUTS = (10, 20, 30)
LONG = 4200
COMPARE = str(Path(align.__file__).parent)


def judged(
    before: Sequence[int],
    after: Sequence[int],
    lost: tuple[Sequence[int], Sequence[int]] = ((), ()),
    *,
    cuts: Sequence[int] | None = CUTS,
    peer: bool = True,
    closed: bool = True,
) -> Hop:
    """The hop, with these blocks lost at the two points."""
    a = view("egress", before, cuts, lost[0], closed=closed)
    return compare(a, view("wire", after, cuts, lost[1]), peer=peer)


def told(hop: Hop) -> list[tuple[Any, ...]]:
    """Kind, count, exactness, place and doubt of each change."""
    return [(c.kind, c.count, c.exact, c.span, not c.placed) for c in hop.changes]


def test_a_loss_in_a_lost_block_has_its_place() -> None:
    """Rule 5: filled in from the other point, it is as if the block had come."""
    after = [word for word in WORDS if word != 15]
    assert told(judged(WORDS, after, ((), (1,)))) == [("gap", 1, True, (14, 14), False)]
    assert told(judged(WORDS, after, ((1,), ()))) == [("gap", 1, True, (14, 14), False)]


def test_an_invented_event_in_a_lost_block_is_told_as_that() -> None:
    """Rule 5: its digest is known by S alone, so nothing is said of what it carried."""
    (change,) = judged(WORDS, [*WORDS[:14], 900, *WORDS[14:]], ((), (1,))).changes
    assert (change.kind, change.count, change.exact, change.span) == ("fabricated", 1, True, (14, 14))
    assert change.values == ()


def test_two_losses_in_a_lost_block_are_decoded() -> None:
    """Rule 5: no guess fits, yet S tells which events they are."""
    after = [word for word in WORDS if word not in (12, 17)]
    (change,) = judged(WORDS, after, ((), (1,))).changes
    assert (change.kind, change.count, change.exact, change.span) == ("gap", 2, True, (11, 16))
    assert sorted(value for value, _ in change.values) == sorted(Event(word).digest for word in (12, 17))


def test_what_was_lost_and_came_again_elsewhere_is_not_counted_by_the_sums() -> None:
    """Rule 5: a lost run began like an event that came twice; the sums tell the rest of it, so the count is a bound."""
    before = [*WORDS[:20], WORDS[10], *WORDS[21:]]
    after = [*before[:11], before[10], *before[11:20], *before[31:]]
    (change,) = judged(before, after, ((), (0, 1)), cuts=(14, 24)).changes
    assert (change.kind, change.count, change.exact) == ("gap", 10, False)
    (change,) = judged(before, [*before[:20], *before[30:]], ((), (0, 1)), cuts=(14, 24)).changes
    assert (change.kind, change.count, change.exact) == ("gap", 10, True)


def miscounted(point: Point, *, rows: bool = True) -> list[Block]:
    """The blocks of a point whose closing block tells of one event more than its sums are made of."""
    *others, closing = How(point, expected=("egress", "wire")).blocks([Event(word) for word in WORDS], CUTS)
    totals = closing.totals | {"events": len(WORDS) + 1}
    return [*others, replace(closing, totals=totals, rows=closing.rows if rows else None)]


@pytest.mark.parametrize("point", ["egress", "wire"])
def test_the_same_sums_of_another_count_discredit_who_tells_them(point: Point) -> None:
    """No event weighs nothing: nothing came more and nothing was lost, one record contradicts itself."""
    other: Point = "wire" if point == "egress" else "egress"
    blocks = [
        *miscounted(point),
        *How(other, expected=("egress", "wire")).blocks([Event(word) for word in WORDS], CUTS),
    ]
    verdict = judge(blocks, settled=True)
    assert (verdict["integrity"], verdict["findings"], verdict["telemetry"]["conflicts"]) == ("unproven", [], 1)


def test_of_two_without_rows_nobody_knows_who_miscounted() -> None:
    """The hop is unproven, and says why."""
    whole = [replace(b, rows=None) for b in How("egress").blocks([Event(word) for word in WORDS])]
    a, b = (View(collect(blocks).records[0], "payload") for blocks in (whole, miscounted("wire", rows=False)))
    hop = compare(a, b, peer=True)
    assert (hop.status, hop.changes) == ("unproven", ())
    assert "same sums" in hop.reason


def test_a_copy_is_a_duplicate_where_the_sums_say_that_it_was_there() -> None:
    """Rule 5: what A's lost rows hold is known from B's, all of which are held."""
    after = [*WORDS[:12], 16, *WORDS[12:16], 18, *WORDS[16:]]
    (change,) = judged(WORDS, after, ((1,), ())).changes
    assert (change.kind, change.count, change.exact) == ("duplicate", 2, True)


def test_an_addition_is_no_invention_while_a_lost_row_could_hold_it() -> None:
    """Rule 5: with rows lost at both points and no answer, only the number is told."""
    after = [*WORDS[:12], 900, 901, *WORDS[12:]]
    assert told(judged(WORDS, after, ((1,), (1,)))) == [("extra", 2, False, (10, 21), True)]


def test_what_cannot_be_decoded_stays_a_bound() -> None:
    """Rule 5: two events of a lost block of A are lost, which nobody else ever had."""
    after = [word for word in WORDS if word not in (12, 17)]
    assert told(judged(WORDS, after, ((1,), ()))) == [("gap", 2, False, (10, 19), True)]


def test_very_many_changes_are_told_as_one() -> None:
    """A stream that was garbled throughout is no list of thousands of findings; the counts stay exact."""
    unique = list(range(1, LONG + 1))
    garbled = [word if i % 2 else word + 10_000 for i, word in enumerate(unique)]
    kinds = [(c.kind, c.count, c.exact) for c in judged(unique, garbled, cuts=None).changes]
    assert kinds == [("fabricated", LONG // 2, True), ("gap", LONG // 2, True)]


# --------------------------------------------------------------------------- cost


STREAMS: dict[str, Callable[[int], list[int]]] = {
    "equal": lambda n: [1] * n,
    "period 2": lambda n: [1, 2] * (n // 2),
    "unique": lambda n: list(range(1, n + 1)),
    "few": lambda n: [i * i % 23 + 1 for i in range(n)],
}
FAULTS: dict[str, Callable[[list[int]], list[int]]] = {
    "every other changed": lambda words: [word if i % 2 else word + 10_000 for i, word in enumerate(words)],
    "every other lost": lambda words: words[::2],
    "backwards": lambda words: words[::-1],
    "two far apart": lambda words: [*words[:5], *words[6:-5], *words[-4:]],
}
LOSSES: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "nothing lost": ((), ()),
    "every third block lost": (range(1, 10_000, 3), range(2, 10_000, 3)),
}
SEARCH = 250_000
"""Lines that the one search for the fewest changes may take, however long the stream is (`edits.CELLS`)."""
EACH = 80
"""Lines an event of the stream, at both points, beside it."""


@pytest.mark.parametrize("lost", LOSSES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("stream", STREAMS)
def test_the_work_of_a_hop_is_bounded(stream: str, fault: str, lost: str) -> None:
    """The hardest streams that there are: one search of a fixed size, and so many lines an event, whatever happens."""
    words = STREAMS[stream](LONG // 4)
    after = FAULTS[fault](words)
    cuts = range(40, len(words), 40)
    b = view("wire", after, cuts, _but_last(LOSSES[lost][1], cuts, after))
    for peer, closed in ((True, True), (False, True), (True, False)):
        a = view("egress", words, cuts, _but_last(LOSSES[lost][0], cuts, words), closed=closed)
        assert lines(partial(compare, a, b, peer=peer), COMPARE) < SEARCH + EACH * len(words)


def _but_last(lost: Sequence[int], cuts: Sequence[int], words: Sequence[int]) -> list[int]:
    """These blocks without the closing one."""
    return [index for index in lost if index < sum(cut < len(words) for cut in cuts)]
