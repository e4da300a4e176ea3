"""Healthy first: a path of which closing blocks alone say that every point had all that the one before it had.

Most streams are like that, and then `hops.py` would answer each of its questions with the same word. So they are asked
of the whole path at once, before any is asked of a hop, and in the strictest way: one record a point, every row held,
every sum equal, nothing told but what any healthy stream tells (`_ORDINARY`). What is different in anything, or new to
this file, goes the long way. Nothing is decided here that the rules would decide otherwise (tests/analyzer/judge/
test_well.py holds the two against each other).
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
from .gateway.crossing import all_due
from .gateway.upstream import Upstream
from .path import Path
from .testimony.parts import ends_with_terminal, withholds
from .testimony.records import Exchange, Record

_WAYS: Final = frozenset(sc.POINTS[1:end] for end in range(3, len(sc.POINTS) + 1))
"""The points that may have told of it: from gateway in as far as anybody looked, none left out."""
_ORDINARY: Final = frozenset(
    (
        sc.CLIENT, sc.FINISH_REASONS_ATTRIBUTE, sc.FIRST_EVENT_MS, sc.FRAMING, sc.HOLD_AFTER, sc.HOLD_MS,
        sc.HOLD_TOTAL_MS, sc.LAST_WAIT_MS, sc.PROGRESS_GAP_AFTER, sc.PROGRESS_GAP_MS, sc.PROVIDER_NAME,
        sc.READ_OUT, sc.READ_WAIT_AFTER, sc.READ_WAIT_MS, sc.REQUEST_MODEL, sc.RESPONSE_ID, sc.RESPONSE_MODEL,
        sc.TIME_TO_FIRST_CHUNK, sc.USAGE_INPUT, sc.USAGE_OUTPUT,
    )
)  # fmt: skip
"""Attributes outside the contract that say nothing of what came, or what is compared here."""
_counted: Final = itemgetter("events", "judged", "content")
_WORDS: Final[Callable[[Block], tuple[int | None, ...]]] = attrgetter("semantic_s", "semantic_o")
_EVERY_SUM: Final[Callable[[Block], tuple[int | None, ...]]] = attrgetter(
    "payload_s", "payload_o", "semantic_s", "semantic_o"
)


def sound(exchange: Exchange, earlier: Sequence[Path]) -> Path | None:
    """The path of such an exchange, every hop of it intact; None where the hops have to be judged."""
    records = exchange.records
    if tuple([record.point for record in records]) not in _WAYS or exchange.unheard or not all(map(_plain, records)):
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
    if before.point == "applied":
        path.named = Named(path.steps[-1].hop, used=before.events, orderly=True)
    return path


def _plain(record: Record) -> bool:
    """Whether all of it is here, and it tells of nothing unusual."""
    odd = record.part("error") or record.total("malformed")
    return record.every_row and not odd and record.extra.keys() <= _ORDINARY


def _passed_on(leg: Record, egress: Record) -> bool:
    """Whether the gateway read one response to its end, and sent it to its end as it came."""
    read, sent = leg.blocks[-1], egress.blocks[-1]
    return sent.legs == (leg.recorder,) and not read.legs and all_due(leg, egress) and _same_bytes(leg, egress)


def _same_bytes(one: Record, other: Record) -> bool:
    told = _all_told(one.blocks[-1]) == _all_told(other.blocks[-1])
    return told and _summed(one, _EVERY_SUM) and _summed(other, _EVERY_SUM)


def _summed(record: Record, sums: Callable[[Block], tuple[int | None, ...]]) -> bool:
    """Whether each block tells these sums."""
    return None not in chain.from_iterable(map(sums, record.blocks))


def _all_told(block: Block) -> tuple[object, ...]:
    """What a closing block says of all that it saw."""
    return (
        _counted(block.totals), block.total_parts, block.slot_digests,
        block.payload_s, block.payload_o, block.semantic_s, block.semantic_o,
    )  # fmt: skip


def _received(egress: Record, wire: Record) -> Hop | None:
    return Hop("intact", prefix=wire.events) if _same_bytes(egress, wire) else None


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
