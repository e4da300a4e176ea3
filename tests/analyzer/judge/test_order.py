"""Another order at `applied`: whose fault it is, and whether it is one (docs/design.md §7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.truth.build import Event, How, answer, handed_on, path, used
from streamwitness.blocks import Block
from streamwitness.semconv import UPSTREAM_EXCHANGE, UPSTREAM_FAULTS, Point
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 20))
PARSED = handed_on(ANSWER)
APPLIED = used(PARSED)
BEFORE: dict[Point, list[str]] = {
    "ingress": ["reducer"],
    "egress": ["source", "gateway", "reducer"],
    "wire": ["source", "gateway", "transport", "reducer"],
    "parsed": ["source", "gateway", "transport", "parser", "reducer"],
}
"""First point held → who may have made another order at `applied`."""


def found(blocks: Sequence[Block]) -> list[tuple[str, list[str], str]]:
    """Kind, suspects and confidence of each finding."""
    return [(f["kind"], f["suspects"], f["confidence"]) for f in judge(blocks, settled=True)["findings"]]


def swapped(events: Sequence[Event], at: int) -> list[Event]:
    """Two neighbours in each other's place."""
    return [*events[:at], events[at + 1], events[at], *events[at + 2 :]]


@pytest.mark.parametrize(("again", "suspects"), [((9,), ["gateway"]), ((9, 4), ["gateway", "reducer"])])
def test_an_order_that_the_reducer_put_right_accuses_the_one_who_broke_it(
    again: tuple[int, ...], suspects: list[str]
) -> None:
    """Who applies in order what the gateway displaced is no second culprit; who displaces something else is."""
    parsed = handed_on(swapped(ANSWER, 9))
    applied: list[Event] = used(parsed)
    for at in again:
        applied = swapped(applied, at)
    verdict = judge(path(ANSWER, swapped(ANSWER, 9), swapped(ANSWER, 9), parsed, applied), settled=True)
    assert [f["suspects"] for f in verdict["findings"]] == [[name] for name in suspects]
    assert ("m" in verdict["points"][-1]["cells"]) == ("reducer" in suspects)


def test_an_order_is_no_fault_of_the_reducer_where_it_may_have_put_another_right() -> None:
    """The network displaced two events, and nothing is held of the gateway's reading."""
    wire = swapped(ANSWER, 9)
    parsed = handed_on(wire)
    verdict = judge(path(None, ANSWER, wire, parsed, swapped(used(parsed), 9)), settled=True)
    assert [(f["kind"], f["suspects"]) for f in verdict["findings"]] == [("reorder", ["transport"])]


def test_nothing_is_put_right_where_nothing_was_wrong() -> None:
    """A reducer that moves equal texts of an answer in order is not cleared by it."""
    same = answer([7] * 8)
    parsed = handed_on(same)
    verdict = judge(path(same, same, same, parsed, swapped(used(parsed), 3)), settled=True)
    assert [(f["kind"], f["suspects"]) for f in verdict["findings"]] == [("reorder", ["reducer"])]


def test_what_came_as_it_was_sent_needed_no_putting_right_where_no_bytes_tell() -> None:
    """Nor where sums of the bytes did not come: what the events say tells that nothing was wrong."""
    same = answer([7] * 8)
    parsed = handed_on(same)
    blocks = path(same, same, same, parsed, swapped(used(parsed), 3))
    blocks = [replace(b, payload_o=None) if b.point in ("ingress", "egress") else b for b in blocks]
    assert found(blocks) == [("reorder", ["reducer"], "certain")]


@pytest.mark.parametrize(
    "lost",
    [{"applied": (1,)}, {"applied": (1, 2)}, {"applied": (2,)}, {"parsed": (1,)}],
    ids=["a block of reports", "two", "the closing one", "of what was handed on"],
)
def test_what_was_put_right_is_no_fault_of_the_reducer_where_rows_are_lost(lost: dict[str, tuple[int, ...]]) -> None:
    """Its reports are in the order of what was sent, as far as they came; those that did not look skipped."""
    wire = swapped(ANSWER, 9)
    parsed = handed_on(wire)
    blocks = path(ANSWER, ANSWER, wire, parsed, swapped(used(parsed), 9), cuts=lambda _n: (10, 15))
    held = [block for block in blocks if block.index not in lost.get(block.point, ())]
    assert {tuple(f["suspects"]) for f in judge(held, settled=True)["findings"]} == {("transport",)}


@pytest.mark.parametrize("first", BEFORE)
def test_another_order_is_the_reducers_or_that_of_whoever_lies_before_the_first_point(first: Point) -> None:
    """Only gateway in tells how the provider sent it; else it may have put right what somebody had displaced before."""
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED, swapped(APPLIED, 9))
    points = list(BEFORE)
    held = [b for b in blocks if b.point == "applied" or points.index(b.point) >= points.index(first)]
    confidence = "certain" if first == "ingress" else "narrowed"
    assert found(held) == [("reorder", BEFORE[first], confidence)]


def test_what_came_too_late_to_be_taken_may_have_been_displaced_before() -> None:
    """The reducer stopped before it came to an event that, where it was sent, stood in its order."""
    wire = swapped(ANSWER, 9)
    parsed = handed_on(wire)
    stopped = How("applied", of="parsed", end="cancelled")
    taken = swapped(used(parsed), 9)[:10]
    assert found(path(ANSWER, ANSWER, wire, parsed, taken, applied=stopped)) == [("reorder", ["transport"], "certain")]
    lost = [*used(parsed)[:5], *used(parsed)[6:12]]
    assert ("gap_or_late", ["reducer"], "certain") in found(path(ANSWER, ANSWER, wire, parsed, lost, applied=stopped))


def test_an_order_that_was_put_right_in_part_is_no_fault() -> None:
    """Two pairs were displaced, and one of them was put right: the application displaced nothing."""
    wire = swapped(swapped(ANSWER, 9), 4)
    parsed = handed_on(wire)
    verdict = judge(path(ANSWER, ANSWER, wire, parsed, swapped(used(parsed), 9)), settled=True)
    assert {tuple(f["suspects"]) for f in verdict["findings"]} == {("transport",)}
    assert "put that right" in str(verdict["why"])


def test_an_order_that_was_put_right_beside_a_loss_is_no_fault() -> None:
    """An event was refused by an exception: that is the application's own, and its order is not."""
    parsed = handed_on(swapped(ANSWER, 9))
    applied = [replace(e, result="raised") if e.of == 3 else e for e in swapped(used(parsed), 9)]
    blocks = path(ANSWER, ANSWER, swapped(ANSWER, 9), parsed, applied)
    assert found(blocks) == [("reorder", ["transport"], "certain"), ("gap", ["reducer"], "certain")]


@pytest.mark.parametrize("told", [{UPSTREAM_FAULTS: ["reorder 1 9 9"]}, {UPSTREAM_EXCHANGE: "d" * 16}], ids=str)
def test_an_order_proves_nothing_where_gateway_in_is_not_in_that_of_the_provider(told: dict[str, object]) -> None:
    """The provider's own numbers say so, or another gateway lies before it."""
    leg = How("ingress", leg=0, extra=tuple(told.items()))
    verdict = judge(path(ANSWER, ANSWER, ANSWER, PARSED, swapped(APPLIED, 9), ingress=leg), settled=True)
    assert "reducer" not in {name for f in verdict["findings"] for name in f["suspects"]}
    assert verdict["integrity"] != "intact"


def test_a_loss_before_it_displaces_nothing() -> None:
    """What came came in order, so that another one is the reducer's."""
    wire = [*ANSWER[:5], *ANSWER[6:]]
    parsed = handed_on(wire)
    blocks = path(ANSWER, ANSWER, wire, parsed, swapped(used(parsed), 9))
    assert found(blocks) == [("gap", ["transport"], "certain"), ("reorder", ["reducer"], "certain")]


def behind_another(inner: Sequence[Event], read_: Sequence[Event]) -> list[Block]:
    """The reducer displaced two events of what an outer gateway had read from an inner one, which sent `inner`."""
    parsed = handed_on(read_)
    key = "d" * 16
    other = [replace(how, exchange=key, recorder=how.point) for how in (How("ingress", leg=0), How("egress"))]
    sent = path(ANSWER, inner, None, ingress=other[0], egress=replace(other[1], legs=("ingress",)))
    return [*sent, *hop_one(path(read_, read_, read_, parsed, swapped(used(parsed), 9)))]


def hop_one(blocks: Sequence[Block]) -> list[Block]:
    """The same, told by the second gateway on the way and all behind it."""
    return [replace(block, hop=1) for block in blocks]


def test_an_order_behind_two_gateways_is_the_reducers_where_both_are_known_to_have_kept_the_providers() -> None:
    """What the inner one sent is event for event what the outer one read; where it displaced them, nobody knows."""
    assert found(behind_another(ANSWER, ANSWER)) == [("reorder", ["reducer"], "certain")]
    turned = swapped(ANSWER, 9)
    assert found(behind_another(turned, turned)) == [("reorder", ["gateway"], "certain")]
    assert found(behind_another(turned, ANSWER)) == [("reorder", ["gateway"], "certain")]
