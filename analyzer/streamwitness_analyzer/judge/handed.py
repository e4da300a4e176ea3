"""What a parser handed on, beside what it read: it may hand on the same content in other pieces (docs/design.md §7.2).

A parser that says what it delivers hands on event by event. One that nobody described may cut the content anew: then
only the digests of all of it, at both points, tell whether it is the same.
"""

from __future__ import annotations

from typing import Final

from .change import LOSSES, Hop
from .parts import all_slots, may_go_on_behind_terminal, same_slots, stopped_within_an_event
from .places import judge_views
from .records import Record
from .view import View

_END_NOT_HELD: Final = "where the answer ended is not held, and a finish is missing"


def judge_handed_on(before: Record, after: Record, *, peer: bool) -> Hop:
    """Judge what came to a parser (`before`: at the client, or as it left the gateway) → what it handed on."""
    a, b = View(before, "semantic"), View(after, "semantic")
    hop = judge_views(a, b, peer=peer)
    if hop.status != "faulty":
        return hop
    finished = after.part("finish") == before.part("finish")
    if peer and (finished or may_go_on_behind_terminal(before)) and same_slots(before, after):
        if not finished and before.held != "full":
            return Hop("unproven", prefix=hop.prefix, reason=_END_NOT_HELD)
        displaced = bool(after.delivers) and (a.n, a.s) == (b.n, b.s)
        return hop if displaced else Hop("intact", prefix=hop.prefix)
    more = any(change.kind not in LOSSES for change in hop.changes)
    if more and stopped_within_an_event(before):
        reason = "the body ended without a blank line; the parser may have read on to there"
        return Hop("unproven", prefix=hop.prefix, reason=reason)
    told = peer and _whole_content_told(before) and _whole_content_told(after)
    if not after.delivers and not told and (more or _new_pieces(a, b)):
        return Hop("unproven", prefix=hop.prefix, reason="its parser may hand on the same content in other pieces")
    return hop


def _new_pieces(a: View, b: View) -> bool:
    """Whether pieces may have been handed on that were not read as such."""
    return not (a.digests and b.digests and b.whole and set(b.values) <= set(a.values))


def _whole_content_told(record: Record) -> bool:
    """Whether the digests of all content are held, so that another cut of it can be told from other content."""
    closing = record.closing
    return record.closed and closing is not None and bool(closing.slot_digests) and all_slots(record)
