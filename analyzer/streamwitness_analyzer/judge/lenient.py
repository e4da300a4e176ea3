"""Events that only lenient readers can decode: bytes that are no UTF-8 stand in them (docs/design.md §7.2).

A reader that takes them with a replacement for the odd bytes is as right as one that refuses them, or leaves them out.
Their rows say `malformed` beside what they say, and of what became of them nobody is accused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from streamwitness.semconv import MALFORMED

from .change import LOSSES, Change, Hop
from .parts import parts_of
from .view import View

REASON: Final = "bytes that are no text stand in what came, which not every reader takes"
_PLAIN: Final = LOSSES | {"duplicate", "reorder"}
"""Kinds of changes to events as they are."""


def but_for_odd_bytes(hop: Hop, before: View) -> Hop:
    """The hop without what may be another reader's way with such events; unproven where nothing else is left of it."""
    if hop.status != "faulty" or not before.record.part("malformed"):
        return hop
    odd, hidden = _odd(before)
    if not any(_touches(change, odd, hidden) for change in hop.changes):
        return hop
    left = [rest for change in hop.changes if (rest := _rest(change, odd)) is not None]
    if hidden or not left or any(change.kind not in _PLAIN for change in left):
        return Hop("unproven", prefix=hop.prefix, reason=REASON)
    return replace(hop, changes=tuple(left))


def _odd(before: View) -> tuple[Counter[int], bool]:
    """The digests of such events, and whether there may be others of which the rows are lost."""
    masks = parts_of(before.record)
    rows = zip(before.positions, before.values, strict=True)
    odd = Counter(v for p, v in rows if v is not None and p is not None and masks.get(p, 0) & MALFORMED)
    return odd, sum(1 for mask in masks.values() if mask & MALFORMED) < before.record.part("malformed")


def _touches(change: Change, odd: Counter[int], hidden: bool) -> bool:
    """Whether a change may be of such an event."""
    if change.kind in ("duplicate", "reorder") or not (odd or hidden):
        return False
    return hidden or not change.values or any(value in odd for value, _ in change.values)


def _rest(change: Change, odd: Counter[int]) -> Change | None:
    """What is left of a change without such events; None for nothing."""
    if not _touches(change, odd, hidden=False):
        return change
    values = tuple((value, n - min(n, odd[value])) for value, n in change.values if n > odd[value])
    count = change.count - sum(n for _, n in change.values) + sum(n for _, n in values)
    if not values or count <= 0:
        return None
    return replace(change, count=count, values=values, placed=False)
