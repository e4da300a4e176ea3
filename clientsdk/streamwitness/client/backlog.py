"""What has passed by and is looked at later: a queue that is worked off in order, by whoever comes first.

What runs once between two pieces of the host's work finds its code and data in no cache, and takes twice as long as in
a loop. So a hook only notes what passes, and has several of them worked off together; the exporter's tick does it as
well, in its own thread, and so does the end, in any thread or in a finalizer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from streamwitness import forked

T = TypeVar("T")


class Backlog(Generic[T]):
    """Items that wait for `work`, which gets each once and in order. Append to `items`; inert in a forked child.

    Never waits for the host: `work` does nothing but look.
    """

    __slots__ = ("_busy", "_generation", "_last", "_lock", "_work", "items")

    def __init__(self, work: Callable[[T], None]) -> None:
        self.items: deque[T] = deque()
        self._work = work
        self._generation = forked.generation
        self._lock = threading.RLock()
        self._busy = False
        self._last: Callable[[], None] | None = None

    def settle(self) -> None:
        """Work off what waits."""
        if not self.items or self._generation != forked.generation:
            return
        with self._lock:
            if self._busy:  # a finalizer inside our own loop, which takes the rest as well
                return
            self._busy = True
            try:
                while self.items:
                    self._work(self.items.popleft())
            finally:
                self._busy = False
            if self._last is not None:
                self._last()

    def last(self, action: Callable[[], None]) -> None:
        """Work off what waits, then act; called inside of `work`, it acts when that is done."""
        if self._generation != forked.generation:
            return
        with self._lock:
            if self._busy:
                self._last = self._last or action
                return
            self.settle()
            action()
