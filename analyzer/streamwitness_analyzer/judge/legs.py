"""Which upstream response feeds the answer, where a gateway read several: attempts, fallbacks, guardrails, parts.

A leg feeds the answer if most of the answer's content is its own, or if both have one response id and an event in
common byte for byte. What another leg could explain, nobody is accused of (docs/design.md §7.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import RESPONSE_ID

from .change import Hop
from .open_ends import anchor
from .records import Record
from .rewritten import as_written
from .view import View

_NEW: Final = frozenset(("altered", "fabricated", "extra", "mismatch"))


def replaced(legs: Sequence[Record], feeding: Record | None) -> tuple[Record, ...]:
    """Legs that broke and were followed by another one."""
    return tuple(leg for leg in legs[:-1] if leg is not feeding and not leg.complete)


def equal_legs(legs: Sequence[Record], egress: Record) -> list[Record]:
    """Legs whose judged events are the answer's, all of them in order, the last first. Empty answers are all alike."""
    after = View(egress, "semantic")
    views = [View(leg, "semantic") for leg in reversed(legs)] if after.n or len(legs) == 1 else []
    return [v.record for v in views if v.digests and after.digests and (v.n, v.o) == (after.n, after.o)]


def related(before: View, after: View) -> bool:
    """Whether the answer is made of this leg's content: mostly its words, and a run of them that is no accident."""
    there = Counter(v for v in before.values if v is not None and before.content.get(v))
    here = Counter(v for v in after.values if v is not None and after.content.get(v))
    return 2 * (there & here).total() >= here.total() and anchor(before, after) > 0


def passed_on(leg: Record, egress: Record) -> bool:
    """Whether the only upstream response and the answer have one id, and an event of one came through byte for byte."""
    told = leg.told(RESPONSE_ID)
    return bool(told) and told == egress.told(RESPONSE_ID) and bool(as_written(leg) & as_written(egress))


def explained_by(hop: Hop, others: Sequence[View]) -> bool:
    """Whether another attempt's content could explain what looks like a fault."""
    if any(not change.values for change in hop.changes):
        return True
    brought = any(view.record.total("content") or view.record.part("finish") for view in others)
    if brought and any(change.kind in _NEW for change in hop.changes):
        return True  # a piece of it may stand in an event that joins both
    known = {value for view in others for value in view.values}
    return None in known or any(v in known for change in hop.changes for v, _ in change.values)


def spliced(feeding: View, others: Sequence[View], after: View) -> bool:
    """Whether content that only another attempt brought stands in the answer: it is made of several then."""
    here = {value for value in after.values if after.content.get(value or 0)} - set(feeding.values)
    return any(here & set(view.values) for view in others)


def continued(views: Sequence[View], after: View) -> bool:
    """Whether the answer is a beginning of each broken leg and then the whole of the last one."""
    if not after.whole or not all(view.whole for view in views):
        return False
    *broken, last = [view.values for view in views]
    at = 0
    for values in broken:
        for value in values:
            if at == len(after.values) or value != after.values[at]:
                break
            at += 1
    return after.values[len(after.values) - len(last) :] == last and len(after.values) - len(last) <= at
