"""Ingress → egress: which upstream response feeds the answer, and what the gateway made of it.

Only the leg that provably feeds the answer can accuse the gateway, and only when the egress closing block and those of
all listed legs are held; an abandoned leg accuses nobody (docs/design.md §7.2). Compared are judged events only, for
a gateway may merge, split, filter or translate: where the whole content of every slot is equal, nothing was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from streamwitness.semconv import (
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    FRAMING,
    PENDING_BYTES,
    PROVIDER_NAME,
    RESPONSE_ID,
    TERMINAL,
    UNKNOWN_PROVIDER,
)

from .change import LOSSES, Change, Hop, Side
from .finishes import failed_openly, finishes, tells_error
from .open_ends import anchor
from .parts import (
    MISREAD,
    all_slots,
    first_difference,
    may_go_on_behind_terminal,
    misframed,
    positions_with,
    positions_with_result,
    same_slots,
    sizes_of,
    stopped_within_an_event,
    unread,
)
from .places import judge_views
from .records import Exchange, Record
from .rewritten import as_written, excuse
from .view import View

_NEW: Final = frozenset(("fabricated", "extra", "mismatch"))
_TERMINATOR_BYTES: Final = 16
"""Size of `data: [DONE]` with its line end, and a little."""
_CLOSING_BYTES: Final = 32
"""What a gateway may add where it closes an event that its upstream left open: line ends, an event's name."""
_UNTOUCHED: Final = frozenset(("gap", "tail", "duplicate", "reorder"))
"""Kinds that leave every event that came through as it was."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The leg that feeds the answer (None: not known), the hop, and the legs that another one replaced."""

    leg: Record | None
    hop: Hop | None
    superseded: tuple[Record, ...] = ()
    recut: bool = False
    """Whether the gateway cut the same content into other events."""
    peer: bool = True
    """Whether all that the leg brought was due at gateway out."""
    joined: bool = False
    """Whether the answer is made of several legs, one continuing the other."""


def judge_upstream(exchange: Exchange, egress: Record | None) -> Upstream:
    """Judge the gateway of one exchange. `hop` is None where no upstream was ever to be seen."""
    legs = exchange.at("ingress")
    last = legs[-1] if legs else None
    if egress is None:
        return Upstream(last, _unproven("what the gateway sent is not held") if legs else None, _replaced(legs, last))
    if not legs and "ingress" not in exchange.expected:
        return Upstream(None, None)
    if not egress.closed or egress.closing is None:
        return Upstream(last, _unproven("the closing block of gateway out is not held"), _replaced(legs, last))
    if any(misframed(record) for record in (*legs, egress)):
        return Upstream(last, _unproven(MISREAD), _replaced(legs, last))
    held = {leg.recorder for leg in legs if leg.closed}
    listed = frozenset(egress.closing.legs)
    if not listed or not listed <= held or {leg.recorder for leg in legs} - listed:
        return Upstream(last, _unproven("the record of an upstream attempt is not held"), _replaced(legs, last))
    return _among(legs, egress)


def _unproven(reason: str) -> Hop:
    return Hop("unproven", reason=reason)


def _replaced(legs: Sequence[Record], feeding: Record | None) -> tuple[Record, ...]:
    """Legs that broke and were followed by another one."""
    return tuple(leg for leg in legs[:-1] if leg is not feeding and not leg.complete)


def _among(legs: Sequence[Record], egress: Record) -> Upstream:
    after = View(egress, "semantic")
    for leg in reversed(legs) if after.n or len(legs) == 1 else ():  # empty answers are all alike
        before = View(leg, "semantic")
        if before.digests and after.digests and (before.n, before.o) == (after.n, after.o):
            return _with_envelope(Upstream(leg, Hop("intact", prefix=after.n), _replaced(legs, leg)), legs, egress)
    if len(legs) == 1:
        return _with_envelope(_single(legs[0], egress), legs, egress)
    return _with_envelope(_several(legs, egress), legs, egress)


# --------------------------------------------------------------------------- one leg


def _peer(leg: Record, egress: Record) -> bool:
    """Whether all that the leg brought was due: the gateway read to the end and wrote to the end."""
    return egress.end == "eof" and (not leg.own_end or leg.end == "stopped_at_terminal")


def _single(leg: Record, egress: Record) -> Upstream:
    before, after = View(leg, "semantic"), View(egress, "semantic")
    if not (before.digests and after.digests):
        return Upstream(leg, _unproven("no digests were recorded"))
    peer = _peer(leg, egress)
    if peer and same_slots(leg, egress):
        return Upstream(leg, _same_content(leg, egress), recut=True)
    hop = judge_views(before, after, peer=peer)
    if hop.unread and egress.end == "eof" and not egress.complete:
        return Upstream(leg, _unproven("the gateway ended its answer before what it had read was sent"))
    if hop.status != "faulty":
        return Upstream(leg, hop)
    if not (_related(before, after) or _passed_on(leg, egress)):
        return Upstream(leg, _unproven("the answer is not made of this upstream response, as far as digests show"))
    if broken := _broken((leg,), egress):
        return Upstream(leg, Hop("faulty", tuple(broken), prefix=hop.prefix))
    if stopped_within_an_event(leg) and any(c.kind not in LOSSES for c in hop.changes):
        return Upstream(leg, _unproven("the upstream ended without a blank line, and the gateway may read by lines"))
    if unread(leg) or unread(egress):
        return Upstream(leg, _unproven("some of its events could not be read, or came after the terminator"))
    if reason := excuse(leg, egress, hop.changes, peer):
        return Upstream(leg, _lost_finish(leg, egress) or _unproven(reason))
    return _faulty(leg, egress, hop, before, after, peer)


def _faulty(leg: Record, egress: Record, hop: Hop, before: View, after: View, peer: bool) -> Upstream:
    changes = tuple(c for c in hop.changes if not _envelope(c, leg, egress, before, after))
    if not changes:
        return Upstream(leg, Hop("intact", prefix=hop.prefix))
    if leg.told(PROVIDER_NAME) == UNKNOWN_PROVIDER and any(c.kind not in _UNTOUCHED for c in changes):
        return Upstream(leg, _unproven("the format is not known, so what the gateway rewrote in it may be no output"))
    recut = _recut(changes, before, after, peer)
    if not recut:
        return Upstream(leg, replace(hop, changes=changes))
    marked = first_difference(leg, egress)
    if marked is None and not (peer and all_slots(leg)):
        return Upstream(
            leg, _unproven("the gateway cuts the answer into other events, and no digest of all of it is held")
        )
    spans = [c.span for c in changes if c.side == "before"] or [(0, max(0, leg.events - 1))]
    span = (min(low for low, _ in spans), max(high for _, high in spans))
    note = "the content differs, and was cut into other events"
    if marked is not None:
        note += f"; first in content bytes {marked[0]}–{marked[1]}"
    change = Change("altered", 1, False, "before", span, span, note=note)
    return Upstream(leg, Hop("faulty", (change,), prefix=hop.prefix), recut=True)


def _recut(changes: Sequence[Change], before: View, after: View, peer: bool) -> bool:
    """Whether new content came where other content is missing: cut otherwise, or rewritten, not lost piece by piece.

    Where not all was due at gateway out, what its new content stands for may be what was never sent.
    """
    new = any(c.kind in _NEW and c.side == "after" and _has_content(c, after) for c in changes)
    gone = any(c.kind in LOSSES for c in changes)
    unknown = any(c.kind == "mismatch" for c in changes) and bool(
        {v for v in after.values if v is not None and after.content.get(v)} - set(before.values)
    )
    return (new and (gone or not peer)) or unknown


def _has_content(change: Change, view: View) -> bool:
    """Whether a change is, or may be, of more than a finish."""
    return not change.values or any(view.content.get(value) for value, _ in change.values)


def _envelope(change: Change, leg: Record, egress: Record, before: View, after: View) -> bool:
    """A finish of the gateway's own that invents nothing: its leg was complete, it stopped reading, or it says so.

    One of an answer that failed all the same is not lost where the gateway says so.
    """
    if change.kind in LOSSES and change.values and not any(before.content.get(value) for value, _ in change.values):
        return failed_openly(leg, egress)
    if change.kind not in ("fabricated", "extra") or any(after.content.get(value) for value, _ in change.values):
        return False
    if not change.values:
        return False
    told = egress.told(FINISH_REASONS_ATTRIBUTE)
    honest = isinstance(told, (list, tuple)) and set(told) <= {"error"}
    return leg.complete or _chose_to_stop(leg) or honest


def _chose_to_stop(leg: Record) -> bool:
    """Whether the gateway let go of its upstream with intent; one whose time was up had nothing to finish."""
    return leg.own_end and leg.end != "timeout"


def _related(before: View, after: View) -> bool:
    """Whether the answer is made of this leg's content: mostly its words, and a run of them that is no accident."""
    there = Counter(v for v in before.values if v is not None and before.content.get(v))
    here = Counter(v for v in after.values if v is not None and after.content.get(v))
    return 2 * (there & here).total() >= here.total() and anchor(before, after) > 0


def _passed_on(leg: Record, egress: Record) -> bool:
    """Whether the only upstream response and the answer have one id, and an event of one came through byte for byte."""
    told = leg.told(RESPONSE_ID)
    return bool(told) and told == egress.told(RESPONSE_ID) and bool(as_written(leg) & as_written(egress))


def _same_content(leg: Record, egress: Record) -> Hop:
    """All content came through, in whatever pieces; a finish that did not, or came from nowhere, is still a fault."""
    if egress.held == "full" and may_go_on_behind_terminal(egress) and not may_go_on_behind_terminal(leg):
        return _unproven("the gateway sent its terminator before other events")
    if lost := _lost_finish(leg, egress):
        return lost
    have = finishes(egress)
    if have and not finishes(leg) and not _may_finish(leg, egress):
        return Hop("faulty", (_of_finishes("fabricated", have, "after", egress),))
    return Hop("intact", prefix=0)


def _lost_finish(leg: Record, egress: Record) -> Hop | None:
    """The fault, where choices finished that did not at gateway out, though all was due there."""
    lost = finishes(leg) - finishes(egress)
    if lost <= 0 or not _peer(leg, egress) or failed_openly(leg, egress):
        return None
    return Hop("faulty", (_of_finishes("gap", lost, "before", leg),))


def _may_finish(leg: Record, egress: Record) -> bool:
    """Whether the gateway may finish of its own accord, or tells by its terminator that it made it up."""
    told = bool(egress.part("error")) or tells_error(egress)
    unread_end = stopped_within_an_event(leg)
    return leg.complete or told or unread_end or egress.part("terminal") > leg.part("terminal")


def _of_finishes(kind: str, count: int, side: Side, record: Record) -> Change:
    places = positions_with(record, FINISH)
    last = max(0, record.events - 1)
    span = (places[0], places[-1]) if places else (0, last)
    return Change(kind, count, len(places) == 1, side, span, span, len(places) == 1)


# --------------------------------------------------------------------------- several legs


def _several(legs: Sequence[Record], egress: Record) -> Upstream:
    """Several attempts, none of which is the answer as it stands: the last one that shares enough with it feeds it.

    Copies that any leg can account for excuse both a surplus and a lack, so only certain losses and inventions remain.
    """
    after = View(egress, "semantic")
    views = [View(leg, "semantic") for leg in legs]
    if not after.digests or not all(view.digests for view in views):
        return Upstream(legs[-1], _unproven("no digests were recorded"), _replaced(legs, legs[-1]))
    if after.n and _continued(views, after):
        return Upstream(legs[-1], Hop("intact", prefix=after.n), _replaced(legs, legs[-1]), joined=True)
    related = [view for view in views if _related(view, after)]
    if len(related) == 1:
        sole = _single(related[0].record, egress)
        replaced = _replaced(legs, related[0].record)
        others = [view for view in views if view is not related[0]]
        if sole.hop and not _excused(sole.hop, others) and not _spliced(related[0], others, after):
            return replace(sole, superseded=replaced)
        return Upstream(related[0].record, _unproven("several upstream attempts share the answer"), replaced)
    return Upstream(legs[-1], _unproven("several upstream attempts share the answer"), _replaced(legs, legs[-1]))


def _excused(hop: Hop, others: Sequence[View]) -> bool:
    """Whether another attempt's content could explain what looks like a fault."""
    if any(not change.values for change in hop.changes):
        return True
    brought = any(view.record.total("content") or view.record.part("finish") for view in others)
    if brought and any(change.kind == "altered" or change.kind in _NEW for change in hop.changes):
        return True  # a piece of it may stand in an event that joins both
    known = {value for view in others for value in view.values}
    return None in known or any(v in known for change in hop.changes for v, _ in change.values)


def _spliced(feeding: View, others: Sequence[View], after: View) -> bool:
    """Whether content that only another attempt brought stands in the answer: it is made of several then."""
    here = {value for value in after.values if after.content.get(value or 0)} - set(feeding.values)
    return any(here & set(view.values) for view in others)


def _continued(views: Sequence[View], after: View) -> bool:
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


# --------------------------------------------------------------------------- terminator and errors


def _with_envelope(found: Upstream, legs: Sequence[Record], egress: Record) -> Upstream:
    """The two differences in uncounted parts that are findings: an invented terminator, a swallowed error.

    Only of a leg that feeds the answer: what a guardrail or an abandoned attempt said is not missing from it.
    """
    hop, leg = found.hop, found.leg
    if hop is None or leg is None or hop.status == "unproven":
        return found
    broken = [] if any(change.kind == "malformed" for change in hop.changes) else _broken(legs, egress)
    changes = (*broken, *_invented_terminal(legs, egress), *_swallowed_error(leg, egress))
    if changes:
        hop = replace(hop, status="faulty", changes=(*hop.changes, *changes))
    return replace(found, hop=hop, peer=_peer(leg, egress))


def _invented_terminal(legs: Sequence[Record], egress: Record) -> list[Change]:
    more = egress.part("terminal") - sum(leg.part("terminal") + _half_terminal(leg) for leg in legs)
    if more <= 0 or any(leg.complete or _chose_to_stop(leg) for leg in legs):
        return []
    if egress.part("error") or tells_error(egress):  # it ends an answer that says itself that it failed
        return []
    places = positions_with(egress, TERMINAL)
    span = (
        (places[-more], places[-1]) if len(places) >= more else (max(0, egress.events - 1), max(0, egress.events - 1))
    )
    note = "terminator without a complete upstream answer"
    return [Change("fabricated", more, True, "after", span, span, len(places) == more, note=note)]


def _half_terminal(leg: Record) -> bool:
    """Whether a terminator may be what the leg ended within; any other event that says something is longer."""
    return 0 < _pending(leg) <= _TERMINATOR_BYTES


def _pending(leg: Record) -> int:
    """Bytes that the leg was left with, of an event that never ended."""
    pending = leg.told(PENDING_BYTES)
    return pending if isinstance(pending, int) else 0


def _framed_alike(legs: Sequence[Record], egress: Record) -> bool:
    """Whether sizes on both sides of the gateway can be compared."""
    return {leg.told(FRAMING) for leg in legs} == {egress.told(FRAMING)} != {None}


def _broken(legs: Sequence[Record], egress: Record) -> list[Change]:
    """Events that nobody can read came out, and all that was read upstream could be."""
    if any(leg.total("malformed") for leg in legs) or not egress.total("malformed"):
        return []
    places = positions_with_result(egress, "malformed")
    if any(stopped_within_an_event(leg) for leg in legs):  # what was left may have been closed as it was
        longest = max(_pending(leg) for leg in legs) + _CLOSING_BYTES
        sizes = sizes_of(egress)
        places = [p for p in places if sizes.get(p, 0) > longest] if _framed_alike(legs, egress) else []
    if not places:  # too long to be read here, which proves nothing
        return []
    span = (places[0], places[-1])
    placed = len(places) == span[1] - span[0] + 1
    note = "it cannot be decoded"
    return [Change("malformed", len(places), egress.held == "full", "after", span, span, placed, note=note)]


def _swallowed_error(leg: Record, egress: Record) -> list[Change]:
    if not leg.part("error") or egress.part("error") or egress.end != "eof" or tells_error(egress):
        return []
    if may_go_on_behind_terminal(leg):
        return []
    places = positions_with(leg, 0, error=True)
    span = (places[0], places[-1]) if places else (max(0, leg.events - 1), max(0, leg.events - 1))
    return [Change("gap", leg.part("error"), True, "before", span, span, bool(places), note="an error was swallowed")]
