"""The embedded way in: batches from the same process, written by one thread, many a transaction.

The caller gets a future that is done when its batch is committed. Transactions are shared: whatever has queued up
while one was being written goes into the next, so throughput rises with load and latency stays one commit.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from .steps import Steps
from .store import Received

_log: Final = logging.getLogger("streamwitness.analyzer")

MAX_WAITING: Final = 1000
"""Batches that may wait; beyond, senders are told to come again."""
_MAX_BLOCKS: Final = 2000
"""Blocks a transaction: bounds how long it takes."""
_TICK: Final = 0.5
"""Seconds between two looks for what time has settled."""

_Item = tuple[Sequence[Received], "Future[None]"]


class WriterFull(RuntimeError):
    """More batches are waiting than the database keeps up with; the sender should come again later."""


class Writer:
    """One thread that owns all writing; `wall` is the clock that settles (Unix ns)."""

    def __init__(self, steps: Steps, wall: Callable[[], int]) -> None:
        self._steps = steps
        self._wall = wall
        self._waiting: queue.Queue[_Item | None] = queue.Queue(MAX_WAITING)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="streamwitness-writer", daemon=True)
        self._thread.start()

    def put(self, received: Sequence[Received]) -> Future[None]:
        """Queue a batch; raises WriterFull at once instead of waiting."""
        done: Future[None] = Future()
        if self._closed.is_set():
            raise WriterFull("the writer is closing")
        try:
            self._waiting.put_nowait((received, done))
        except queue.Full:
            raise WriterFull(f"{MAX_WAITING} batches are waiting for the database") from None
        return done

    def close(self) -> None:
        """Write what is waiting, then end the thread."""
        self._closed.set()
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            items, last = self._take()
            if items:
                self._write(items)
            if last:
                return
            self._settle()

    def _take(self) -> tuple[list[_Item], bool]:
        """What is waiting, at most a transaction's worth; whether it was the last."""
        items: list[_Item] = []
        size = 0
        try:
            item = self._waiting.get(timeout=_TICK)
            while item is not None:
                items.append(item)
                size += len(item[0])
                if size >= _MAX_BLOCKS:
                    return items, False
                item = self._waiting.get_nowait()
        except queue.Empty:
            return items, False
        return items, True

    def _write(self, items: list[_Item]) -> None:
        """One transaction for all; if it fails, one each, so that a batch that cannot be stored fails alone."""
        try:
            self._steps.ingest([block for received, _ in items for block in received])
        except Exception as error:  # handed to whoever waits for the batch
            if len(items) > 1:
                for item in items:
                    self._write([item])
                return
            items[0][1].set_exception(error)
            return
        for _, done in items:
            done.set_result(None)

    def _settle(self) -> None:
        try:
            self._steps.settle(self._wall())
        except Exception:  # tried again at the next tick; the thread must live
            _log.exception("settling failed, trying again")
