"""The rows of an open block and the totals through its end: what a recorder keeps of the events it was told.

Events come in batches, because an observer that does a little at every event does it with cold caches: the same work
takes half the time in a loop. Per event there is a row, its digests, and nothing that can wait; whatever follows from
the rows (parts, sums, running maximum) is counted when their block closes, column by column, so that it cannot
contradict the rows. Not thread-safe: the recorder's lock guards it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from . import rows
from .digests import Contents, Digester
from .events import Piece
from .semconv import MISSING, PARTS, RESULT, Level, Point
from .sums import Sums

_OK: Final = RESULT["ok"]
_UNREAD: Final = frozenset((RESULT["malformed"], RESULT["oversize"], RESULT["after_terminal"]))
"""Results of events that enter the payload sums, not the semantic ones."""
_SHARED: Final = 64
"""Events whose digests are remembered for another point, none of them longer than `_SHARED_BYTES`."""
_SHARED_BYTES: Final = 4096
_MALFORMED: Final = PARTS.index("malformed")
_PING: Final = PARTS.index("ping")
_BITS: Final = tuple((1 << bit, bit) for bit in range(len(PARTS)))


class Said:
    """The digests of an event that two points of one process see: whoever needs one first computes it for both."""

    __slots__ = ("payload", "semantic")

    def __init__(self) -> None:
        self.payload = self.semantic = MISSING


class Shared:
    """The digests of the newest events of one witness, for its points that see the same bytes."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[bytes, Sequence[Piece], Said]] = {}

    def of(self, name: bytes, data: bytes, pieces: Sequence[Piece]) -> Said | None:
        """The digests of this very event if another point has just recorded it, else a place for them.

        A digest depends on the key, which a witness has but one of, and on name, data and pieces. Where these differ
        in anything (another profile, another slot), or are large, nothing is shared.
        """
        known = self._known.get(data)
        if known is None:
            if len(data) > _SHARED_BYTES:
                return None
            if len(self._known) >= _SHARED:
                self._known.pop(next(iter(self._known)), None)
            said = Said()
            self._known[data] = (name, pieces, said)
            return said
        return known[2] if known[0] == name and known[1] == pieces else None


Event = tuple[
    int, int, int, Sequence[Piece], bytes, bytes | None, int, int, int, int, int, Said | None
]  # a NamedTuple would take twice as long to make
"""An event as a recorder was told of it: now, size, parts, pieces, name, data, of, result, leg, leg_read, sequence,
said; see `Recorder.event`."""


class Ledger:
    """Rows, digests and totals of one point.

    `key` None means that no digests are made; `named` that the rows name positions of the point before (`of`).
    """

    def __init__(self, point: Point, key: bytes | None, level: Level, *, named: bool) -> None:
        self.count = 0
        """Rows in the open block."""
        self.events = 0
        """Events taken in so far; the last `count` of them are the open block's."""
        self._point, self._named = point, named
        self._rows_wanted = level != "counters"
        self._digester = Digester(key) if key is not None and point != "applied" else None
        self._payloads = self._digester is not None and point != "parsed"
        self._contents = Contents(key) if key is not None and point != "applied" else None
        self._columns: dict[str, array[int]] = {}
        self._bytes = self._judged = self._content = 0
        self._regressions = self._duplicates = self._gaps = self._reorders = 0
        self._parts = [0] * len(PARTS)
        self._max = self._max_before = -1
        self._payload_sums, self._semantic_sums = Sums(), Sums()

    def take(self, events: Sequence[Event], start: int) -> None:
        """Take in events of the open block, which began at `start` (ns)."""
        if not events:
            return
        now, size, parts, pieces, name, data, of, result, leg, leg_read, sequence, said = zip(*events, strict=True)
        content = [len(one[0][2]) if len(one) == 1 else _content(one) for one in pieces]
        judged = _judged(pieces, result)
        self._column("parts", parts)
        if self._named:
            self._column("of", of)
        if self._rows_wanted:
            # Threads may take their time and our lock in different orders, and a frame may exceed 4 GiB.
            self._column("t", [(at - start) // 1000 if at > start else 0 for at in now])
            self._column("bytes", size if max(size) < MISSING else [min(one, MISSING - 1) for one in size])
            self._column("content", content)
            for column, values in (("leg", leg), ("leg_read", leg_read), ("sequence", sequence)):
                self._column(column, values)
            self._column("result", result, _OK)
        if self._digester is not None:
            self._digest(self._digester, name, data, judged, said)
        self._bytes += sum(size)
        self._content += sum(content)
        self._judged += sum(map(bool, judged))
        self.count += len(events)
        self.events += len(events)

    def close_block(self) -> dict[str, Any]:
        """The open block is full or over: its fields of `Block` that come from rows, and totals through its end."""
        columns = {name: self._columns[name].tolist() for name in rows.COLUMNS if name in self._columns}
        self._account(columns)
        sent = columns if self._rows_wanted and self.count else {}
        fields = {
            "row_count": self.count if sent else 0,
            "rows": rows.encode(sent, self.count) if sent else None,
            "max_before": self._max_before, "max_after": self._max, "regressions": self._regressions,
            "total_parts": tuple(self._parts),
            "payload_s": self._payload_sums.s if self._payloads else None,
            "payload_o": self._payload_sums.o if self._payloads else None,
            "semantic_s": self._semantic_sums.s if self._digester is not None else None,
            "semantic_o": self._semantic_sums.o if self._digester is not None else None,
            "content_marks": self._contents.take_marks() if self._contents is not None else b"",
        }  # fmt: skip
        self._columns = {}
        self.count = 0
        self._max_before = self._max
        return fields

    def totals(self, comments: int, reads: int) -> dict[str, int]:
        """Counters through the last block, by the names of semconv.TOTALS; what is no event is counted elsewhere."""
        return {
            "events": self.events, "bytes": self._bytes, "content": self._content, "judged": self._judged,
            "duplicates": self._duplicates, "gaps": self._gaps, "reorders": self._reorders,
            "malformed": self._parts[_MALFORMED], "comments": comments, "pings": self._parts[_PING],
            "read_calls": reads, "dropped_rows": 0,
        }  # fmt: skip

    def slots(self) -> tuple[str, ...]:
        """`slot digest size` of each slot's whole content."""
        return self._contents.slots() if self._contents is not None else ()

    def _column(self, name: str, values: Sequence[int], silent: int = MISSING) -> None:
        """Append to a column; one that says nothing throughout is never made."""
        column = self._columns.get(name)
        if column is None:
            if values.count(silent) == len(values):
                return
            column = self._columns[name] = array("I", (silent,)) * self.count
        column.fromlist(list(values))

    def _digest(
        self,
        digester: Digester,
        names: Sequence[bytes],
        datas: Sequence[bytes | None],
        judged: Sequence[Sequence[Piece]],
        said: Sequence[Said | None],
    ) -> None:
        """The two digest columns, and the running digests of each slot's content."""
        if self._payloads:
            self._column("payload", _payloads(digester, names, datas, said))
        self._column("semantic", _semantics(digester, judged, said))
        self._contents.extend(judged)  # type: ignore[union-attr]

    def _account(self, columns: dict[str, list[int]]) -> None:
        """Count what follows from the rows of the block that closes."""
        for mask, count in Counter(columns.get("parts", ())).items():
            for bit, index in _BITS:
                if mask & bit:
                    self._parts[index] += count
        self._payload_sums.extend(_known(columns.get("payload", [])))
        self._semantic_sums.extend(_known(columns.get("semantic", [])))
        if self._point == "egress":
            self._max = self.events - 1
        elif self._named:
            self._follow(_known(columns.get("of", [])))

    def _follow(self, positions: Iterable[int]) -> None:
        """Advance the running maximum over the positions that this point's events name."""
        for of in positions:
            if of > self._max:
                self._gaps += of - self._max - 1
                self._max = of
                continue
            self._regressions += 1
            if of == self._max:
                self._duplicates += 1
            else:
                self._reorders += 1


def _payloads(
    digester: Digester, names: Sequence[bytes], datas: Sequence[bytes | None], shared: Sequence[Said | None]
) -> list[int]:
    """The digest of each event's payload, MISSING where it has none; made here unless another point has made it."""
    if not any(shared) and None not in datas:
        return digester.payloads(names, datas)  # type: ignore[arg-type]
    known = [MISSING if said is None else said.payload for said in shared]
    wanted = [
        (at, data) for at, (data, value) in enumerate(zip(datas, known, strict=True))
        if value == MISSING and data is not None
    ]  # fmt: skip
    made = digester.payloads([names[at] for at, _ in wanted], [data for _, data in wanted])
    for (at, _), value in zip(wanted, made, strict=True):
        known[at] = value
        if (said := shared[at]) is not None:
            said.payload = value
    return known


def _semantics(digester: Digester, judged: Sequence[Sequence[Piece]], shared: Sequence[Said | None]) -> list[int]:
    """The same of what each event says."""
    if not any(shared) and all(judged):
        return digester.semantics(judged)
    known = [said.semantic if said and pieces else MISSING for said, pieces in zip(shared, judged, strict=True)]
    wanted = [at for at, value in enumerate(known) if value == MISSING and judged[at]]
    for at, value in zip(wanted, digester.semantics([judged[at] for at in wanted]), strict=True):
        known[at] = value
        if (said := shared[at]) is not None:
            said.semantic = value
    return known


def _content(pieces: Sequence[Piece]) -> int:
    return sum(len(piece.content) for piece in pieces)


def _judged(pieces: Sequence[Sequence[Piece]], results: Sequence[int]) -> Sequence[Sequence[Piece]]:
    """The pieces of each event, none where it was not read as part of the answer."""
    if not any(results):
        return pieces
    return [() if result in _UNREAD else said for said, result in zip(pieces, results, strict=True)]


def _known(column: list[int]) -> list[int]:
    """The column without the rows that lack a value."""
    return [value for value in column if value != MISSING] if MISSING in column else column
