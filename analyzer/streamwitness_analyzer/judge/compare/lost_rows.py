"""A window in which rows stay lost (docs/design.md §7.2 rule 5): decoded where that is proven, else bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from streamwitness_analyzer.judge.testimony.view import View

from .change import Change
from .decode import decode, only_without
from .known import by_values

_HIDDEN: Final = "missing details hide the rest"
_DECODED: Final = "which events, the sums tell, though rows are lost"


def rows_lost(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """The changes between the `x` places that are equal at the beginning and the `y` at the end."""
    net = decode(a, b, (x, y))
    if not net:
        return bounds(a, b, x, y)
    changes = by_values(a, b, x, y, net, _DECODED)
    if only_without(a, b, net):
        return changes
    return tuple(replace(change, exact=False, placed=False) for change in changes)


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
