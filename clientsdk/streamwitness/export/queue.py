"""Blocks waiting for export, bounded in bytes; when full, blocks are dropped, counted and spoken of.

Producers are hot paths and finalizers of the host, in any thread; the consumer is one thread. A finalizer may run
inside `put` itself, so the lock is re-entrant and nothing under it can wait. Pure: no clock, no I/O.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from typing import Final, NamedTuple

from streamwitness.blocks import Block
from streamwitness.semconv import DROPPED_BLOCKS

LIMIT_BYTES: Final = 16 << 20
"""Memory that waiting blocks may take by default."""

BLOCK_BYTES: Final = 2500
"""What a block without rows takes in memory (measured with tracemalloc on CPython 3.11: 2 340 B)."""


class QueueCounts(NamedTuple):
    """What became of blocks since the process began; `waiting` and `waiting_bytes` are of now."""

    put: int
    dropped: int
    undelivered: int
    dropped_summaries: int
    waiting: int
    waiting_bytes: int


class BlockQueue:
    """First in, first out; closing blocks' summaries come last and are dropped first.

    `put` may be called from anywhere, also from a finalizer inside another `put`; `take`, `put_back`, `repeat` and
    `lost` are the consumer's.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._lock = threading.RLock()
        self._blocks: deque[Block] = deque()
        self._summaries: deque[Block] = deque()
        self._bytes = 0
        self._put = self._dropped = self._undelivered = self._dropped_summaries = 0
        self._untold = 0

    def put(self, block: Block) -> bool:
        """Take a block over; False if there is no room for it. The queue owns it from now on.

        The first block that fits after others were dropped says how many in `stream.dropped_blocks`.
        """
        size = size_of(block)
        with self._lock:
            self._put += 1
            while self._bytes + size > self._limit and self._summaries:
                self._bytes -= size_of(self._summaries.popleft())
                self._dropped_summaries += 1
            if self._bytes + size > self._limit:
                self._dropped += 1
                self._untold += 1
                return False
            if self._untold:
                block.extra[DROPPED_BLOCKS] = self._untold
                self._untold = 0
            self._bytes += size
            self._blocks.append(block)
            return True

    def take(self, max_blocks: int, max_bytes: int, summaries: int = 0) -> list[Block]:
        """The next blocks to send, oldest first, then up to `summaries` summaries; at least one if any waits."""
        batch: list[Block] = []
        room = max_bytes
        for source, most in ((self._blocks, max_blocks), (self._summaries, summaries)):
            taken = 0
            while taken < most and len(batch) < max_blocks and (block := self._next(source, room, not batch)):
                batch.append(block)
                room -= size_of(block)
                taken += 1
        return batch

    def repeat(self, blocks: list[Block]) -> None:
        """Line up the summaries of these blocks' closing blocks, to be sent once more in a later export."""
        for block in blocks:
            if block.final and not block.summary:
                self._append_summary(dataclasses.replace(block, summary=True, rows=None))

    def put_back(self, blocks: list[Block], oldest: int) -> list[Block]:
        """Let blocks that could not be delivered wait again, in front of the others.

        Returns those that are given up: they ended before `oldest` (Unix ns), or there is no room for them any more.
        """
        given_up: list[Block] = []
        with self._lock:
            for block in reversed(blocks):
                size = size_of(block)
                if block.end_ns < oldest or self._bytes + size > self._limit:
                    given_up.append(block)
                    continue
                (self._summaries if block.summary else self._blocks).appendleft(block)
                self._bytes += size
        return given_up

    def lost(self, blocks: list[Block]) -> None:
        """These were taken but could not be delivered: count them, and let the next block say so.

        What a closing block was to tell of drops its summary still tells, so it is given back only with that.
        """
        with self._lock:
            for block in blocks:
                told = block.extra.get(DROPPED_BLOCKS, 0)
                self._undelivered += not block.summary
                self._untold += not block.summary
                self._untold += told if block.summary or not block.final else 0

    def refuse(self) -> None:
        """Count a block that came when nobody takes blocks any more."""
        with self._lock:
            self._put += 1
            self._dropped += 1

    @property
    def summaries(self) -> int:
        """How many summaries wait."""
        return len(self._summaries)

    @property
    def waiting_bytes(self) -> int:
        """Memory that waiting blocks and summaries take, about."""
        return self._bytes

    @property
    def crowded(self) -> bool:
        """Whether the consumer should not sleep on: a quarter of the room is taken."""
        return self._bytes * 4 > self._limit

    def empty(self) -> bool:
        """Whether nothing waits, summaries included."""
        return not self._blocks and not self._summaries

    def counts(self) -> QueueCounts:
        """All figures at once."""
        with self._lock:
            waiting = len(self._blocks) + len(self._summaries)
            return QueueCounts(
                self._put, self._dropped, self._undelivered, self._dropped_summaries, waiting, self._bytes
            )

    def _next(self, source: deque[Block], room: int, first: bool) -> Block | None:
        """Pop the oldest block if it fits into `room` (the first of a batch always does)."""
        with self._lock:
            if not source or not (first or size_of(source[0]) <= room):
                return None
            block = source.popleft()
            self._bytes -= size_of(block)
            return block

    def _append_summary(self, summary: Block) -> None:
        size = size_of(summary)
        with self._lock:
            if self._bytes + size > self._limit:
                self._dropped_summaries += 1
                return
            self._bytes += size
            self._summaries.append(summary)


def size_of(block: Block) -> int:
    """About how many bytes of memory a block takes; on the wire it is less."""
    rows = len(block.rows) if block.rows is not None else 0
    return BLOCK_BYTES + rows + len(block.content_marks) + 96 * len(block.slot_digests)
