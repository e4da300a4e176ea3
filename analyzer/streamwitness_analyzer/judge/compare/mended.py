"""What a gateway or a parser may have put right: what came again or late by the body's own numbers, or was left out.

Numbers are there so that a reader can drop a copy and sort; a provider's whole text, so that it can say what no delta
said. Whoever did so lost nothing, moved nothing and made nothing up (docs/design.md §7.1). The network reads neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from streamwitness.semconv import OUT_OF_TURN, UPSTREAM_FAULTS, UPSTREAM_MISMATCHES
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .change import LOSSES, NEW, Change, Hop, Reason

_ADDED: Final = NEW | {"altered", "duplicate"}
"""Kinds of which something may stand there that was not read as a delta."""
_MOVED: Final = frozenset(("reorder", "mismatch"))


def unless_mended(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop of who reads what a body says, without what he may have put right."""
    if hop.status == "intact" and _mended_the_network(before, after):
        return replace(hop, status="unproven", reason=Reason.PUT_RIGHT)
    if hop.status != "faulty":
        return hop
    if _filled_in(hop, before, after):
        return replace(hop, status="unproven", changes=(), reason=Reason.FILLED_IN)
    told = out_of_turn(before, after)
    return hop if told == 0 else _but_for(hop, told, after)


def _mended_the_network(before: Record, after: Record) -> bool:
    """Whether more came out of turn to a parser than had left the gateway so: then the network lies between."""
    came, sent = after.told(OUT_OF_TURN), before.told(OUT_OF_TURN)
    return before.point == "egress" and isinstance(came, int) and came > (sent if isinstance(sent, int) else 0)


def out_of_turn(before: Record, after: Record) -> int | None:
    """Events that came again or late, as far as the body tells; None where nobody's closing block is held.

    A parser's tells it of the body that it reads.
    """
    readers = (before, after) if after.point == "parsed" else (before,)
    told = [value for record in readers if isinstance(value := record.told(OUT_OF_TURN), int)]
    return max(told) if told else 0 if any(record.closed for record in readers) else None


def _but_for(hop: Hop, told: int | None, after: Record) -> Hop:
    """The hop without what may be copies or another order; who lost more than came out of turn lost the rest."""
    here = View(after, "semantic") if told is None else None
    excused = [change for change in hop.changes if _excusable(change, here)]
    if not excused:
        return hop
    rest = [change for change in hop.changes if change not in excused]
    if told is not None and (lost := _beyond(excused, told)) is not None:
        rest.append(lost)
    if rest:
        return replace(hop, changes=tuple(rest))
    return replace(hop, status="unproven", changes=(), reason=Reason.PUT_RIGHT)


def _excusable(change: Change, here: View | None) -> bool:
    """Whether a change may be a copy less, or another order. Where nobody told (`here`), a copy must be left."""
    if change.error or change.late:
        return False
    if change.kind in LOSSES:
        return here is None or (bool(change.values) and all(here.counts[value] for value, _ in change.values))
    return change.kind in _MOVED or (change.kind == "altered" and change.proof.case == "by_content")


def _beyond(excused: list[Change], told: int) -> Change | None:
    """The loss that is more than all that came out of turn."""
    lost = sum(change.count for change in excused)
    if lost <= told or any(change.kind not in LOSSES or change.side != "before" for change in excused):
        return None
    span = (min(change.span[0] for change in excused), max(change.span[1] for change in excused))
    bound = Change("gap", lost - told, False, "before", span, span)
    return replace(bound, proof=excused[0].proof)


def _filled_in(hop: Hop, before: Record, after: Record) -> bool:
    """Whether more was said than was read, by who had a whole text before him that differs from its deltas."""
    more = not after.closed or after.total("content") > before.total("content")
    return more and any(change.kind in _ADDED for change in hop.changes) and _tells_more(before)


def _tells_more(record: Record) -> bool:
    """Whether a whole text told more than its deltas; where the end of the record is lost, it may have."""
    if not record.closed:
        return True
    told = record.told(UPSTREAM_FAULTS)
    holes = isinstance(told, (list, tuple)) and any(str(entry).startswith("gap") for entry in told)
    return holes or record.told(UPSTREAM_MISMATCHES) is not None
