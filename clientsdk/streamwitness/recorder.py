"""One observation point of one exchange: events and a time go in, blocks come out.

No I/O and no clock: `now` is a monotonic time in nanoseconds that the caller took. A block closes at 512 rows, 2 s
after its first event, or at the end; every recorder sends exactly one closing block. What its rows and totals are made
of is in `ledger.py`, the cumulative sums are those of `sums.py`; what each attribute means is in docs/wire.md.

An event is noted, and with it the recorder is done: once 32 events or 64 KiB wait, when a block is due, at a tick and
at the end they are worked off together.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from . import forked
from .blocks import Block
from .digests import Contents
from .events import Piece
from .ledger import Event, Ledger, Said
from .semconv import (
    CLIENT,
    CLOCK_STEP_MS,
    MAX_BLOCK_NS,
    MAX_BLOCK_ROWS,
    MISSING,
    OBSERVER_FAULT,
    PENDING_BYTES,
    POINTS,
    RESULT,
    Level,
    Point,
)
from .waits import Waits

MAX_NOTED: Final = 32
"""Events that wait at most to be worked off; more would not be cheaper by the piece."""
MAX_NOTED_BYTES: Final = 1 << 16
"""Bytes of theirs that wait at most, but for one event that is larger by itself."""

_CLOCK_STEP: Final = 500_000_000
"""ns between two clocks of one machine that are told; clocks that are only slewed go together."""

_OK: Final = RESULT["ok"]


class Sink(Protocol):
    """Where blocks go. Called on hot paths and from finalizers: never blocks, never raises, re-entrant."""

    def put(self, block: Block) -> None:
        """Take a block over."""

    def track(self, recorder: Recorder) -> None:
        """Keep the recorder weakly and call its `tick` about once a second."""


class Recorder:
    """Rows, counters and digests of one point; thread-safe; inert in a forked child.

    `template` gives the identity that every block repeats. `key` None means that no digests are made (levels
    `counters` and `rows`). `wall` is added to a monotonic time to make it Unix nanoseconds, and
    `wall_now` gives what would have to be added now: asked once, at the end, to see whether the two went apart.
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
        wall_now: Callable[[], int] | None = None,
    ) -> None:
        self.id = template.recorder
        self.point: Point = template.point
        self.closed = False
        self.end: str | None = None
        self.events = 0
        """Events recorded so far."""
        self.before_tick: Callable[[], None] | None = None
        """Called first at each tick, without the lock: whoever holds events back hands them in."""
        self.kept: Contents | None = None
        """What this point shows of the whole content where its events do not tell it (`applied`)."""
        self.marks: dict[str, Any] = {}
        """Attributes of every block from now on."""
        self._fault = ""
        self._template, self._sink, self._wall, self._wall_now = template, sink, wall, wall_now
        self._client = client
        self._ledger = Ledger(template.point, key, level, named=template.of is not None)
        self._waits = Waits(started)
        self._generation = forked.generation
        self._lock = threading.RLock()
        self._busy = False
        self._deferred: tuple[Any, ...] | None = None
        self._expected = template.expected
        self._comments = self._reads = 0
        # noted, not worked off
        self._noted: list[Event] = []
        self._noted_bytes = 0
        # the open block
        self._index = 0
        self._block_start = started
        self._block_ends = 0  # when the open block is due; no block is open: every event is late for it
        self._last = 0  # when its last event came

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
        said: Said | None = None,
    ) -> None:
        """Record one event.

        `size` is its framed bytes, `data` its raw data field (None where the point has none), `of` the position at
        the point before that it was made from, `leg`/`leg_read` at egress the leg read last and how many of its
        events had been read, `sequence` the number that it was stamped with. `said` is given where another point of
        this witness records the same name, data and pieces.
        """
        event = (now, size, parts, pieces, name, data, of, result, leg, leg_read, sequence, said)
        self.extend((event,), size + sum(len(piece.content) for piece in pieces))

    def extend(self, events: Sequence[Event], held: int) -> None:
        """Record some events, at least one, that hold about so many bytes; each as `event` describes it."""
        if self._generation != forked.generation:  # before the lock: a thread of the parent may hold it for ever
            return
        with self._lock:
            if self.closed:
                return
            nested, self._busy = self._busy, True
            self.events += len(events)
            self._noted += events
            self._noted_bytes += held
            if nested:  # a finalizer inside one of our own methods, whose caller works off what it notes
                return
            try:
                if (
                    events[-1][0] >= self._block_ends
                    or len(self._noted) >= MAX_NOTED
                    or self._noted_bytes >= MAX_NOTED_BYTES
                ):
                    self._work_off()
            finally:
                self._leave()

    def observed(self, *, comments: int = 0, read_calls: int = 0) -> None:
        """Count comments and reads of the underlying stream."""
        self._comments += comments
        self._reads += read_calls

    def waited(self, *, read_wait: int = 0, hold: int = 0, after: int | None = None) -> None:
        """Note a wait in ns: `read_wait` for what is upstream, `hold` while the consumer did not ask.

        It was behind the event at position `after`; None: behind the last one.
        """
        if after is None:
            after = self.events - 1
        if read_wait > self._waits.read_wait.ns:
            self._waits.read_wait.set(read_wait, after)
        if hold > self._waits.hold.ns:
            self._waits.hold.set(hold, after)

    def ended_waiting(self, *, held: int, last_wait: int = 0) -> None:
        """Note before the end, in ns: how long the consumer did not ask in all, and how long upstream was awaited."""
        self._waits.held, self._waits.last_wait = held, last_wait

    def expect(self, point: Point) -> None:
        """From now on blocks say that a record of this point is expected as well."""
        self._expected |= 1 << POINTS.index(point)

    def fault(self, error: BaseException) -> None:
        """The observer failed: from here on this point is unknown, and its blocks name the error's type."""
        self._fault = self._fault or type(error).__name__

    def tick(self, now: int) -> None:
        """Work off what waits, and close the open block when it is 2 s old."""
        if self._generation != forked.generation:
            return
        if self.before_tick is not None:
            self.before_tick()
        with self._lock:
            if self._busy or self.closed:
                return
            self._busy = True
            try:
                self._work_off()
                if self._ledger.count and now >= self._block_ends:
                    self._cut()
            finally:
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
        self.closed, self.end, self.before_tick = True, end, None
        self._work_off()
        if not self._ledger.count and self._ledger.events:
            self._block_start = now  # without a single event the block spans the whole wait for one
        block = self._block(max(now, self._last))
        block.final, block.end, block.end_detail, block.complete = True, end, detail, complete
        block.legs = tuple(legs)
        block.slot_digests = self._ledger.slots()
        if self.kept is not None:
            block.slot_digests, block.content_marks = self.kept.slots(), self.kept.take_marks()
        block.extra.update(self._waits.attributes())
        if step := self._clock_step():
            block.extra[CLOCK_STEP_MS] = step
        if pending:
            block.extra[PENDING_BYTES] = pending
        block.extra.update(extra or {})
        self._sink.put(block)

    def _work_off(self) -> None:
        """Take what was noted into the open block, and into further ones where it is full or due."""
        ledger = self._ledger
        while self._noted:  # a sink's finalizers may note more meanwhile
            noted, self._noted, self._noted_bytes = self._noted, [], 0
            times = [event[0] for event in noted]
            self._waits.follow(times, ledger.events - 1)
            if ledger.count and ledger.count + len(noted) <= MAX_BLOCK_ROWS and max(times) < self._block_ends:
                ledger.take(noted, self._block_start)
                self._last = times[-1]
            else:
                self._take_in_blocks(noted)

    def _take_in_blocks(self, noted: list[Event]) -> None:
        """The same where a block may open or close within them."""
        ledger, at = self._ledger, 0
        while at < len(noted):
            if noted[at][0] >= self._block_ends or ledger.count >= MAX_BLOCK_ROWS:
                self._turn(noted[at][0])
            stop = at + 1
            last = min(len(noted), at + MAX_BLOCK_ROWS - ledger.count)
            while stop < last and noted[stop][0] < self._block_ends:
                stop += 1
            ledger.take(noted[at:stop], self._block_start)
            self._last = noted[stop - 1][0]
            at = stop

    def _turn(self, now: int) -> None:
        """Close the open block, if there is one, and open one for the event that comes."""
        if self._ledger.count:
            self._cut()
        self._block_start = now
        self._block_ends = now + MAX_BLOCK_NS

    def _cut(self) -> None:
        block = self._block(self._last)
        self._index += 1
        self._block_ends = 0
        self._sink.put(block)

    def _block(self, ended: int) -> Block:
        t, ledger = self._template, self._ledger
        position = ledger.events - ledger.count
        fields = ledger.close_block()
        return Block(
            stream=t.stream, exchange=t.exchange, witness=t.witness, recorder=t.recorder, point=t.point,
            attempt=t.attempt, hop=t.hop, leg=t.leg, of=t.of, delivers=t.delivers, context=t.context,
            expected=self._expected, index=self._index, position=position,
            start_ns=self._block_start + self._wall, end_ns=ended + self._wall, extra=self._flags(),
            totals=ledger.totals(self._comments, self._reads), **fields,
        )  # fmt: skip

    def _clock_step(self) -> int:
        """Milliseconds by which the clocks went apart; 0 for what does not matter."""
        step = self._wall_now() - self._wall if self._wall_now is not None else 0
        return step // 1_000_000 if abs(step) >= _CLOCK_STEP else 0

    def _flags(self) -> dict[str, Any]:
        flags = ((OBSERVER_FAULT, self._fault), (CLIENT, self._client))
        return {name: value for name, value in flags if value} | self.marks


def new_id() -> str:
    """16 random hex digits: an exchange, a witness or a recorder."""
    return secrets.token_hex(8)
