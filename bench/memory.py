"""Memory that a recorder holds over a very long stream, counted object by object."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from streamwitness.blocks import Block
from streamwitness.recorder import Recorder
from streamwitness.semconv import MAX_BLOCK_ROWS
from streamwitness.witness import Identity, Witness

from . import ordinary
from .measure import Figure, Scale

_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
_GROWTH = 4096.0


class Nowhere:
    """A sink that keeps nothing."""

    def put(self, block: Block) -> None:
        """Forget it."""

    def track(self, recorder: Recorder) -> None:
        """Not needed."""


def held(root: Any) -> int:
    """Bytes of all objects that can be reached from `root`; code and classes do not count."""
    seen: set[int] = set()
    waiting, size = [root], 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        size += sys.getsizeof(item)
        waiting += gc.get_referents(item)
    return size


def figures(scale: Scale) -> list[Figure]:
    """What a recorder holds after a tenth of the stream, and how much more after all of it (both with a full block)."""
    recorder = Witness(Identity.new(), Nowhere()).recorder("wire")
    events = ordinary.stream(MAX_BLOCK_ROWS)
    blocks = max(10, scale.long_stream // MAX_BLOCK_ROWS)
    sizes = {}
    now = 10**12
    for block in range(1, blocks + 1):
        for event in events:
            now += 1_000_000
            recorder.event(now, len(event.wire), event.reading.parts, event.reading.pieces, data=event.data)
        if block in (blocks // 10, blocks):
            sizes[block] = held(recorder)
    early, late = sizes.values()
    length = f"{(blocks - blocks // 10) * MAX_BLOCK_ROWS:,} events"
    return [
        Figure("a recorder with a full block holds", early, "B", exact=True),
        Figure(f"and so much more {length} later", late - early, "B", target=_GROWTH, exact=True),
    ]
