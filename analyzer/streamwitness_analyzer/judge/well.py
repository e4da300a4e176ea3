"""Healthy first: a path of which closing blocks alone say that every point had all that the one before it had.

Most streams are like that, and then `hops.py` would answer each of its questions with the same word. So they are asked
of the whole path at once, before any is asked of a hop, and in the strictest way: one record a point, every row held,
every sum equal (of the bytes wherever nobody but a gateway may write anew), nothing told but what any healthy stream of
the hooks tells (`_ORDINARY`, `_USUAL`). What is different in anything, or new to this file, goes the long way. Nothing
is decided here that the rules would decide otherwise (tests/analyzer/judge/test_well.py holds the two against each
other, tests/e2e/test_healthy.py streams of real hooks).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Final

from streamwitness import semconv as sc
from streamwitness.blocks import Block

from .attribute import Step
from .client.named import Named, as_handed
from .compare.change import Hop
from .compare.numbered import numbers_of
from .gateway.crossing import all_due
from .gateway.upstream import Upstream
from .path import Path
from .testimony.parts import all_slots, ends_with_terminal, may_go_on_behind_terminal, withholds
from .testimony.records import Exchange, Record

_WAYS: Final = frozenset(sc.POINTS[1:end] for end in range(3, len(sc.POINTS) + 1))
"""The points that may have told of it: from gateway in as far as anybody looked, none left out."""
_ORDINARY: Final = frozenset(
    (
        # who read it, from where, of which model: shown, and compared nowhere
        sc.CLIENT, sc.SERVER_ADDRESS, sc.PROVIDER_NAME, sc.REQUEST_MODEL, sc.RESPONSE_MODEL,
        # what is read in bytes that are the same; of other bytes, and of a parser, the reasons are compared
        sc.FRAMING, sc.RESPONSE_ID, sc.FINISH_REASONS_ATTRIBUTE, sc.USAGE_INPUT, sc.USAGE_OUTPUT,
        # the provider's own numbers; whether one is missing is told beside them
        sc.UPSTREAM_FIRST, sc.UPSTREAM_LAST,
        # times: asked whether all is well or not (`held_back`), or by the ending
        sc.FIRST_EVENT_MS, sc.TIME_TO_FIRST_CHUNK, sc.READ_WAIT_MS, sc.READ_WAIT_AFTER, sc.HOLD_MS, sc.HOLD_AFTER,
        sc.HOLD_TOTAL_MS, sc.LAST_WAIT_MS, sc.PROGRESS_GAP_MS, sc.PROGRESS_GAP_AFTER, sc.GATHERED,
        # that the parser read on, which is asked where less came out of it
        sc.READ_OUT,
    )
)  # fmt: skip
"""Attributes outside the contract that healthy streams tell, whatever their value."""
_USUAL: Final[dict[str, Callable[[object], bool]]] = {
    sc.STATUS_CODE: lambda status: isinstance(status, int) and status < sc.FIRST_ERROR_STATUS,
    sc.UPSTREAM_HOLES: lambda holes: holes == 0,
    sc.STAMPED: lambda kind: kind in sc.STAMPS,
}
"""Those of which it depends on the value. Any that is in neither table says something, and is judged."""
_held: Final = attrgetter("every_row")
_counted: Final = itemgetter("events", "judged", "content")
_WORDS: Final[Callable[[Block], tuple[int | None, ...]]] = attrgetter("semantic_s", "semantic_o")
_BYTES: Final[Callable[[Block], tuple[int | None, ...]]] = attrgetter("payload_s", "payload_o")


def sound(exchange: Exchange, earlier: Sequence[Path]) -> Path | None:
    """The path of such an exchange, every hop of it intact; None where the hops have to be judged."""
    records = exchange.records
    if tuple([record.point for record in records]) not in _WAYS or exchange.unheard or not all(map(_held, records)):
        return None
    leg, egress, *client = records
    if not _passed_on(leg, egress) or len({record.witness for record in client}) > 1:
        return None
    crossed = Hop("intact", prefix=egress.total("judged"))
    path = Path(exchange, Upstream(leg, crossed), records[:], earlier, [Step(leg, egress, crossed, peer=True)])
    before = egress
    for after in client:
        hop = _HOPS[after.point](before, after) if _read_to_the_end(after, leg) else None
        if hop is None:
            return None
        path.steps.append(Step(before, after, hop, peer=True))
        before = after
    if not all(map(_plain, records)):
        return None
    if before.point == "applied":
        path.named = Named(path.steps[-1].hop, used=before.events, orderly=True)
    return path


def _plain(record: Record) -> bool:
    """Whether it tells of nothing unusual."""
    told = record.extra
    if record.part("error") or record.total("malformed"):
        return False
    return all(key in _USUAL and _USUAL[key](told[key]) for key in told.keys() - _ORDINARY)


def _passed_on(leg: Record, egress: Record) -> bool:
    """Whether the gateway read one response to its end, and sent it to its end as it came, or written otherwise."""
    read, sent = leg.blocks[-1], egress.blocks[-1]
    if sent.legs != (leg.recorder,) or read.legs or not all_due(leg, egress) or not _same_words(leg, egress):
        return False
    return _same_bytes(leg, egress) or _same_answer(leg, egress)


def _same_answer(leg: Record, egress: Record) -> bool:
    """Whether, written anew, it is the same answer by what its events do not say one by one."""
    alike = leg.told(sc.FINISH_REASONS_ATTRIBUTE) == egress.told(sc.FINISH_REASONS_ATTRIBUTE)
    return alike and all_slots(egress) and not may_go_on_behind_terminal(egress)


def _same_words(one: Record, other: Record) -> bool:
    """Whether both say that as many events came, of the same parts, which said the same."""
    told = _all_told(one.blocks[-1]) == _all_told(other.blocks[-1])
    return told and _summed(one, _WORDS) and _summed(other, _WORDS)


def _all_told(block: Block) -> tuple[object, ...]:
    """What a closing block says of all that it saw, but for how it was written."""
    return (_counted(block.totals), block.total_parts, block.slot_digests, block.semantic_s, block.semantic_o)


def _same_bytes(one: Record, other: Record) -> bool:
    return _BYTES(one.blocks[-1]) == _BYTES(other.blocks[-1]) and _summed(one, _BYTES) and _summed(other, _BYTES)


def _summed(record: Record, sums: Callable[[Block], tuple[int | None, ...]]) -> bool:
    """Whether each block tells these sums."""
    return None not in chain.from_iterable(map(sums, record.blocks))


def _received(egress: Record, wire: Record) -> Hop | None:
    same = _same_words(egress, wire) and _same_bytes(egress, wire)
    return Hop("intact", prefix=wire.events) if same and _in_turn(egress, wire) else None


def _in_turn(egress: Record, wire: Record) -> bool:
    """Whether numbers beside the events tell no other order: of equal ones these tell apart."""
    if egress.told(sc.STAMPED) != "id":  # there are none, or each is one of its event's bytes
        return True
    due = list(range(egress.events))
    return numbers_of(egress) == due == numbers_of(wire)


def _read_to_the_end(reader: Record, leg: Record) -> bool:
    """Whether it had all that there was for it; at a terminator it did, where that is the last event of all.

    What left the gateway is what that had read, to the byte.
    """
    if reader.end != "stopped_at_terminal":
        return reader.end == "eof"
    return reader.point != "wire" or (leg.part("terminal") == 1 and ends_with_terminal(leg))


def _parsed(wire: Record, parsed: Record) -> Hop | None:
    read, out = wire.blocks[-1], parsed.blocks[-1]
    same = (read.semantic_s, read.semantic_o, read.slot_digests) == (out.semantic_s, out.semantic_o, out.slot_digests)
    counts = read.totals["judged"] == out.totals["judged"]
    alike = parsed.told(sc.FINISH_REASONS_ATTRIBUTE) in (None, wire.told(sc.FINISH_REASONS_ATTRIBUTE))
    if not (same and counts and alike and _summed(parsed, _WORDS)) or withholds(wire, parsed):
        return None
    return Hop("intact", prefix=parsed.total("judged"))


def _applied(parsed: Record, applied: Record) -> Hop | None:
    last = applied.blocks[-1]
    named = applied.blocks[0].of == parsed.point and not last.slot_digests
    return Hop("intact", prefix=applied.events) if named and as_handed(parsed, applied, peer=True) else None


_HOPS: Final[dict[sc.Point, Callable[[Record, Record], Hop | None]]] = {
    "wire": _received,
    "parsed": _parsed,
    "applied": _applied,
}
"""Point of the client → its hop, where it had all."""
