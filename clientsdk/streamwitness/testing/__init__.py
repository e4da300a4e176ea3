"""Test kit: a sink that keeps blocks in memory, and a runtime that records into it."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from streamwitness import runtime
from streamwitness.blocks import Block
from streamwitness.semconv import Point

if TYPE_CHECKING:
    from streamwitness.recorder import Recorder

__all__ = ["MemorySink", "recording"]


class MemorySink:
    """A sink for recorders that keeps every block, in the order in which they came."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.tracked: weakref.WeakSet[Recorder] = weakref.WeakSet()

    def put(self, block: Block) -> None:
        """Keep the block."""
        self.blocks.append(block)

    def track(self, recorder: Recorder) -> None:
        """Remember the recorder weakly."""
        self.tracked.add(recorder)

    def tick(self, now: int) -> None:
        """Tick every recorder that lives, as the exporter does once a second."""
        for recorder in list(self.tracked):
            recorder.tick(now)

    def at(self, point: Point) -> list[Block]:
        """The blocks of one point."""
        return [block for block in self.blocks if block.point == point]

    def closing(self, point: Point) -> Block:
        """The one closing block of a point; LookupError if there are none or several."""
        found = [block for block in self.at(point) if block.final]
        if len(found) != 1:
            raise LookupError(f"{len(found)} closing blocks of {point}, among {len(self.blocks)} blocks")
        return found[0]

    def flush(self, timeout: float = 0.0) -> bool:
        """Nothing waits."""
        return True

    def shutdown(self, timeout: float = 0.0) -> bool:
        """Nothing waits."""
        return True


@contextlib.contextmanager
def recording(**settings: Any) -> Iterator[MemorySink]:
    """Inside, every hook of this process records into the yielded sink, with these settings and no others."""
    sink = MemorySink()
    before = runtime.replace(runtime.Runtime(runtime.ClientSettings(**settings), sink))
    try:
        yield sink
    finally:
        runtime.replace(before)
