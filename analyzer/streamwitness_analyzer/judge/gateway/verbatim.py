"""Which events came through a gateway as they were written: in the same bytes, but for the number that it put in.

Whoever hands on what he reads as it was written writes nothing otherwise, and an answer in the bytes of one upstream
response is not another's (docs/design.md §7.2). Where the gateway's own numbers stand within the events (stamp
`field`), so that the bytes differ, the same are two events that say the same and are of one size without the number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from streamwitness.semconv import MISSING, STAMPED, TAG_DIGITS
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

Writing = tuple[int, ...]
"""What tells one event's bytes from another's."""
_FEW: Final = 3
"""So many events that came through as they were are no accident."""
_COLUMNS: Final = ("payload", "semantic", "parts", "content", "bytes")


@dataclass(frozen=True, slots=True)
class Row:
    """One event as its row tells it; `writing` None where no digest of its bytes was recorded."""

    position: int
    writing: Writing | None
    parts: int
    content: int
    size: int
    """Bytes on the wire, without the number that the gateway put in."""
    judged: bool


def rows_of(record: Record, *, numbered: bool = False) -> Iterator[Row]:
    """The rows held of a record, in order. `numbered`: compared with events that bear numbers in their bytes."""
    inside = numbered and record.told(STAMPED) == "field"
    for block in record.blocks:
        if not block.rows_held:
            continue
        columns, none = block.columns(*_COLUMNS), [MISSING] * block.row_count
        payload, semantic = columns.get("payload") or none, columns.get("semantic") or none
        zeros = [0] * block.row_count
        parts, content, sizes = (columns.get(name) or zeros for name in ("parts", "content", "bytes"))
        for i in range(block.row_count):
            at = block.position + i
            size = sizes[i] - (_size_of_stamp(record, at) if inside else 0)
            writing = (semantic[i], parts[i], size) if numbered else (payload[i],)
            known = MISSING not in (payload[i], sizes[i])
            yield Row(at, writing if known else None, parts[i], content[i], size, semantic[i] != MISSING)


def _size_of_stamp(record: Record, position: int) -> int:
    """Bytes of the number within an event (`gateway/stamp.py`)."""
    number = (record.first_number or 0) + position
    return len(f'"_stream":"{record.exchange[:TAG_DIGITS]}","_seq":{number},')


@dataclass(frozen=True)
class Verbatim:
    """A leg and the answer, by how their judged events are written."""

    leg: Record
    egress: Record

    @property
    def numbered(self) -> bool:
        """Whether one of them bears numbers within its events, so that bytes do not compare."""
        return "field" in (self.leg.told(STAMPED), self.egress.told(STAMPED))

    @cached_property
    def before(self) -> tuple[Row, ...]:
        """The judged events that were read."""
        return self.of(self.leg)

    @cached_property
    def after(self) -> tuple[Row, ...]:
        """The judged events that were sent."""
        return self.of(self.egress)

    def of(self, record: Record) -> tuple[Row, ...]:
        """The judged events of any record, to be compared with these."""
        return tuple(row for row in rows_of(record, numbered=self.numbered) if row.judged)

    @cached_property
    def read(self) -> frozenset[Writing]:
        """How what was read is written."""
        return frozenset(row.writing for row in self.before if row.writing is not None)

    @cached_property
    def new(self) -> tuple[Row, ...]:
        """Events of the answer that are not written as any that was read."""
        return tuple(row for row in self.after if row.writing not in self.read)

    @cached_property
    def gone(self) -> tuple[Row, ...]:
        """Events read that are not written as any of the answer."""
        here = {row.writing for row in self.after}
        return tuple(row for row in self.before if row.writing not in here)

    @cached_property
    def same(self) -> int:
        """How many events of the answer are written as those that were read, as often as these were."""
        had, has = (Counter(row.writing for row in rows if row.writing) for rows in (self.before, self.after))
        return (had & has).total()

    @cached_property
    def whole(self) -> bool:
        """Whether every event of the answer is one of those that were read, as it was written.

        Where rows are lost, that is known if both have the same bytes in all, in whatever order.
        """
        if self.after and len(self.after) == self.egress.total("judged") and not self.new:
            return True
        before, after = View(self.leg, "payload"), View(self.egress, "payload")
        return before.closed and after.closed and before.s is not None and (before.n, before.s) == (after.n, after.s)

    @cached_property
    def held(self) -> bool:
        """Whether a row is held of each judged event of both."""
        sides = ((self.before, self.leg), (self.after, self.egress))
        return all(len(rows) == record.total("judged") for rows, record in sides)

    @cached_property
    def mostly(self) -> bool:
        """Whether all events of the answer but a few are, and so many that the gateway rewrites nothing.

        Of an answer of which rows are lost that is not known, nor of a leg.
        """
        return self.held and self.same >= _FEW and 4 * self.same >= 3 * len(self.after)
