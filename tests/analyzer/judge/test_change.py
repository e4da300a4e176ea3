"""What a judged hop says: neighbouring changes of one kind as one, and what that one may still claim."""

from __future__ import annotations

from streamwitness_analyzer.judge.compare.change import MOST, Change, Proof, faulty, merged
from tests.analyzer.judge.views import view

A = view("egress", list(range(1, 201)))


def gap(place: int, *, count: int = 1, exact: bool = True, placed: bool = True) -> Change:
    """A lost event, or some that may stand there."""
    return Change("gap", count, exact, "before", (place, place), (place, place), placed, ((place, count),))


def test_a_run_of_lost_events_is_one_fault() -> None:
    """It keeps its place, and adds up."""
    (one,) = merged([gap(4), gap(3), gap(5)], A)
    assert (one.count, one.span, one.exact, one.placed) == (3, (3, 5), True, True)
    assert one.values == ((3, 1), (4, 1), (5, 1))


def test_losses_apart_are_two() -> None:
    """Something that came stands between them."""
    assert [change.span for change in merged([gap(3), gap(9)], A)] == [(3, 3), (9, 9)]


def test_what_is_not_certain_of_one_is_not_certain_of_the_run() -> None:
    """Neither its count nor its place."""
    (one,) = merged([gap(3), gap(4, exact=False, placed=False)], A)
    assert (one.exact, one.placed) == (False, False)


def test_a_loss_at_the_end_is_a_tail_where_its_place_is_certain() -> None:
    """Else it may have stood elsewhere."""
    assert merged([gap(199)], A)[0].kind == "tail"
    assert merged([gap(199, placed=False)], A)[0].kind == "gap"


def test_of_very_many_all_of_a_kind_are_one() -> None:
    """From the first to the last, of which many came."""
    (one,) = merged([gap(2 * i) for i in range(MOST + 1)], A)
    assert (one.count, one.span, one.placed) == (MOST + 1, (0, 2 * MOST), False)


def test_all_changes_of_a_hop_have_its_proof() -> None:
    """Whatever was said of each before."""
    hop = faulty([gap(3), gap(9)], Proof("totals"), prefix=3)
    assert (hop.status, hop.prefix, {change.proof.case for change in hop.changes}) == ("faulty", 3, {"totals"})
