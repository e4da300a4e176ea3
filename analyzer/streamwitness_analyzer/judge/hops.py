"""The hops of one path, from what the gateway read to what the application used, each judged with its own rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from streamwitness.semconv import CLIENT_ENDS, CLIENT_POINTS, PART, POINTS, READ_OUT, Point

from .attribute import Step, attribute, less_without_output, more_without_output, terminator_in_place
from .client.handed import judge_handed_on
from .client.kept import judge_kept
from .client.named import compare_named
from .client.resumed import named_but_for_the_head
from .compare.change import Change, Hop, Proof, Reason, faulty
from .compare.numbered import judge_numbered
from .compare.places import judge_views
from .gateway.upstream import Upstream, judge_upstream
from .order import own_order, suspected
from .path import Path
from .refused import but_for_its_effect, mixed_up, of_another_stream, refused
from .source import source_faults
from .testimony.parts import (
    ends_with_terminal,
    event_by_event,
    last_with,
    may_go_on_behind_terminal,
    misframed,
    pending,
    positions_with,
    withholds,
)
from .testimony.records import Exchange, Record
from .testimony.view import View
from .waiting import held_back
from .waste import kept_running
from .well import sound

_NO_OUTPUT: Final = "the output is the same; of events that say nothing not as many came as were sent"
_UNCLOSED: Final = "not all came of an event that was sent without its end, and some readers take it for one"
_HAD_ENOUGH: Final = "the terminator had come, and whether its parser had enough or lost the rest was not seen"
_PASSED_OVER: Final = "not all that had come before was taken when an error ended it"


def paths(exchange: Exchange, earlier: Sequence[Path] = ()) -> list[Path]:
    """Every path of an exchange: one for each client process, or that of the gateway alone.

    `earlier` are those of the exchanges before it.
    """
    if (path := sound(exchange, earlier)) is not None:
        path.faults = [*source_faults(path), *held_back(path.steps, one_for_one=_one_for_one(exchange, path.upstream))]
        return [path]
    egress = _only(exchange.at("egress"))
    upstream = judge_upstream(exchange, egress)
    witnesses = sorted({r.witness for r in exchange.records if r.point in CLIENT_POINTS})
    return [_path(exchange, upstream, egress, witness, earlier) for witness in witnesses or [""]]


def _only(records: Sequence[Record]) -> Record | None:
    return records[0] if len(records) == 1 else None


def _path(exchange: Exchange, upstream: Upstream, egress: Record | None, witness: str, earlier: Sequence[Path]) -> Path:
    here = {point: exchange.at(point, witness) for point in CLIENT_POINTS}
    chain = [egress, *(_only(records) for records in here.values())]
    records = [record for record in (upstream.leg, *chain) if record is not None]
    ambiguous = [point for point, found in here.items() if len(found) > 1]
    if len(exchange.at("egress")) > 1:
        ambiguous.append("egress")
    path = Path(exchange, upstream, records, earlier, ambiguous=tuple(ambiguous), silent=_silent(here))
    path.steps, path.faults = attribute(list(_steps(path, [r for r in chain if r is not None])))
    path.faults = suspected(path.steps, path.faults)
    path.faults += [*kept_running(exchange, upstream, egress), *source_faults(path)]
    mixed = mixed_up(path)
    path.faults = [*but_for_its_effect(path.faults, mixed), *refused(path), *mixed]
    path.faults += held_back(path.steps, one_for_one=_one_for_one(exchange, upstream))
    return path


def _silent(here: Mapping[Point, Sequence[Record]]) -> tuple[Point, ...]:
    """What one process said that it would record, and did not: nobody else's record stands in for it."""
    missing = [point for point in CLIENT_POINTS if not here[point]]
    announced = [b.expected for records in here.values() for r in records for b in r.blocks[:1]] if missing else []
    return tuple(p for p in missing if any(mask >> POINTS.index(p) & 1 for mask in announced))


def _one_for_one(exchange: Exchange, upstream: Upstream) -> bool:
    """Whether each event that left the gateway is known to be that very one of its upstream's.

    Of two attempts that brought the same words, nobody knows which was sent.
    """
    speaking = [leg for leg in exchange.at("ingress") if leg.total("judged")]
    return not (upstream.recut or upstream.joined) and len(speaking) == 1


def _steps(path: Path, chain: list[Record]) -> list[Step]:
    steps: list[Step] = []
    leg, hop = path.upstream.leg, path.upstream.hop
    if leg is not None and hop is not None and chain and chain[0].point == "egress":
        steps.append(Step(leg, chain[0], hop, path.upstream.peer))
    due = not chain or chain[0].point == "egress" or chain[0].closing is None or ended_by_peer(chain[0], None)
    for before, after in pairwise(chain):
        peer = due and ended_by_peer(after, before) and not _may_have_returned(before, after)
        made = _unless_returned(_unless_passed_over(_hop(path, before, after, peer), before, after), before, after)
        if after.point == "applied":
            made = own_order(path, made, before, after, steps)
        steps.append(Step(before, after, made, peer))
        due = peer or (due and (after.closing is None or ended_by_peer(after, None)))
    return steps


def _may_have_returned(before: Record, after: Record) -> bool:
    """Whether a parser that we do not know may have returned of its own accord: how the body ended is not held."""
    if after.point != "parsed" or event_by_event(after) or after.told(READ_OUT) is True:
        return False
    if after.end == "stopped_at_terminal":  # the terminator may have lain behind what it had enough of
        return not after.complete
    return after.end == "eof" and (before.point == "egress" or before.closing is None)


def _unless_returned(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop of a parser that stopped where all had come; not intact where it had enough, or lost the rest."""
    stopped = hop.status == "intact" and hop.unread and after.end == "stopped_at_terminal"
    if not stopped or not _may_have_returned(before, after):
        return hop
    return Hop("unproven", prefix=hop.prefix, unread=hop.unread, reason=_HAD_ENOUGH)


def ended_by_peer(record: Record, before: Record | None) -> bool:
    """Whether a reader's end was made by its peer, so that it is accountable for all that was sent (§5 rule 7).

    A stop at a terminal counts as that; at `wire` only when the one terminal that it saw is known to be the last event
    at `before` (`before` None: do not ask). A stop at an error event does where nothing stands behind that: else what
    comes after it was never due.
    """
    if record.end is None:
        return False
    if record.end == "stopped_at_terminal":
        if record.point == "applied" and before is not None and before.part("error"):
            return False
        if record.part("error"):
            return _error_is_last(record) and (before is None or _error_is_last(before))
        return record.point != "wire" or before is None or _stopped_at_the_last(record, before)
    return CLIENT_ENDS.get(record.end) == "peer"


def _error_is_last(record: Record) -> bool:
    """Whether its one error event is the last event of all, so that whoever stops there has had everything."""
    return record.closed and record.part("error") == 1 and last_with(record, PART["error"]) == record.events - 1


def _stopped_at_the_last(wire: Record, egress: Record) -> bool:
    return wire.part("terminal") == egress.part("terminal") == 1 and ends_with_terminal(egress)


def _hop(path: Path, before: Record, after: Record, peer: bool) -> Hop:
    if _misread(path, before):  # after it only what has changed the body on its way makes it so
        return Hop("unproven", reason=Reason.MISREAD)
    if after.point == "applied":
        return _applied(path, before, after, peer)
    if (before.point, after.point) == ("egress", "wire"):
        return of_another_stream(_with_the_rest(_transport(before, after, peer), before, after), before, after)
    if withholds(before, after):
        return Hop("unproven", reason="it does not hand on every kind of content by design")
    hop = _with_error(judge_handed_on(before, after, peer=peer), before, after, peer)
    return _on_the_way(hop, before, after, peer)


def _on_the_way(hop: Hop, before: Record, after: Record, peer: bool) -> Hop:
    """The hop from gateway out to the parser; not intact where what is no output, and so not compared, is another.

    Between the two lies the network, of which nobody else tells whether it lost or doubled such events.
    """
    if hop.status != "intact" or before.point != "egress":
        return hop
    other = more_without_output(before, after) or (peer and less_without_output(before, after))
    other = other or not terminator_in_place(before, after) or pending(before) > 0
    return replace(hop, status="unproven", reason=_NO_OUTPUT) if other else hop


def _unless_passed_over(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop of who raised; not intact where he had come further than what he took: he gave up what came before that.

    A parser that raises at an error event had been given all before it, and so had an application whose parser raises.
    """
    if hop.status != "intact" or not hop.unread or after.end not in ("raised", "stopped_at_terminal"):
        return hop
    if after.point == "parsed" and before.part("error"):
        errors, view = positions_with(before, PART["error"]), View(before, "semantic")
        place = view.positions[hop.prefix] if hop.prefix < view.n else None
        passed = not errors or place is None or place < errors[0]
    else:
        passed = after.point == "applied" and (before.end == "raised" or bool(before.part("error")))
    return Hop("unproven", prefix=hop.prefix, unread=hop.unread, reason=_PASSED_OVER) if passed else hop


def _misread(path: Path, record: Record) -> bool:
    """Whether a body was not what it was announced as; where its own closing block is lost, what left the gateway."""
    egress = path.record("egress")
    return misframed(record) or (record.closing is None and egress is not None and misframed(egress))


def _transport(before: Record, after: Record, peer: bool) -> Hop:
    if (numbered := judge_numbered(before, after, peer=peer)) is not None:
        return numbered
    hop = judge_views(View(before, "payload"), View(after, "payload"), peer=peer)
    if hop.status != "faulty" or peer or not _rewritten(before, after):
        return hop
    span = (0, max(0, after.events - 1))
    change = Change("corrupt", after.events, False, "after", span, span, note="every event reads otherwise")
    return faulty([change], Proof("by_rows", "payload"))


def _with_the_rest(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop; not intact where less came of an event that no blank line closed: some readers take it for one."""
    to_the_end = before.end == after.end == "eof"
    if hop.status != "intact" or not to_the_end or pending(after) >= pending(before):
        return hop
    return Hop("unproven", prefix=hop.prefix, reason=_UNCLOSED)


def _rewritten(before: Record, after: Record) -> bool:
    """Whether not one event came as it was sent, while what they say is the same."""
    a, b = View(before, "payload"), View(after, "payload")
    same_words = judge_views(View(before, "semantic"), View(after, "semantic"), peer=False).status == "intact"
    return same_words and a.whole and b.whole and b.n > 0 and not a.counts.keys() & b.counts.keys()


def _with_error(hop: Hop, before: Record, after: Record, peer: bool) -> Hop:
    """An error event that was read and not handed on, by a parser that hands errors on."""
    swallowed = before.part("error") and not after.part("error") and after.delivers & PART["error"]
    if not (swallowed and peer and after.closed) or may_go_on_behind_terminal(before):
        return hop
    places = positions_with(before, PART["error"])
    span = (places[0], places[-1]) if places else (0, max(0, before.events - 1))
    change = Change(
        "gap", before.part("error"), True, "before", span, span, bool(places), note="an error was swallowed",
        proof=Proof("envelope"), error=True,
    )  # fmt: skip
    return Hop("faulty", (*hop.changes, change), hop.prefix, hop.unread)


def _applied(path: Path, before: Record, after: Record, peer: bool) -> Hop:
    of = next((block.of for block in after.blocks if block.of), None)
    if of != before.point:
        return Hop("unproven", reason="its reports are about the events of a point of which no record came")
    way = [record for record in reversed(path.records) if record.point in ("egress", "wire") and record is not before]
    named = compare_named(before, after, peer=peer, before=way)
    named = named_but_for_the_head(named, before, after)
    path.named = judge_kept(named, before, after, peer=peer, before=way)
    return path.named.hop
