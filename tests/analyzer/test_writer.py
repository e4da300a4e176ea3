"""The embedded way in: done means committed, one bad batch fails alone, and closing loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store, queries
from streamwitness_analyzer.writer import MAX_WAITING, Writer, WriterFull
from tests.analyzer.kit import SECOND, START, block, life, stream_id

DEADLINE = 30


class Gate:
    """Steps that wait until the gate opens, and fail for some streams."""

    def __init__(self, steps: Steps, fails_on: str = "") -> None:
        self.opened = threading.Event()
        self.sizes: list[int] = []
        self._steps = steps
        self._fails_on = fails_on

    def ingest(self, received: Any) -> None:
        self.opened.wait(DEADLINE)
        self.sizes.append(len(received))
        if any(item.block.stream == self._fails_on for item in received):
            raise ValueError("the database refuses this")
        self._steps.ingest(received)

    def settle(self, watermark: int) -> int:
        return self._steps.settle(watermark)


@pytest.fixture
def steps(store: Store) -> Steps:
    return Steps(store, life(), lambda: START)


@pytest.fixture
def writer(steps: Steps) -> Iterator[Writer]:
    made = Writer(steps, lambda: START)
    yield made
    made.close()


def batch(n: int) -> list[Received]:
    return [Received(block(n, "egress", final=True), START), Received(block(n, "wire", final=True), START)]


def put_until_full(writer: Writer) -> None:
    """More than the queue holds, even if the thread has emptied it once before it came to the gate."""
    for _ in range(2 * MAX_WAITING + 1):
        writer.put(())


def states(store: Store) -> dict[str, int]:
    with store.read() as connection:
        return queries.states(connection)


def test_done_means_committed(writer: Writer, store: Store) -> None:
    """Another connection sees the verdict as soon as the future is done."""
    writer.put(batch(1)).result(DEADLINE)
    assert states(store) == {"settled": 1}


def test_batches_share_a_transaction(steps: Steps, store: Store) -> None:
    """What queues up while one is written goes into the next."""
    gate = Gate(steps)
    writer = Writer(gate, lambda: START)  # type: ignore[arg-type]
    futures = [writer.put(batch(n)) for n in range(1, 21)]
    gate.opened.set()
    for future in futures:
        future.result(DEADLINE)
    writer.close()
    assert len(gate.sizes) < len(futures)
    assert states(store) == {"settled": 20}


def test_a_batch_that_cannot_be_stored_fails_alone(steps: Steps, store: Store) -> None:
    """Its neighbours in the transaction are stored."""
    gate = Gate(steps, fails_on=stream_id(2))
    writer = Writer(gate, lambda: START)  # type: ignore[arg-type]
    futures = {n: writer.put(batch(n)) for n in (1, 2, 3)}
    gate.opened.set()
    failed = {n for n, future in futures.items() if future.exception(DEADLINE)}
    writer.close()
    assert (failed, states(store)) == ({2}, {"settled": 2})


def test_a_full_queue_says_so_at_once(steps: Steps) -> None:
    """Memory is bounded: the sender keeps its batch and comes again."""
    gate = Gate(steps)
    writer = Writer(gate, lambda: START)  # type: ignore[arg-type]
    with pytest.raises(WriterFull):
        put_until_full(writer)
    gate.opened.set()
    writer.close()


def test_closing_writes_what_waits(steps: Steps, store: Store) -> None:
    """And takes nothing more."""
    writer = Writer(steps, lambda: START)
    future = writer.put(batch(1))
    writer.close()
    assert future.done()
    assert states(store) == {"settled": 1}
    with pytest.raises(WriterFull):
        writer.put(batch(2))


def test_time_settles(steps: Steps, store: Store) -> None:
    """Embedded, now is the watermark."""
    writer = Writer(steps, lambda: START + 30 * SECOND)
    writer.put([Received(block(1, "egress", final=True), START)]).result(DEADLINE)
    writer.close()
    late = Writer(steps, lambda: START + 30 * SECOND)
    pause = threading.Event()
    for _ in range(int(DEADLINE / 0.05)):
        if states(store) == {"settled": 1}:
            break
        pause.wait(0.05)
    late.close()
    assert states(store) == {"settled": 1}
