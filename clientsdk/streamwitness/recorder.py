"""One observation point of one exchange: events and a time go in, blocks come out.

No I/O and no clock: `now` is a monotonic time in nanoseconds that the caller took. A block closes at 512 rows, 2 s
after its first event, or at the end; every recorder sends exactly one closing block. The cumulative sums are those
of `sums.py`; what each attribute means is in docs/wire.md.

An event costs its digests and one packed row. Whatever follows from the rows (totals, sums, running maximum) is
counted when their block closes, column by column, which is several times cheaper and cannot contradict the rows.
"""

from __future__ import annotations

import secrets
import struct
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from . import forked, rows
from .blocks import Block
from .digests import Contents, Digester
from .events import Piece
from .semconv import (
    CLIENT,
    FIRST_EVENT_MS,
    HOLD_AFTER,
    HOLD_MS,
    MAX_BLOCK_NS,
    MAX_BLOCK_ROWS,
    MISSING,
    OBSERVER_FAULT,
    PARTS,
    PENDING_BYTES,
    POINTS,
    PROGRESS_GAP_AFTER,
    PROGRESS_GAP_MS,
    READ_WAIT_AFTER,
    READ_WAIT_MS,
    RESULT,
    TIME_TO_FIRST_CHUNK,
    Level,
    Point,
)
from .sums import Sums

COLUMNS: Final = (
    "of",
    "parts",
    "bytes",
    "content",
    "t",
    "leg",
    "leg_read",
    "payload",
    "semantic",
    "result",
    "sequence",
)
"""The columns of a row as packed in memory; every value is a u32."""

_ROW: Final = struct.Struct(f"={len(COLUMNS)}I")
_OK: Final = RESULT["ok"]
_UNREAD: Final = frozenset((RESULT["malformed"], RESULT["oversize"], RESULT["after_terminal"]))
"""Results of events that enter the payload sums, not the semantic ones."""
_MS: Final = 1_000_000
_MALFORMED: Final = PARTS.index("malformed")
_PING: Final = PARTS.index("ping")
_BITS: Final = tuple((1 << bit, bit) for bit in range(len(PARTS)))


class Sink(Protocol):
    """Where blocks go. Called on hot paths and from finalizers: never blocks, never raises, re-entrant."""

    def put(self, block: Block) -> None:
        """Take a block over."""

    def track(self, recorder: Recorder) -> None:
        """Keep the recorder weakly and call its `tick` about once a second."""


class _Longest:
    """The longest of many waits, and after which position it was."""

    __slots__ = ("after", "ns")

    def __init__(self) -> None:
        self.ns = 0
        self.after = -1

    def set(self, ns: int, after: int) -> None:
        """A longer one was found."""
        self.ns, self.after = ns, after


class Recorder:
    """Rows, counters and digests of one point; thread-safe; inert in a forked child.

    `template` gives the identity that every block repeats. `key` None means that no digests are made (levels
    `counters` and `rows`). `wall` is added to a monotonic time to make it Unix nanoseconds.
    """

    def __init__(
        self,
        template: Block,
        sink: Sink,
        *,
        key: bytes | None,
        level: Level,
        started: int,
        wall: int,
        client: str | None,
    ) -> None:
        self.id = template.recorder
        self.point: Point = template.point
        self.closed = False
        self.end: str | None = None
        self._fault = ""
        self.events = 0
        self._template, self._sink, self._wall, self._started = template, sink, wall, started
        self._client = client
        self._rows_wanted = level != "counters"
        self._digester = Digester(key) if key is not None else None
        self._payloads = key is not None and self.point not in ("parsed", "applied")
        self._semantics = key is not None and self.point != "applied"
        self._contents = Contents(key) if key is not None and self.point != "applied" else None
        self._generation = forked.generation
        self._lock = threading.RLock()
        self._busy = False
        self._deferred: tuple[Any, ...] | None = None
        self._expected = template.expected
        # cumulative through now
        self._bytes = self._judged = self._comments = self._reads = 0
        self._first_event = self._last_event = 0
        self._read_wait, self._hold, self._gap = _Longest(), _Longest(), _Longest()
        # cumulative through the last block
        self._content = self._regressions = self._duplicates = self._gaps = self._reorders = self._dropped_rows = 0
        self._parts = [0] * len(PARTS)
        self._max = -1
        self._payload_sums, self._semantic_sums = Sums(), Sums()
        # the open block
        self._index = self._position = self._count = 0
        self._rows = bytearray()
        self._block_start = started
        self._block_ends = 0  # when the open block is due; no block is open: every event is late for it
        self._max_before = -1

    def event(
        self,
        now: int,
        size: int,
        parts: int,
        pieces: Sequence[Piece] = (),
        *,
        name: bytes = b"",
        data: bytes | None = None,
        of: int = MISSING,
        result: int = _OK,
        leg: int = MISSING,
        leg_read: int = MISSING,
        sequence: int = MISSING,
    ) -> None:
        """Record one event.

        `size` is its framed bytes, `data` its raw data field (None where the point has none), `of` the position at
        the point before that it was made from, `leg`/`leg_read` at egress the leg read last and how many of its
        events had been read, `sequence` the number that it was stamped with.
        """
        if self._generation != forked.generation:  # before the lock: a thread of the parent may hold it for ever
            return
        self._lock.acquire()  # `with` and a call of `_leave` would cost a tenth of the whole
        try:
            if self.closed:
                return
            self._busy = True
            if now >= self._block_ends or self._count >= MAX_BLOCK_ROWS:
                self._turn(now)
            payload = semantic = MISSING
            if data is not None and self._payloads:
                payload = self._digester.payload(name, data)  # type: ignore[union-attr]
            judged = bool(pieces) and result not in _UNREAD
            if judged and self._semantics:
                semantic = self._digester.semantic(pieces)  # type: ignore[union-attr]
            content = 0
            for piece in pieces:
                content += len(piece.content)
                if judged and self._contents is not None and piece.content:
                    self._contents.add(piece.slot, piece.content)
            # Threads may take their time and our lock in different orders, and a frame may exceed 4 GiB.
            t = (now - self._block_start) // 1000 if now > self._block_start else 0
            capped = size if size < MISSING else MISSING - 1
            self._rows += _ROW.pack(of, parts, capped, content, t, leg, leg_read, payload, semantic, result, sequence)
            self._bytes += size
            self._judged += judged
            if now - self._last_event > self._gap.ns:
                self._gap_found(now)
            self._last_event = now
            self._count += 1
            self.events += 1
        finally:
            self._busy = False
            if self._deferred is not None:
                self._leave()
            self._lock.release()

    def observed(self, *, comments: int = 0, read_calls: int = 0) -> None:
        """Count comments and reads of the underlying stream."""
        self._comments += comments
        self._reads += read_calls

    def waited(self, *, read_wait: int = 0, hold: int = 0) -> None:
        """Note a wait in ns: `read_wait` for what is upstream, `hold` while the consumer did not ask."""
        if read_wait > self._read_wait.ns:
            self._read_wait.set(read_wait, self.events - 1)
        if hold > self._hold.ns:
            self._hold.set(hold, self.events - 1)

    def expect(self, point: Point) -> None:
        """From now on blocks say that a record of this point is expected as well."""
        self._expected |= 1 << POINTS.index(point)

    def fault(self, error: BaseException) -> None:
        """The observer failed: from here on this point is unknown, and its blocks name the error's type."""
        self._fault = self._fault or type(error).__name__

    def tick(self, now: int) -> None:
        """Close the open block when it is 2 s old."""
        if self._generation != forked.generation:
            return
        with self._lock:
            if self._busy or self.closed:
                return
            self._busy = True
            if self._count and now >= self._block_ends:
                self._cut()
            self._leave()

    def close(
        self,
        now: int,
        end: str,
        *,
        detail: str = "",
        complete: bool | None = None,
        pending: int = 0,
        legs: Sequence[str] = (),
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Send the closing block. The first end wins; later calls do nothing.

        `complete` says whether the provider's completion rule is satisfied, `pending` how many bytes of an event
        were left without a terminator, `legs` (egress) the recorder ids of the upstream responses.
        """
        if self._generation != forked.generation:
            return
        with self._lock:
            if self.closed:
                return
            if self._busy:  # re-entered: a finalizer ran inside one of our own methods; its caller finishes the job
                self._deferred = self._deferred or (now, end, detail, complete, pending, legs, extra)
                return
            self._close(now, end, detail, complete, pending, legs, extra)

    def _leave(self) -> None:
        self._busy = False
        if self._deferred is not None and not self.closed:
            self._close(*self._deferred)

    def _close(
        self,
        now: int,
        end: str,
        detail: str,
        complete: bool | None,
        pending: int,
        legs: Sequence[str],
        extra: dict[str, Any] | None,
    ) -> None:
        self.closed, self.end = True, end
        if not self._count:
            self._block_start = now
        block = self._block(max(now, self._last_event))
        block.final, block.end, block.end_detail, block.complete = True, end, detail, complete
        block.legs = tuple(legs)
        if self._contents is not None:
            block.slot_digests = self._contents.slots()
        block.extra.update(self._waits(pending))
        block.extra.update(extra or {})
        self._sink.put(block)

    def _turn(self, now: int) -> None:
        """Close the open block, if there is one, and open one for the event that comes."""
        if self._count:
            self._cut()
        self._block_start = now
        self._block_ends = now + MAX_BLOCK_NS

    def _cut(self) -> None:
        block = self._block(self._last_event)
        self._index += 1
        self._position = self.events
        self._rows = bytearray()
        self._count = self._block_ends = 0
        self._max_before = self._max
        self._sink.put(block)

    def _block(self, ended: int) -> Block:
        t = self._template
        columns = self._columns()
        self._account(columns)
        sent = _telling(columns) if self._rows_wanted else {}
        return Block(
            stream=t.stream, exchange=t.exchange, witness=t.witness, recorder=t.recorder, point=t.point,
            attempt=t.attempt, hop=t.hop, leg=t.leg, of=t.of, delivers=t.delivers, context=t.context,
            expected=self._expected, index=self._index, position=self._position,
            row_count=self._count if sent else 0,
            rows=rows.encode(sent, self._count) if sent else None,
            max_before=self._max_before, max_after=self._max, regressions=self._regressions,
            total_parts=tuple(self._parts), totals=self._totals(),
            payload_s=self._payload_sums.s if self._payloads else None,
            payload_o=self._payload_sums.o if self._payloads else None,
            semantic_s=self._semantic_sums.s if self._semantics else None,
            semantic_o=self._semantic_sums.o if self._semantics else None,
            content_marks=self._contents.take_marks() if self._contents is not None else b"",
            start_ns=self._block_start + self._wall, end_ns=ended + self._wall,
            extra=self._flags(),
        )  # fmt: skip

    def _columns(self) -> dict[str, list[int]]:
        """The open block's rows as columns."""
        cells = memoryview(self._rows).cast("I")
        return {name: cells[i :: len(COLUMNS)].tolist() for i, name in enumerate(COLUMNS)}

    def _account(self, columns: dict[str, list[int]]) -> None:
        """Count what follows from the rows of the block that closes."""
        self._content += sum(columns["content"])
        for mask, count in Counter(columns["parts"]).items():
            for bit, index in _BITS:
                if mask & bit:
                    self._parts[index] += count
        if self._payloads:
            self._payload_sums.extend(_known(columns["payload"]))
        if self._semantics:
            self._semantic_sums.extend(_known(columns["semantic"]))
        if self.point == "egress":
            self._max = self.events - 1
        elif self._template.of is not None:
            self._follow(_known(columns["of"]))

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

    def _totals(self) -> dict[str, int]:
        return {
            "events": self.events, "bytes": self._bytes, "content": self._content, "judged": self._judged,
            "duplicates": self._duplicates, "gaps": self._gaps, "reorders": self._reorders,
            "malformed": self._parts[_MALFORMED], "comments": self._comments, "pings": self._parts[_PING],
            "read_calls": self._reads, "dropped_rows": self._dropped_rows,
        }  # fmt: skip

    def _flags(self) -> dict[str, Any]:
        flags = ((OBSERVER_FAULT, self._fault), (CLIENT, self._client))
        return {name: value for name, value in flags if value}

    def _waits(self, pending: int) -> dict[str, Any]:
        out: dict[str, Any] = {PENDING_BYTES: pending} if pending else {}
        if self._first_event:
            waited = self._first_event - self._started
            out[FIRST_EVENT_MS], out[TIME_TO_FIRST_CHUNK] = waited // _MS, waited / 1_000_000_000
        longest = (
            (self._read_wait, READ_WAIT_MS, READ_WAIT_AFTER),
            (self._hold, HOLD_MS, HOLD_AFTER),
            (self._gap, PROGRESS_GAP_MS, PROGRESS_GAP_AFTER),
        )
        for wait, ms, after in longest:
            if wait.ns:
                out[ms], out[after] = wait.ns // _MS, wait.after
        return out

    def _gap_found(self, now: int) -> None:
        """Note the longest gap between two events so far (the first event ends none)."""
        if self._last_event:
            self._gap.set(now - self._last_event, self.events - 1)
        else:
            self._first_event = now


def _known(column: list[int]) -> list[int]:
    """The column without the rows that lack a value."""
    return [value for value in column if value != MISSING] if MISSING in column else column


def _telling(columns: dict[str, list[int]]) -> dict[str, list[int]]:
    """The columns that say anything."""

    def silent(name: str, values: list[int]) -> bool:
        nothing = _OK if name == "result" else MISSING
        return not values or (values[0] == nothing and values.count(nothing) == len(values))

    return {name: values for name, values in columns.items() if not silent(name, values)}


def new_id() -> str:
    """16 random hex digits: an exchange, a witness or a recorder."""
    return secrets.token_hex(8)
