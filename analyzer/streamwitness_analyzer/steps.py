"""From messages to verdicts, in numbered steps: the order is what makes a crash harmless.

    1 poll           messages of some partitions                               (consumer.py)
    2 decode         each alone; what cannot be decoded is set apart
    3 lock           upsert the row of every stream of the batch, in sorted order
    4 insert         the blocks; of equal copies the one with a role; what a stream has no room for is counted
    5 judge          read each stream's blocks, now that nobody else can add to them
    6 write          changed verdicts, counts, and the next offset by compare-and-set on (offset, epoch)
    7 commit
    8 tell Kafka     for lag displays only: on assignment we seek to the database's offset  (consumer.py)

Lock before read: two analyzers that read first lose each other's block. Compare-and-set: a consumer that was
declared dead and wakes up would move the offset back. A crash before 7 leaves nothing, a crash after 7 everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from .counting import EXCESS_BLOCKS, add, one
from .settle import FINAL, Life
from .settle import due as due_at
from .store import Change, Counts, Move, Received, Seen, Store, StreamState, Transaction

_AT_ONCE: Final = 200
"""Streams that one transaction settles, or judges anew: bounds how long it holds locks."""

Hook = Callable[[int], None]
"""Called with the number of each step when it is done; tests kill the process there."""


class Rejudged(NamedTuple):
    """What judging anew has done: streams looked at, verdicts that are new or corrected, failures of the judge."""

    looked_at: int
    changed: int
    failed: int


def _nothing(_step: int) -> None:
    """No hook."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps 3 to 7 on one store. `wall` tells the time (Unix ns); `done` is told each finished step.

    `max_blocks` bounds what is kept of one stream: each batch judges all of it anew, and the sender chooses the stream.
    """

    store: Store
    life: Life
    wall: Callable[[], int]
    max_blocks: int = 20_000
    done: Hook = _nothing

    def ingest(self, received: Sequence[Received], moves: Sequence[Move] = (), counts: Counts | None = None) -> None:
        """Store these blocks, judge their streams and move the offsets, all in one transaction or not at all.

        Raises Superseded when a partition has been taken over by another analyzer, or what the database raises.
        """
        total: Counts = dict(counts or {})
        with self.store.write() as transaction:
            states = transaction.lock_seen(_seen(received))  # 3
            self.done(3)
            news = self._insert(transaction, received, states, total)  # 4
            self.done(4)
            changes = self._judge(transaction, [states[id_] for id_ in sorted(news)])  # 5
            self.done(5)
            self._write(transaction, changes, total)  # 6
            transaction.move(moves)
            self.done(6)
        self.done(7)  # 7: the transaction has committed

    def _insert(
        self, transaction: Transaction, received: Sequence[Received], states: dict[str, StreamState], total: Counts
    ) -> set[str]:
        """The streams to judge: those with a new block, and those that have their fill since this batch.

        Later excess is counted on the row alone: to judge for each batch of it is what the bound is there to prevent.
        """
        fit, excess = transaction.fitting(received, self.max_blocks)
        news = transaction.insert_blocks(fit)
        transaction.exceed(excess)
        for id_, count in excess.items():
            if not states[id_].excess:
                news.add(id_)
            states[id_] = states[id_]._replace(excess=states[id_].excess + count)
        add(total, one(EXCESS_BLOCKS, excess.total()))
        return news

    def settle(self, watermark: int) -> int:
        """Settle what the watermark has made due, in batches; the number of streams looked at."""
        looked_at = 0
        while ids := self._settle_some(watermark):
            looked_at += ids
        return looked_at

    def _settle_some(self, watermark: int) -> int:
        with self.store.read() as connection:
            ids = Transaction(connection).due(watermark, _AT_ONCE)
        if not ids:
            return 0
        with self.store.write() as transaction:
            # Locked only now: whoever was first has settled it, or a late block has made it wait longer.
            states = [state for state in transaction.lock(ids).values() if _is_due(state, watermark)]
            self._write(transaction, self._judge(transaction, states, watermark), {})
        return len(ids)

    def rejudge(self, since: int) -> Rejudged:
        """Judge anew what was judged, of the streams seen last since then (Unix ns).

        For a judge that has learnt: a verdict that says something else is `corrected`, its history kept.
        """
        looked_at = changed = 0
        failures, after = self.life.failures.total, ""
        while True:
            with self.store.read() as connection:
                ids = Transaction(connection).judged(since, after, _AT_ONCE)
            if not ids:
                return Rejudged(looked_at, changed, self.life.failures.total - failures)
            with self.store.write() as transaction:
                states = transaction.lock(ids)
                changes = self._judge(transaction, list(states.values()))
                self._write(transaction, changes, {})
            changed += sum(_is_news(change, states[change.stream]) for change in changes)
            looked_at, after = looked_at + len(ids), ids[-1]

    def _judge(
        self, transaction: Transaction, states: Sequence[StreamState], watermark: int | None = None
    ) -> list[Change]:
        read = [state for state in states if state.closing or state.state in FINAL or watermark is not None]
        received = transaction.blocks_of(state.id for state in read)
        previous = transaction.documents(read)
        changes = [self._wait(state) for state in states if state.id not in received]
        for state in read:
            known, before = received[state.id], previous.get(state.id)
            changes.append(self.life.advance(state, known, before, watermark=watermark, wall=self.wall))
        return changes

    def _write(self, transaction: Transaction, changes: Iterable[Change], total: Counts) -> None:
        now = self.wall()
        for change in changes:
            transaction.record(change, now)
            add(total, change.counts)
        transaction.count(total)

    def _wait(self, state: StreamState) -> Change:
        """A stream that nothing has closed yet: its blocks need not be read."""
        when = due_at(self.life.patience, state.last_received)
        return Change(state.id, state.state, state.revision, state.expired, when)


def _seen(received: Iterable[Received]) -> dict[str, Seen]:
    seen: dict[str, Seen] = {}
    for item in received:
        if item.block.stream in seen:
            seen[item.block.stream].add(item)
        else:
            seen[item.block.stream] = Seen(item.received, item.received, item.block.final)
    return seen


def _is_news(change: Change, before: StreamState) -> bool:
    """Whether it is a verdict where none was, or another one; not the same one in a newer judge's words."""
    return change.document is not None and (change.state, change.revision) != (before.state, before.revision)


def _is_due(state: StreamState, watermark: int) -> bool:
    return state.due is not None and state.due <= watermark
