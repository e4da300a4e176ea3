"""One daemon thread that ticks recorders and sends what waits; it never makes the host wait.

Everything that the host's threads call here (`put`, `track`) only appends to something: finalizers may call it from
anywhere, so no lock is taken that the interrupted code could hold. The lists that need care have one owner, the
thread. In a forked child a worker made before the fork is inert; the runtime makes a new one there.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from streamwitness import faults, forked
from streamwitness.blocks import Block
from streamwitness.semconv import Point

from .queue import BlockQueue, QueueCounts

if TYPE_CHECKING:
    from streamwitness.recorder import Recorder

INTERVAL: Final = 1.0
"""Seconds between two rounds."""
MAX_BATCH_BLOCKS: Final = 256
MAX_BATCH_BYTES: Final = 2 << 20
MAX_ARRIVALS: Final = 1 << 16
"""Recorders that may wait to be tracked; beyond, the oldest go unticked (their blocks still close at an event)."""
KEEP_NS: Final = 300 * 1_000_000_000
"""How long after its end a block is still tried (a collector that restarts loses nothing), as long as there is room."""
EXIT_TIMEOUT: Final = 2.0
"""Seconds that the end of the process may be delayed by."""

_GRACE: Final = 0.2
"""Part of a shutdown's time that is left for the thread to end."""

_loading = threading.RLock()
"""Held while the exporter's modules load, and by whoever forks: a child forked in the midst of an import finds half a
module, and a module lock that nobody will ever release. So a fork may wait, once in a process, for the import."""


class Exporter(Protocol):
    """Where batches go."""

    def export(self, blocks: Sequence[Block]) -> bool:
        """Send them; True if they were taken."""

    def shutdown(self) -> None:
        """Give up; called from any thread."""


class _Flush:
    """Someone waits until all that was put before has been tried."""

    __slots__ = ("delivered", "done")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.delivered = False


class Worker:
    """A sink for recorders (see `recorder.Sink`) that exports in the background.

    `make` builds the exporter; it is called in the thread, once at first and again after `retarget`. `name` says in
    log messages where blocks go.
    """

    def __init__(
        self,
        make: Callable[[], Exporter],
        *,
        name: Callable[[], str] = str,
        waiting: BlockQueue | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self.queue = waiting or BlockQueue()
        self._make, self._name, self._interval = make, name, interval
        self._generation = forked.generation
        self._closed = False
        self._stale = False
        self._exporter: Exporter | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._bell: queue.SimpleQueue[_Flush | None] = queue.SimpleQueue()
        self._rung = False
        self._arrivals: deque[weakref.ref[Recorder]] = deque(maxlen=MAX_ARRIVALS)
        self._tracked: list[weakref.ref[Recorder]] = []

    # ------------------------------------------------------------------ called by the host's threads

    def put(self, block: Block) -> None:
        """Take a block over; see `recorder.Sink`."""
        try:
            if self._generation != forked.generation:
                return
            if self._closed:
                self.queue.refuse()
                return
            self.queue.put(block)
            self._wake()
        except Exception as error:
            faults.fault("export.put", error)

    def track(self, recorder: Recorder) -> None:
        """Tick this recorder about once a second for as long as it lives."""
        try:
            if self._generation != forked.generation or self._closed:
                return
            self._arrivals.append(weakref.ref(recorder))
            self._wake()
        except Exception as error:
            faults.fault("export.track", error)

    def flush(self, timeout: float = EXIT_TIMEOUT) -> bool:
        """Send all that waits, closing blocks' summaries included; True if everything arrived within `timeout` s."""
        if self._generation != forked.generation:
            return False
        if self._thread is None and (self._closed or self.queue.empty()):
            return self.queue.empty()
        request = _Flush()
        self._bell.put(request)
        if not self._start():
            return False
        return request.done.wait(timeout) and request.delivered

    def shutdown(self, timeout: float = EXIT_TIMEOUT) -> bool:
        """Flush, then stop for good; True if everything arrived. Takes `timeout` s at most."""
        if self._closed or self._generation != forked.generation:
            return False
        deadline = time.monotonic() + timeout
        delivered = self.flush(max(timeout - _GRACE, 0.0))
        if not delivered and self.counts().put:
            self._complain()
        self._closed = True
        self._bell.put(None)
        if (exporter := self._exporter) is not None:
            exporter.shutdown()
        if (thread := self._thread) is not None and thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0.0))
        return delivered

    def retarget(self) -> None:
        """The endpoint, key or service has changed: build the exporter anew before the next export."""
        self._stale = True

    def close_open(self, end_of: Callable[[Point], str], detail: str) -> None:
        """Close every recorder that is still open; the process ends."""
        now = time.monotonic_ns()
        for reference in [*self._tracked, *self._arrivals]:
            recorder = reference()
            if recorder is not None and not recorder.closed:
                recorder.close(now, end_of(recorder.point), detail=detail)

    def counts(self) -> QueueCounts:
        """What became of blocks so far."""
        return self.queue.counts()

    def _wake(self) -> None:
        """See that the thread runs, and that it does not sleep while the queue fills."""
        if self._thread is None:
            self._start()
        elif not self._rung and self.queue.crowded:
            self._rung = True
            self._bell.put(None)

    def _start(self) -> bool:
        """Whether the thread runs, started now if need be. Never waits for another that is starting it."""
        if self._thread is None and self._starting.acquire(blocking=False):
            try:
                if self._thread is None:
                    self._launch()
            finally:
                self._starting.release()
        return self._thread is not None

    def _launch(self) -> None:
        """Start the thread in an empty context: no span of the host is active in it."""
        run = contextvars.Context().run
        thread = threading.Thread(target=run, args=(self._run,), name="streamwitness-export", daemon=True)
        self._thread = thread
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or the machine is out of threads
            self._thread = None
            faults.limited("export.thread", "no thread could be started; telemetry waits")

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            self._prepare()
            while not self._closed:
                self._turn(self._next())
        finally:
            self._thread = None
            self._release()

    def _prepare(self) -> None:
        """Load the exporter while there is time: the end of a short script waits for it otherwise."""
        try:
            with _loading:
                _suppress_instrumentation()
                self._target()
        except Exception as error:
            faults.fault("export.make", error)

    def _next(self) -> _Flush | None:
        """Wait for the next round, or for whoever wants one now."""
        try:
            return self._bell.get(timeout=self._interval)
        except queue.Empty:
            return None

    def _turn(self, request: _Flush | None) -> None:
        self._rung = False
        try:
            self._tick()
            delivered = self._round()
            if request is not None:
                request.delivered = delivered and self._round()
        finally:
            if request is not None:
                request.done.set()

    def _tick(self) -> None:
        """Let open recorders close blocks that have grown old."""
        while self._arrivals:
            self._tracked.append(self._arrivals.popleft())
        now = time.monotonic_ns()
        self._tracked = [reference for reference in self._tracked if _ticked(reference(), now)]

    def _round(self) -> bool:
        """Send what waits now; stop at the first failure. Summaries lined up in this round wait for the next one."""
        summaries = self.queue.summaries
        while not self._closed:
            batch = self.queue.take(MAX_BATCH_BLOCKS, MAX_BATCH_BYTES, summaries)
            if not batch:
                return True
            summaries -= sum(block.summary for block in batch)
            if not self._send(batch):
                return False
        return False

    def _send(self, batch: list[Block]) -> bool:
        delivered = False
        try:
            delivered = self._target().export(batch)
        except Exception as error:
            faults.fault("export.send", error)
        finally:
            over = batch if delivered else self.queue.put_back(batch, time.time_ns() - KEEP_NS)
            self.queue.repeat(over)
            if not delivered:
                self.queue.lost(over)
        if not delivered and not self._closed:
            self._complain()
        return delivered

    def _complain(self) -> None:
        faults.limited(
            "export",
            "streamwitness: records for %s cannot be delivered and wait for now; does `streamwitness up` or a "
            "collector run there? (STREAMWITNESS_ENDPOINT)",
            self._name(),
        )

    def _target(self) -> Exporter:
        exporter = self._exporter
        if exporter is None or self._stale:
            self._stale = False
            self._exporter = self._make()
            if exporter is not None:
                exporter.shutdown()
            return self._exporter
        return exporter

    def _release(self) -> None:
        """Nobody may wait for a thread that has ended."""
        while not self._bell.empty():
            request = self._bell.get()
            if request is not None:
                request.done.set()
        if self._exporter is not None:
            self._exporter.shutdown()


def _ticked(recorder: Recorder | None, now: int) -> bool:
    """Tick a recorder; whether it is still open."""
    if recorder is None or recorder.closed:
        return False
    try:
        recorder.tick(now)
    except Exception as error:
        faults.fault("export.tick", error)
    return True


def _suppress_instrumentation() -> None:
    """Tell OpenTelemetry's instrumentations that this thread's requests are telemetry, not the host's work.

    The key's name is private to the API; the plain one is what older instrumentations look at.
    """
    from opentelemetry import context

    for key in (getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", None), "suppress_instrumentation"):
        if key is not None:
            context.attach(context.set_value(key, True))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)
