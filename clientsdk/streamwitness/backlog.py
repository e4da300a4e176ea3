"""What has passed by and is looked at later: a queue that is worked off in order, by whoever comes first.

What runs once between two pieces of the host's work finds its code and data in no cache, and takes twice as long as in
a loop. So a hook only notes what passes, and has several of them worked off together; the exporter's tick does it as
well, in its own thread, and so does the end, in any thread or in a finalizer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from . import forked

MOST: Final = 16
"""Items that wait at most, unless another number is given."""
MOST_BYTES: Final = 1 << 14
"""Bytes that wait at most, but for the item that goes beyond."""


class Backlog:
    """Items that wait; the first member of each is called with the item, once and in order. Inert in a forked child.

    Whoever adds an item asks `full` when it is a good time for looking. Nothing here waits for the host: the lock is
    held by those who look, and they do nothing else.
    """

    __slots__ = ("_busy", "_generation", "_last", "_lock", "behind", "items", "most", "size")

    def __init__(self, most: int = MOST) -> None:
        self.items: deque[tuple[Any, ...]] = deque()
        self.most, self.size = most, 0
        self.behind: list[Callable[[], None]] = []
        """Called whenever what waited has been worked off."""
        self._generation = forked.generation
        self._lock = threading.RLock()
        self._busy = False
        self._last: list[Callable[[], None]] = []

    def add(self, item: tuple[Any, ...], size: int = 0) -> None:
        """Let an item wait that holds `size` bytes. Never raises."""
        self.items.append(item)
        self.size += size

    @property
    def full(self) -> bool:
        """Whether as much waits as may wait."""
        return len(self.items) >= self.most or self.size >= MOST_BYTES

    def settle(self) -> None:
        """Work off what waits."""
        if not self.items:
            return
        if self._generation != forked.generation:  # nobody looks, and so nothing is kept
            self.items.clear()
            self.size = 0
            return
        with self._lock:
            if self._busy:  # a finalizer inside our own loop, which takes the rest as well
                return
            self._busy, self.size = True, 0
            try:
                while self.items:
                    self._work_off()
            finally:
                self._busy = False
            while self._last:
                self._last.pop(0)()

    def _work_off(self) -> None:
        items = self.items
        try:
            while items:
                item = items.popleft()
                item[0](item)
        finally:
            for action in self.behind:
                action()

    def last(self, action: Callable[[], None]) -> None:
        """Work off what waits, then act; where that is under way further up, act when it is done."""
        if self._generation != forked.generation:
            return
        with self._lock:
            if self._busy:
                self._last.append(action)
                return
            self.settle()
            action()
