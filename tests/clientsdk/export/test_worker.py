"""The export thread: it delivers, ticks, survives whatever the target does, and never holds the host."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from streamwitness import faults
from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness.export.queue import BlockQueue
from streamwitness.export.worker import Worker
from tests.clientsdk.export.receiver import WAIT, closing, make_block


class Target:
    """An exporter that keeps batches; `fails` makes it refuse, `stuck` makes it wait until `release()`."""

    def __init__(self) -> None:
        self.batches: list[list[Block]] = []
        self.fails: BaseException | bool = False
        self.closed = threading.Event()
        self.entered = threading.Event()
        self._open = threading.Event()
        self._open.set()

    def stick(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def export(self, blocks: Sequence[Block]) -> bool:
        self.entered.set()
        assert self._open.wait(WAIT)
        self.batches.append(list(blocks))
        if isinstance(self.fails, BaseException):
            raise self.fails
        return not self.fails

    def shutdown(self) -> None:
        self.closed.set()

    @property
    def blocks(self) -> list[Block]:
        return [block for batch in self.batches for block in batch]


class Ticked:
    """Stands for a recorder: says when it was ticked."""

    point = "wire"

    def __init__(self, error: BaseException | None = None) -> None:
        self.closed = False
        self.ticks = threading.Semaphore(0)
        self.ended: tuple[str, str] | None = None
        self._error = error

    def tick(self, now: int) -> None:
        self.ticks.release()
        if self._error is not None:
            raise self._error

    def close(self, now: int, end: str, *, detail: str) -> None:
        self.closed, self.ended = True, (end, detail)


Make = Callable[..., tuple[Worker, Target]]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes workers with targets, and stops them after the test."""
    made: list[tuple[Worker, Target]] = []

    def make(**arguments: Any) -> tuple[Worker, Target]:
        target = Target()
        worker = Worker(lambda: target, **({"interval": 0.01} | arguments))
        made.append((worker, target))
        return worker, target

    yield make
    for worker, target in made:
        target.release()
        worker.shutdown(WAIT)
    faults._reset()


def test_delivers(make: Make) -> None:
    """Blocks arrive in order, and flush says when all of them have."""
    worker, target = make()
    blocks = [make_block(n) for n in range(10)]
    for block in blocks:
        worker.put(block)
    assert worker.flush(WAIT)
    assert target.blocks == blocks


def test_no_thread_before_there_is_work(make: Make) -> None:
    """A worker that was given nothing has no thread, and flush and shutdown have nothing to do."""
    before = threading.active_count()
    worker, target = make()
    assert worker.flush(0.0)
    assert worker.shutdown(0.0)
    assert threading.active_count() == before
    assert not target.closed.is_set()


def test_delivers_by_itself(make: Make) -> None:
    """Nobody needs to flush."""
    worker, target = make()
    worker.put(make_block())
    assert target.entered.wait(WAIT)


def test_a_filling_queue_wakes_it(make: Make) -> None:
    """A queue that fills up is not left waiting for the next round."""
    worker, target = make(interval=10 * WAIT, waiting=BlockQueue(1 << 16))
    for n in range(20):
        worker.put(make_block(n))
    assert target.entered.wait(WAIT)


def test_batches_are_bounded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backlog leaves in several requests."""
    monkeypatch.setattr("streamwitness.export.worker.MAX_BATCH_BLOCKS", 4)
    worker, target = make()
    target.stick()
    for n in range(10):
        worker.put(make_block(n))
    target.release()
    assert worker.flush(WAIT)
    assert len(target.blocks) == 10
    assert max(len(batch) for batch in target.batches) <= 4


def test_summaries_follow_in_a_later_export(make: Make) -> None:
    """A closing block is sent once more, without rows, and never in the same request."""
    worker, target = make()
    worker.put(closing(1))
    worker.put(make_block(2))
    assert worker.flush(WAIT)
    found = [(number, block.summary) for number, batch in enumerate(target.batches) for block in batch if block.final]
    assert [summary for _, summary in found] == [False, True]
    assert found[0][0] < found[1][0]
    assert target.blocks[-1].rows is None


def test_summaries_wait_for_the_next_round() -> None:
    """The repetition does not follow at once: what lost the first request would lose it as well."""
    target = Target()
    worker = Worker(lambda: target)
    worker.queue.put(closing(1))
    assert worker._round()
    assert [block.summary for block in target.blocks] == [False]
    assert worker._round()
    assert [block.summary for block in target.blocks] == [False, True]


def test_a_refusing_target_is_told_of(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Undelivered blocks are counted, said once in the log, and told by the next block; their summaries still go."""
    with caplog.at_level(logging.WARNING, "streamwitness"):
        worker, target = make(name=lambda: "http://there", interval=10 * WAIT)
        target.fails = True
        worker.put(closing(1))
        assert not worker.flush(WAIT)
        worker.put(make_block(2))
        assert not worker.flush(WAIT)
        target.fails = False
        worker.put(make_block(3))
        assert worker.flush(WAIT)
    assert worker.counts().undelivered == 2
    assert [(block.recorder, block.summary) for block in target.blocks] == [
        (closing(1).recorder, False),
        (make_block(2).recorder, False),
        (closing(1).recorder, True),
        (make_block(3).recorder, False),
    ]
    assert [block.extra.get(sc.DROPPED_BLOCKS) for block in target.blocks] == [None, 1, None, 2]
    assert sum("http://there" in message for message in caplog.messages) == 1


def test_a_dead_target_grows_no_memory(make: Make) -> None:
    """While the target hangs, what waits stays within the limit, and put returns."""
    worker, target = make(waiting=BlockQueue(1 << 16))
    target.stick()
    for n in range(5000):
        worker.put(make_block(n))
    counts = worker.counts()
    assert counts.waiting_bytes <= 1 << 16
    assert counts.put == 5000
    assert counts.dropped > 4000


def test_flush_gives_up(make: Make) -> None:
    """A flush does not wait for a hanging target."""
    worker, target = make()
    target.stick()
    worker.put(make_block())
    assert not worker.flush(0.01)


def test_shutdown_gives_up(make: Make) -> None:
    """A shutdown does not wait for a hanging target either, but tells it to give up."""
    worker, target = make()
    target.stick()
    worker.put(make_block())
    assert target.entered.wait(WAIT)
    assert not worker.shutdown(0.01)
    assert target.closed.is_set()


def test_shutdown_delivers_and_stops(make: Make) -> None:
    """Shutdown sends what waits and ends the thread; what comes later is counted as dropped."""
    worker, target = make(interval=10 * WAIT)
    worker.put(make_block())
    thread = worker._thread
    assert thread is not None
    assert worker.shutdown(WAIT)
    thread.join(WAIT)
    assert not thread.is_alive()
    assert target.closed.is_set()
    worker.put(make_block(2))
    worker.track(Ticked())  # type: ignore[arg-type]
    assert len(target.blocks) == 1
    assert worker.counts().dropped == 1
    assert worker.flush(WAIT)
    assert not worker.shutdown(WAIT)


def test_ticks_what_lives(make: Make) -> None:
    """Tracked recorders are ticked again and again until they are closed."""
    worker, _ = make()
    first, second = Ticked(), Ticked()
    worker.track(first)  # type: ignore[arg-type]
    worker.track(second)  # type: ignore[arg-type]
    for recorder in (first, second, first, second):
        assert recorder.ticks.acquire(timeout=WAIT)
    first.closed = True
    assert worker.flush(WAIT)
    assert [id(reference()) for reference in worker._tracked] == [id(second)]


def test_tracks_weakly(make: Make) -> None:
    """A recorder that nobody holds any more is forgotten."""
    worker, _ = make()
    recorder = Ticked()
    worker.track(recorder)  # type: ignore[arg-type]
    assert recorder.ticks.acquire(timeout=WAIT)
    del recorder
    gc.collect()
    assert worker.flush(WAIT)
    assert worker._tracked == []


def test_a_failing_tick_stops_nobody(make: Make) -> None:
    """A recorder that raises is counted; the others are ticked and blocks are sent."""
    with faults.quiet():
        worker, target = make()
        bad, good = Ticked(ValueError("CANARY")), Ticked()
        worker.track(bad)  # type: ignore[arg-type]
        worker.track(good)  # type: ignore[arg-type]
        for _ in range(2):
            assert good.ticks.acquire(timeout=WAIT)
        worker.put(make_block())
        assert worker.flush(WAIT)
        assert faults.counts()["export.tick"] >= 1
        assert len(target.blocks) == 1
        worker.shutdown(WAIT)


def test_a_raising_exporter_stops_nothing(make: Make) -> None:
    """An exporter that raises loses its batch, counted, and the next one is tried."""
    with faults.quiet():
        worker, target = make()
        target.fails = ValueError("planted")
        worker.put(make_block(1))
        assert not worker.flush(WAIT)
        target.fails = False
        worker.put(make_block(2))
        assert worker.flush(WAIT)
        assert faults.counts() == {"export.send": 1}
        assert worker.counts().undelivered == 1


def test_an_exporter_that_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    """A broken installation is counted and bounded like a dead target."""

    def broken() -> Target:
        raise ImportError("no exporter here")

    with faults.quiet():
        worker = Worker(broken, interval=0.01)
        worker.put(make_block())
        assert not worker.flush(WAIT)
        worker.shutdown(WAIT)
    assert faults.counts().keys() == {"export.make", "export.send"}
    faults._reset()


def test_put_and_track_never_raise(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails inside, the host's call returns; the fault is counted."""
    worker, _ = make()

    def broken(*arguments: object) -> bool:
        raise MemoryError

    monkeypatch.setattr(worker.queue, "put", broken)
    with faults.quiet():
        worker.put(make_block())
        worker.track(object())  # type: ignore[arg-type]
    assert faults.counts() == {"export.put": 1, "export.track": 1}


def test_no_thread_left_is_no_error(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started (limits, interpreter exit), blocks wait, bounded, and nothing is raised."""
    worker, target = make()

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        worker.put(make_block())
        assert not worker.flush(WAIT)
    assert worker.flush(WAIT)
    assert len(target.blocks) == 1


def test_retarget_builds_anew() -> None:
    """After a change of settings the next batch goes to a new exporter, and the old one is closed."""
    targets: list[Target] = []

    def build() -> Target:
        targets.append(Target())
        return targets[-1]

    worker = Worker(build, interval=0.01)
    worker.put(make_block(1))
    assert worker.flush(WAIT)
    worker.retarget()
    worker.put(make_block(2))
    assert worker.flush(WAIT)
    worker.shutdown(WAIT)
    assert [len(target.blocks) for target in targets] == [1, 1]
    assert targets[0].closed.is_set()


def test_close_open_closes_what_lives(make: Make) -> None:
    """At the end of the process open recorders get their closing block; closed and dead ones nothing."""
    worker, _ = make()
    open_, closed = Ticked(), Ticked()
    closed.closed = True
    for recorder in (open_, closed, Ticked()):
        worker.track(recorder)  # type: ignore[arg-type]
    worker.close_open(lambda point: f"end at {point}", "the process ended")
    assert open_.ended == ("end at wire", "the process ended")
    assert closed.ended is None


def test_put_from_finalizers(make: Make) -> None:
    """Blocks put by garbage collection, wherever it strikes, arrive like others, and nothing locks up."""
    worker, target = make()

    class Stream:
        def __init__(self, number: int) -> None:
            self.me, self.number = self, number

        def __del__(self) -> None:
            worker.put(make_block(self.number))

    threshold = gc.get_threshold()
    gc.set_threshold(3, 2, 2)
    try:
        for n in range(500):
            Stream(1000 + n)
            worker.put(make_block(n))
    finally:
        gc.set_threshold(*threshold)
        gc.collect()
    assert worker.flush(WAIT)
    assert len({block.recorder for block in target.blocks}) == 1000


def test_instrumentation_is_suppressed_in_the_thread(make: Make) -> None:
    """OpenTelemetry's instrumentations see that our requests are telemetry; the host's threads are not affected."""
    from opentelemetry import context

    seen: list[object] = []

    class Looking(Target):
        def export(self, blocks: Sequence[Block]) -> bool:
            seen.append(context.get_value("suppress_instrumentation"))
            seen.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
            return True

    worker = Worker(Looking, interval=0.01)
    worker.put(make_block())
    assert worker.flush(WAIT)
    worker.shutdown(WAIT)
    assert set(seen) == {True}
    assert context.get_value("suppress_instrumentation") is None


def test_a_target_that_comes_back_gets_what_it_missed(make: Make) -> None:
    """A collector that restarts loses no block, and each comes once, before those that came later."""
    worker, target = make(interval=10 * WAIT)
    target.fails = True
    now = time.time_ns()
    worker.put(make_block(1, end_ns=now))
    assert not worker.flush(WAIT)
    worker.put(make_block(2, end_ns=now))
    assert not worker.flush(WAIT)
    target.fails = False
    assert worker.flush(WAIT)
    assert [int(block.stream, 16) - 1 for block in target.blocks][-2:] == [1, 2]
    assert worker.counts().undelivered == 0
