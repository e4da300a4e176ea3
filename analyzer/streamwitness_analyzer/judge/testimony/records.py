"""Blocks of one stream sorted into exchanges, witnesses and records; what contradicts itself is set aside whole.

A record is what one recorder, at one point of one exchange, has told. Two blocks of a record that cannot both be
true discredit their whole witness (docs/design.md §7.1): a process that miscounts once proves nothing any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, takewhile
from typing import Any, Final, Literal, TypeVar

from streamwitness.blocks import Block
from streamwitness.semconv import (
    CLIENT_ENDS,
    DROPPED_BLOCKS,
    EGRESS_ENDS,
    FIRST_ERROR_STATUS,
    FIRST_NUMBER,
    OBSERVER_FAULT,
    PARTS,
    POINTS,
    ROLE_POINTS,
    ROLES,
    STAMPED,
    STATUS_CODE,
    UNANSWERED,
    Point,
)

T = TypeVar("T")
_GATEWAY: Final[tuple[Point, ...]] = ("ingress", "egress")
_PLACE: Final = {name: place for place, name in enumerate(PARTS)}
_BIT: Final = {point: 1 << place for place, point in enumerate(POINTS)}
"""Point → its bit in `expected`."""
_CLEAN_ENDS: Final = frozenset(("eof", "stopped_at_terminal"))
_TESTIMONY: Final = (
    "stream", "exchange", "witness", "recorder", "point", "index", "position", "row_count", "final", "attempt", "hop",
    "leg", "legs", "of", "delivers", "expected", "max_before", "max_after", "regressions", "totals", "total_parts",
    "payload_s", "payload_o", "semantic_s", "semantic_o", "content_marks", "slot_digests", "complete", "end",
)  # fmt: skip
"""What two copies of a block must agree on. Not times, resource or `extra`: a later copy may count more drops."""
_ROLES: Final = frozenset(ROLES)
_EVERY_BIT: Final = sum(_BIT.values())


@dataclass(slots=True, eq=False)
class Record:
    """One recorder's testimony, as far as it can be held to it; each there is once, so that it is equal to itself only.

    Nothing of it is ever changed (`frozen` would triple what it costs to make one).

    `blocks` are in order, at most one an index; after an observer fault (`faulted`) only those before it, and
    `closing` is then only a witness of how the point ended.
    """

    recorder: str
    witness: str
    exchange: str
    point: Point
    attempt: int
    hop: int
    leg: int | None
    delivers: int
    blocks: tuple[Block, ...]
    closing: Block | None
    faulted: bool
    lost: int
    """Blocks known to exist that are not held (rows that only a summary speaks of included)."""
    closed: bool
    """Whether the closing block is held and stands behind all that came before it."""
    end: str | None
    """How the point ended; None while its closing block is not held."""
    events: int
    """Events known to have been seen here."""
    held: Literal["full", "partial", "none"]
    """How much of it is here: all blocks to the closing one, or some of them."""
    every_row: bool
    """Whether a row is held for each event that came, to the end."""
    complete: bool
    """Whether the provider's completion rule was satisfied here; without a known rule a clean end has to do."""
    extra: Mapping[str, object]
    """The last value told for each attribute outside the contract (`gen_ai.*`, …)."""
    _made: dict[object, Any] = field(default_factory=dict)

    @property
    def own_end(self) -> bool:
        """Whether this side ended it (not the peer, not at a terminal)."""
        ends = EGRESS_ENDS if self.point == "egress" else CLIENT_ENDS
        return self.end is not None and ends.get(self.end) == "own"

    @property
    def vouched(self) -> bool:
        """Whether every block came with a key whose role is known; without it nothing is ever certain."""
        return {block.role for block in self.blocks} <= _ROLES

    @property
    def first_number(self) -> int | None:
        """The number in the stream of the first event that left the gateway here; None where it numbered none."""
        if self.told(STAMPED) is None:
            return None
        first = self.told(FIRST_NUMBER)
        return first if isinstance(first, int) else 0

    @property
    def error_status(self) -> bool:
        """Whether the response came with an error status."""
        status = self.told(STATUS_CODE)
        return isinstance(status, int) and status >= FIRST_ERROR_STATUS

    @property
    def refused(self) -> bool:
        """Whether an upstream gave an error status, and no event of an answer."""
        return self.point == "ingress" and not self.events and self.error_status

    def total(self, name: str) -> int:
        """A cumulative counter through the last block held."""
        return self.blocks[-1].totals[name] if self.blocks else 0

    def part(self, name: str) -> int:
        """Events that carried this part, through the last block held."""
        return self.blocks[-1].total_parts[_PLACE[name]] if self.blocks else 0

    def told(self, key: str) -> object:
        """What was told last for an attribute outside the contract; None where nothing was."""
        return self.extra.get(key)

    def once(self, what: object, make: Callable[[], T]) -> T:
        """What is made of this record (its rows, decoded), made once however many questions are asked of it."""
        if what not in self._made:
            self._made[what] = make()
        made: T = self._made[what]
        return made


@dataclass(slots=True)
class Exchange:
    """The records of one HTTP response; `expected` are the points that should have testified."""

    id: str
    attempt: int
    hop: int
    records: list[Record] = field(default_factory=list)
    expected: frozenset[Point] = frozenset()
    _at: dict[Point, list[Record]] = field(default_factory=dict)

    @property
    def unheard(self) -> list[Point]:
        """The points that should have testified and did not, in path order."""
        left = self.expected - self._at.keys()
        return [point for point in POINTS if point in left] if left else []

    @property
    def legs(self) -> list[Record]:
        """Upstream responses that an answer may be made of: not those that refused."""
        return [record for record in self._at.get("ingress", ()) if not record.refused]

    def listed(self, egress: Record | None) -> frozenset[str]:
        """The recorders of the legs that an answer lists, without those that are known to have refused."""
        told = egress.closing.legs if egress is not None and egress.closing is not None else ()
        return frozenset(told).difference(r.recorder for r in self._at.get("ingress", ()) if r.refused)

    @property
    def unanswered(self) -> int:
        """Requests upstream that no response came to, as the answer tells, or the leg that another process reads."""
        told = (record.told(UNANSWERED) for point in _GATEWAY for record in self._at.get(point, ()))
        return sum(count for count in told if isinstance(count, int))

    def hold(self, record: Record) -> None:
        """Add a record, behind those that are here."""
        self.records.append(record)
        self._at.setdefault(record.point, []).append(record)

    def at(self, point: Point, witness: str | None = None) -> list[Record]:
        """Records of a point, of one witness or of all."""
        here = self._at.get(point, [])
        return here[:] if witness is None else [record for record in here if record.witness == witness]


@dataclass(slots=True)
class Testimony:
    """All that a stream's blocks say, and what had to be left out of it."""

    exchanges: list[Exchange]
    conflicts: int = 0
    """Witnesses set aside because their blocks contradict each other."""
    refused: int = 0
    """Blocks of points that the sender's role may not testify for."""

    @property
    def records(self) -> list[Record]:
        """Every record of every exchange."""
        return [record for exchange in self.exchanges for record in exchange.records]


def collect(blocks: Iterable[Block], distrusted: frozenset[str] = frozenset()) -> Testimony:
    """Sort blocks, in any order and with repetitions, into exchanges; `distrusted` witnesses are set aside."""
    allowed, refused = _by_role(blocks)
    recorders: dict[str, list[Block]] = defaultdict(list)
    for block in allowed:
        recorders[block.recorder].append(block)
    merged = {recorder: _merge(group) for recorder, group in recorders.items()}
    doubtful = distrusted | {b.witness for r, group in merged.items() if group is None for b in recorders[r]}
    records = [_record(group) for group in merged.values() if group and group[0].witness not in doubtful]
    exchanges = _exchanges(records, allowed)
    return Testimony(exchanges, conflicts=len(doubtful), refused=refused)


def contributes(block: Block) -> bool:
    """Whether the sender's role may testify for the block's point."""
    return block.role not in ROLE_POINTS or block.point in ROLE_POINTS[block.role]


def _by_role(blocks: Iterable[Block]) -> tuple[list[Block], int]:
    every = list(blocks)
    allowed = list(filter(contributes, every))
    if len(allowed) == len(every):
        return every, 0
    return allowed, len({(b.recorder, b.index, b.summary) for b in every}) - len(
        {(b.recorder, b.index, b.summary) for b in allowed}
    )


def _merge(group: list[Block]) -> list[Block] | None:
    """One block an index, the full one before its summary; None when two of them contradict each other."""
    if len(group) == 1:
        return group if _starts_at_zero(group[0]) else None
    chosen: dict[int, Block] = {}
    for block in sorted(group, key=lambda b: (b.index, b.summary)):
        known = chosen.setdefault(block.index, block)
        if known is not block and not _agree(known, block):
            return None
    ordered = list(chosen.values())
    return ordered if _consistent(ordered) else None


def _agree(a: Block, b: Block) -> bool:
    same_rows = a.summary or b.summary or a.rows == b.rows
    same_fault = a.extra.get(OBSERVER_FAULT) == b.extra.get(OBSERVER_FAULT)
    return same_rows and same_fault and all(getattr(a, name) == getattr(b, name) for name in _TESTIMONY)


def _consistent(blocks: Sequence[Block]) -> bool:
    first = blocks[0]
    same = all(
        (b.exchange, b.witness, b.point, b.of, b.leg)
        == (first.exchange, first.witness, first.point, first.of, first.leg)
        for b in blocks
    )
    return same and _starts_at_zero(first) and all(_follows(a, b) for a, b in pairwise(blocks))


def _starts_at_zero(block: Block) -> bool:
    return block.index > 0 or block.position == 0


def _follows(a: Block, b: Block) -> bool:
    """Whether b can stand behind a: nothing follows a closing block, and counters only grow."""
    adjacent = b.index == a.index + 1
    grown = all(b.totals[name] >= count for name, count in a.totals.items())
    starts = b.position == a.totals["events"] if adjacent else b.position >= a.totals["events"]
    return not a.final and grown and starts and (not adjacent or b.max_before == a.max_after)


def _record(blocks: Sequence[Block]) -> Record:
    first, last = blocks[0], blocks[-1]
    held = tuple(takewhile(_unfaulted, blocks))
    faulted = len(held) < len(blocks)
    lost = last.index + 1 - len(blocks) + sum([_without_rows(block) for block in blocks if block.summary])
    closing = last if last.final else None
    closed = closing is not None and not faulted
    whole, events = closed and not lost, held[-1].totals["events"] if held else 0
    return Record(
        recorder=first.recorder,
        witness=first.witness,
        exchange=first.exchange,
        point=first.point,
        attempt=first.attempt,
        hop=first.hop,
        leg=first.leg,
        delivers=first.delivers,
        blocks=held,
        closing=closing,
        faulted=faulted,
        lost=lost,
        closed=closed,
        end=closing.end if closing is not None else None,
        events=events,
        held="full" if whole else "partial" if held else "none",
        every_row=whole and all(map(_with_rows, held)),
        complete=closing is not None and _complete(closing, clean=events > 0 and not faulted),
        extra=_told(held if closing is None or not faulted else (*held, closing)),
    )


def _unfaulted(block: Block) -> bool:
    return not block.extra.get(OBSERVER_FAULT)


def _without_rows(block: Block) -> bool:
    """Whether only the summary that this is speaks of the block's rows."""
    return block.row_count > 0 and block.rows is None


def _complete(closing: Block, *, clean: bool) -> bool:
    return clean and closing.end in _CLEAN_ENDS if closing.complete is None else closing.complete


def _with_rows(block: Block) -> bool:
    """Whether the rows of its events are here, or it came after the last of them."""
    due = block.totals["events"] - block.position
    return not due or (block.rows is not None and block.row_count == due)


def _told(blocks: Sequence[Block]) -> Mapping[str, object]:
    """Of each attribute the value that was told last."""
    if len(blocks) == 1:
        return blocks[0].extra
    return {key: value for block in blocks for key, value in block.extra.items() if value is not None}


def _exchanges(records: Iterable[Record], blocks: Iterable[Block]) -> list[Exchange]:
    """Exchanges in order of attempt and hop; points are expected even of those whose witness was set aside."""
    found: dict[str, Exchange] = {}
    expected: dict[str, int] = defaultdict(int)
    places: dict[str, tuple[int, int]] = {}
    for block in blocks:
        expected[block.exchange] |= block.expected | _BIT[block.point]
        place = (block.attempt, block.hop)
        places[block.exchange] = max(place, places.get(block.exchange, place))
    for id_, (attempt, hop) in places.items():
        found[id_] = Exchange(id_, attempt, hop, expected=_points(expected[id_] & _EVERY_BIT))
    for record in sorted(records, key=_order):
        found[record.exchange].hold(record)
    return sorted(found.values(), key=lambda e: (e.attempt, e.hop, e.id))


@cache
def _points(mask: int) -> frozenset[Point]:
    """The points of which a mask has the bit; it has no others, so that what is kept here stays few."""
    return frozenset(point for point, bit in _BIT.items() if mask & bit)


def _order(record: Record) -> tuple[int, int, str, str]:
    leg = record.leg if record.leg is not None else -1
    return (POINTS.index(record.point), leg, record.witness, record.recorder)


def all_closed(blocks: Sequence[Block]) -> bool:
    """Whether every expected point has closed and no block is missing, listed legs included."""
    testimony = collect(blocks)
    records = {record.recorder: record for record in testimony.records}
    legs = {leg for record in records.values() if record.closing for leg in record.closing.legs}
    here = all({record.point for record in e.records} >= e.expected for e in testimony.exchanges)
    whole = all(record.closing is not None and not record.lost for record in records.values())
    return bool(records) and here and whole and legs <= records.keys()


def dropped(records: Iterable[Record]) -> int:
    """Blocks that senders had to drop before export, as far as later blocks told."""
    told = {
        (record.recorder, block.index): block.extra[DROPPED_BLOCKS]
        for record in records
        if DROPPED_BLOCKS in record.extra
        for block in (*record.blocks, *((record.closing,) if record.closing and record.faulted else ()))
        if DROPPED_BLOCKS in block.extra
    }
    return sum(value for value in told.values() if isinstance(value, int))
