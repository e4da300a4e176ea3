"""From places on a digest axis to event positions, and from a point's positions to the sequence at gateway out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from streamwitness.semconv import TOOL_ARGS, TOOL_START
from streamwitness_analyzer.judge.testimony.parts import other_calls, positions_with
from streamwitness_analyzer.judge.testimony.view import View

from .align import compare
from .change import Change, Hop, Proof, Span, faulty
from .edits import matching

_OTHER_CALLS: Final = "pieces of calls came out in another call's place"
_OWN_NUMBERS: Final = "calls are put together otherwise; its parser may have a way of its own to tell them apart"


def judge_views(before: View, after: View, *, peer: bool) -> Hop:
    """`compare`, with every span in event positions of its own point instead of places on the axis."""
    hop = compare(before, after, peer=peer)
    whole = hop.status == "intact" and before.axis == "semantic" and (before.n, before.o) == (after.n, after.o)
    if whole and other_calls(before.record, after.record):
        return _in_other_calls(before, after, hop)
    return replace(hop, changes=tuple(_located(c, before, after) for c in hop.changes)) if hop.changes else hop


def _in_other_calls(before: View, after: View, hop: Hop) -> Hop:
    """Equal events whose pieces were put together to other calls: which call one is of, its digest does not say."""
    if not after.record.delivers:
        return replace(hop, status="unproven", reason=_OWN_NUMBERS)
    places = positions_with(before.record, TOOL_START | TOOL_ARGS)
    span = (places[0], places[-1]) if places else (0, max(0, before.record.events - 1))
    change = Change("altered", 1, False, "before", span, span, note=_OTHER_CALLS)
    return faulty([change], Proof("by_content"), prefix=hop.prefix)


def _located(change: Change, before: View, after: View) -> Change:
    view = before if change.side == "before" else after
    if view.axis == "payload" or not view.n:
        return change
    span, sure = _positions(view, change.span)
    copies, _ = _positions(view, change.copies)
    return replace(change, span=span, copies=copies, placed=change.placed and sure)


def _positions(view: View, span: Span) -> tuple[Span, bool]:
    """The event positions of two places; lost rows widen them to the nearest that is known."""
    low, high = view.positions[span[0]], view.positions[span[1]]
    sure = low is not None and high is not None
    if low is None:
        before = [p for p in view.positions[: span[0]] if p is not None]
        low = max(span[0], before[-1] + 1 if before else 0)
    if high is None:
        behind = [p for p in view.positions[span[1] + 1 :] if p is not None]
        high = behind[0] - 1 if behind else max(low, view.record.events - 1)
    return (low, high), sure


Mapper = Callable[[int], tuple[int, int, bool]]
"""A position at one point → the first and last that it may be at another, and whether that is certain."""


def same(position: int) -> tuple[int, int, bool]:
    """Positions of two points that saw the same events."""
    return position, position, True


def back(before: View, after: View, intact: bool) -> Mapper:
    """How positions at `after` stand at `before`: through equal neighbours, else clamped to the unchanged ones.

    On an intact hop a point may only leave out what says nothing, so that an event stands as far behind its neighbour
    as it does here, or a little further.
    """
    if intact and before.axis == "payload":
        return same
    pairs = _pairs(before, after, intact)
    known = [there for _, there in pairs]
    hidden = not (intact or (before.whole and after.whole))  # then it may be any up to the next one that is known

    def mapped(position: int) -> tuple[int, int, bool]:
        at = bisect_left(known, position)
        if at < len(known) and known[at] == position:
            return pairs[at][0], pairs[at][0], True
        there, here = pairs[at - 1] if at else (-1, -1)
        low = there + (position - here if intact else 1)
        behind = pairs[at][0] if at < len(pairs) else before.record.events
        return low, max(low, behind - 1) if hidden else low, False

    return mapped


def _pairs(before: View, after: View, intact: bool) -> list[tuple[int, int]]:
    """Positions at both points of events that are taken for the same."""
    if intact:
        places = [(i, i) for i in range(min(before.n, after.n))]
    else:
        kept = matching(_told_apart(before.values, "a"), _told_apart(after.values, "b"))
        places = kept if kept is not None else [(i, i) for i in _prefix(before.values, after.values)]
    found = ((before.positions[i], after.positions[j]) for i, j in places)
    return [(p, q) for p, q in found if p is not None and q is not None]


def _told_apart(values: Sequence[int | None], side: str) -> list[object]:
    """Unknown rows match nothing."""
    return [(side, i) if value is None else value for i, value in enumerate(values)]


def _prefix(a: Sequence[int | None], b: Sequence[int | None]) -> range:
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x is None or x != y), min(len(a), len(b)))
    return range(n)
