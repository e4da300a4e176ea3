"""A window in which rows stay lost (docs/design.md §7.2 rule 5): decoded where that is proven, else bounds."""

from __future__ import annotations

from collections import Counter
from typing import Final

from .change import Change, Side, Span, merged
from .decode import Net, decode
from .known import copies_of, surplus_kind
from .view import View

_HIDDEN: Final = "a lost block hides the rest"
_DECODED: Final = "which events, the sums tell, though rows are lost"


def rows_lost(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """The changes between the `x` places that are equal at the beginning and the `y` at the end."""
    net = decode(a, b, (x, y))
    return decoded(a, b, x, y, net) if net else bounds(a, b, x, y)


def decoded(a: View, b: View, x: int, y: int, net: Net) -> tuple[Change, ...]:
    """The difference of the multisets is known: exact counts of what is missing and of what came more."""
    groups: dict[tuple[Side, str], Net] = {}
    for value, copies in net.items():
        side: Side = "before" if copies > 0 else "after"
        kind = "gap" if copies > 0 else surplus_kind(a, b, value, -copies)
        groups.setdefault((side, kind), Counter())[value] = abs(copies)
    changes = [_told(a if side == "before" else b, kind, side, x, y, values) for (side, kind), values in groups.items()]
    return merged(changes, a)


def _told(view: View, kind: str, side: Side, x: int, y: int, values: Net) -> Change:
    count, copies = values.total(), copies_of(view, values)
    span = _span(view, x, y, values)
    placed = span == copies and span[1] - span[0] + 1 == count
    return Change(kind, count, True, side, span, copies, placed, tuple(sorted(values.items())), _DECODED)


def _span(view: View, x: int, y: int, values: Net) -> Span:
    """The places of the window that have such a digest or may have it, and their like beside the window.

    A change slides out of the window through events that are equal to its own, and through no others.
    """
    may_be = [value is None or value in values for value in view.values]
    places = [i for i in range(x, view.n - y) if may_be[i]]
    if not places:
        return copies_of(view, values)
    low, high = places[0], places[-1]
    while low > 0 and may_be[low - 1]:
        low -= 1
    while high + 1 < view.n and may_be[high + 1]:
        high += 1
    return low, high


def bounds(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """What the counts and the sums still prove."""
    surplus = b.n - a.n
    before, after = (x, max(x, a.n - 1 - y)), (x, max(x, b.n - 1 - y))
    if surplus < 0:
        return (Change("gap", -surplus, False, "before", before, before, note=_HIDDEN),)
    if surplus > 0:
        exact = x + y == a.n
        return (Change("extra", surplus, exact, "after", after, after, note=_HIDDEN),)
    if a.s == b.s:
        return (Change("reorder", 1, False, "before", before, before, note="same events in another order"),)
    return (Change("mismatch", 1, False, "before", before, before, note="at least one lost and one added"),)
