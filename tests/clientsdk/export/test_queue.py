"""The queue of blocks: bounded, honest about what it dropped, and safe to call from anywhere."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from typing import Any

from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness.export.queue import BLOCK_BYTES, BlockQueue, size_of
from tests.clientsdk.export.receiver import WAIT, closing, make_block


def drain(queue: BlockQueue) -> list[Block]:
    return queue.take(10**6, 1 << 40, queue.summaries)


def number(block: Block) -> int:
    """What `make_block` was given."""
    return int(block.stream, 16) - 1


def room_for(blocks: int) -> int:
    return blocks * size_of(make_block())


def test_first_in_first_out() -> None:
    """Blocks leave in the order in which they came, and leave no bytes behind."""
    queue = BlockQueue()
    blocks = [make_block(n) for n in range(5)]
    assert all(queue.put(block) for block in blocks)
    assert queue.waiting_bytes == sum(map(size_of, blocks))
    assert drain(queue) == blocks
    assert queue.empty()
    assert queue.waiting_bytes == 0


def test_size_covers_the_memory_of_rows() -> None:
    """A block's size grows with its rows and marks."""
    assert size_of(make_block(rows=b"x" * 1000, content_marks=b"y" * 100)) == BLOCK_BYTES + 1100
    assert size_of(make_block(rows=None, slot_digests=("0/text/0 1 2",) * 2)) == BLOCK_BYTES + 192


def test_a_batch_is_bounded_in_blocks() -> None:
    """No more blocks than asked for."""
    queue = BlockQueue()
    for n in range(5):
        queue.put(make_block(n))
    assert [len(queue.take(2, 1 << 20)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_batch_is_bounded_in_bytes() -> None:
    """No more bytes than asked for, but always one block: a large one must not wait for ever."""
    queue = BlockQueue()
    for n in range(3):
        queue.put(make_block(n))
    assert [len(queue.take(9, room_for(2))), len(queue.take(9, 1)), len(queue.take(9, 1))] == [2, 1, 0]


def test_full_drops_the_new_and_says_so() -> None:
    """When full, new blocks are dropped and counted; the first that fits says how many, and only that one."""
    queue = BlockQueue(room_for(2))
    assert [queue.put(make_block(n)) for n in range(5)] == [True, True, False, False, False]
    assert queue.counts() == (5, 3, 0, 0, 2, room_for(2))
    kept = drain(queue)
    queue.put(make_block(6))
    queue.put(make_block(7))
    told = [block.attributes().get(sc.DROPPED_BLOCKS) for block in kept + drain(queue)]
    assert told == [None, None, 3, None]


def test_bounded_whatever_comes() -> None:
    """Of a flood that nobody takes, no more than the limit is kept."""
    queue = BlockQueue(1 << 16)
    for n in range(2000):
        queue.put(make_block(n))
    counts = queue.counts()
    assert counts.waiting_bytes <= 1 << 16
    assert counts.waiting + counts.dropped == counts.put == 2000


def test_closing_blocks_are_repeated_without_rows() -> None:
    """A closing block's summary has everything but the rows; other blocks and summaries are not repeated."""
    queue = BlockQueue()
    final = closing(1, content_marks=b"\0" * 8, slot_digests=("0/text/0 9 9",))
    queue.repeat([make_block(0), final])
    (summary,) = drain(queue)
    queue.repeat([summary])
    assert queue.empty()
    expected = replace(final, rows=None, summary=True).attributes()
    assert sc.ROWS not in expected
    assert summary.attributes() == expected
    assert final.rows is not None


def test_summaries_come_last_and_only_when_asked() -> None:
    """Blocks go first; a summary lined up in this round is not sent in it."""
    queue = BlockQueue()
    queue.repeat([closing(1), closing(2)])
    queue.put(make_block(3))
    assert [block.summary for block in queue.take(9, 1 << 20, 0)] == [False]
    queue.put(make_block(4))
    assert [block.summary for block in queue.take(9, 1 << 20, 1)] == [False, True]
    assert queue.summaries == 1


def test_summaries_are_dropped_first() -> None:
    """A block that would not fit takes the place of waiting summaries; that drops no block."""
    queue = BlockQueue(room_for(2))
    queue.repeat([closing(1), closing(2)])
    assert queue.put(make_block(3))
    assert queue.put(make_block(4))
    assert [block.summary for block in drain(queue)] == [False, False]
    assert (queue.counts().dropped, queue.counts().dropped_summaries) == (0, 2)
    assert queue.waiting_bytes == 0


def test_summaries_do_not_fit_into_a_full_queue() -> None:
    """A summary never displaces a block."""
    queue = BlockQueue(room_for(1))
    queue.put(make_block(1))
    queue.repeat([closing(2)])
    assert queue.summaries == 0
    assert queue.counts().dropped_summaries == 1


def test_undelivered_blocks_count_as_dropped() -> None:
    """What was taken and not delivered is told by the next block, with what it should have told itself."""
    queue = BlockQueue()
    queue.lost([make_block(0, extra={sc.DROPPED_BLOCKS: 5}), make_block(1)])
    queue.put(make_block(2))
    (block,) = drain(queue)
    assert block.extra[sc.DROPPED_BLOCKS] == 7
    assert queue.counts().undelivered == 2


def test_a_closing_block_is_believed_lost_with_its_summary_only() -> None:
    """What a lost closing block was to tell of drops, its summary tells; only when that is lost too, another must."""
    queue = BlockQueue()
    final = closing(1, extra={sc.DROPPED_BLOCKS: 5})
    queue.repeat([final])
    (summary,) = drain(queue)
    queue.lost([final])
    queue.put(make_block(2))
    queue.lost([summary])
    queue.put(make_block(3))
    assert [block.extra[sc.DROPPED_BLOCKS] for block in drain(queue)] == [1, 5]


class _Reentrant(dict[str, Any]):
    """A dict that puts another block into the queue while it is changed, as a finalizer could at that moment."""

    queue: BlockQueue

    def __setitem__(self, key: str, value: Any) -> None:
        self.queue.put(make_block(99))
        super().__setitem__(key, value)


def test_put_inside_put() -> None:
    """A put that interrupts a put of the same thread, in the middle of its accounting, does not deadlock."""
    queue = BlockQueue(room_for(3))
    for n in range(4):
        queue.put(make_block(n))
    drain(queue)
    extra = _Reentrant()
    extra.queue = queue
    thread = threading.Thread(target=queue.put, args=(make_block(5, extra=extra),), daemon=True)
    thread.start()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert len(drain(queue)) == 2
    assert queue.waiting_bytes == 0


def test_put_from_finalizers() -> None:
    """Blocks put by garbage collection, at whatever allocation it strikes, are all counted, and none twice."""
    queue = BlockQueue(1 << 40)
    finalized = 0

    class Stream:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            nonlocal finalized
            finalized += 1
            queue.put(make_block(events=0))

    threshold = gc.get_threshold()
    gc.set_threshold(3, 2, 2)
    try:
        for n in range(2000):
            Stream()
            queue.put(make_block(n))
    finally:
        gc.set_threshold(*threshold)
        gc.collect()
    assert finalized == 2000
    assert queue.counts().put == 4000
    assert len(drain(queue)) == 4000
    assert queue.waiting_bytes == 0


def test_put_from_many_threads() -> None:
    """Concurrent producers and a consumer lose no block and no byte of the accounting."""
    queue = BlockQueue(room_for(50))
    taken = 0
    producers = [
        threading.Thread(target=lambda: [queue.put(make_block(n)) for n in range(500)], daemon=True) for _ in range(4)
    ]
    for producer in producers:
        producer.start()
    while any(producer.is_alive() for producer in producers):
        taken += len(queue.take(10, 1 << 20))
    taken += len(drain(queue))
    counts = queue.counts()
    assert counts.put == 2000
    assert taken + counts.dropped == 2000
    assert queue.waiting_bytes == 0


def test_what_could_not_be_delivered_waits_again_in_front() -> None:
    """A collector that restarts loses nothing, and order is kept."""
    queue = BlockQueue()
    for index in range(4):
        queue.put(make_block(index, end_ns=100))
    batch = queue.take(2, 1 << 20)
    assert queue.put_back(batch, oldest=50) == []
    assert [number(block) for block in queue.take(4, 1 << 20)] == [0, 1, 2, 3]


def test_what_is_too_old_or_has_no_room_is_given_up() -> None:
    """Neither time nor memory is without bound."""
    queue = BlockQueue(limit=3 * size_of(make_block(0)))
    for index in range(3):
        queue.put(make_block(index, end_ns=100))
    batch = queue.take(3, 1 << 20)
    queue.put(make_block(9, end_ns=100))
    queue.put(make_block(10, end_ns=100))
    assert [number(block) for block in queue.put_back(batch, oldest=50)] == [1, 0]
    assert [number(block) for block in queue.put_back(batch[:1], oldest=101)] == [0]
    assert queue.waiting_bytes == 3 * size_of(make_block(0))
