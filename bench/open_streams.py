"""A hundred thousand open streams in the embedded analyzer: what they cost in memory, and that old ones are taken up.

The state of open streams lives in the database; a process holds a batch at a time. A process of its own, so that its
memory is its own, takes in the blocks of all streams round by round, as they come from streams that run side by side,
through the writer of `streamwitness up` into a database file; then the closing blocks of some of the oldest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import MAX_BLOCK_ROWS
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_analyzer.assemble import steps_of
from streamwitness_analyzer.config import UpSettings
from streamwitness_analyzer.store import Received, Store, queries
from streamwitness_analyzer.writer import Writer

from . import ordinary
from .measure import Figure, Scale

FULL: Final = 100_000
_LEAST: Final = 500
_POINTS: Final = ("egress", "wire")
_ROWS: Final = 20
_BLOCKS: Final = 3
"""Blocks of a point; the last one closes it."""
_BATCH: Final = 1_000
_TAKEN_UP: Final = 1_000
_LIMIT_MIB: Final = 1_024
_START: Final = 1_700_000_000_000_000_000
_SECOND: Final = 1_000_000_000
_NAMES: Final = ("open", "resident", "growth", "slower", "settled", "due_us")


def figures(scale: Scale) -> list[Figure]:
    """The peak of the process, what the last half of the streams added to it, and how well it went on with old ones."""
    count = FULL if scale.events > 1_000 else _LEAST
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "bench.open_streams", str(count), str(Path(folder) / "open.db")]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    streams = f"{told['open']:,} open streams"
    taken = f"{told['settled']:,} of the oldest taken up and settled"
    return [
        Figure(f"analyzer with {streams}: peak", told["resident"], "MiB", target=_LIMIT_MIB),
        Figure("… what their last half added", told["growth"], "MiB", target=_LIMIT_MIB / 8),
        Figure("… a block at the end beside one at the beginning", told["slower"], "times as long"),
        Figure(f"… {taken}: missed", min(_TAKEN_UP, told["open"]) - told["settled"], "streams", target=0),
        Figure("… asking what is due", told["due_us"], "µs"),
    ]


def measure(count: int, database: str) -> dict[str, Any]:
    """Take the blocks of `count` streams in and tell what that cost; belongs into a process of its own."""
    store = Store(database)
    store.create()
    now = [_START]
    writer = Writer(steps_of(store, UpSettings(database=database)), lambda: now[0])
    rounds = list(zip(*(_of_point(point) for point in _POINTS), strict=True))
    half, before, times = 0, 0, list[float]()
    for number, blocks in enumerate(rounds[:-1]):
        for first in range(0, count, _BATCH):
            began = time.perf_counter()
            for block in blocks:
                batch = [_as(block, n, now[0]) for n in range(first, min(count, first + _BATCH))]
                writer.put(batch).result()
            times.append(time.perf_counter() - began)
            now[0] += _SECOND // 100
            if not number and first <= count // 2:
                half = _peak_mib()
    before = _peak_mib()
    open_ = _states(store).get("open", 0)
    due = _due(store, now[0])
    settled = _take_up(writer, rounds[-1], Random(1).sample(range(count), min(_TAKEN_UP, count)), now[0])
    writer.close()
    found = _states(store).get("settled", 0)
    store.close()
    quarter = max(1, len(times) // 4)
    slower = sum(times[-quarter:]) / sum(times[:quarter])
    values = (open_, _peak_mib(), before - half, slower, found if found <= settled else -1, due)
    return dict(zip(_NAMES, values, strict=True))


def _of_point(point: Any) -> list[Block]:
    """The blocks of one point of an ordinary stream, its closing block last."""
    sink = MemorySink()
    recorder = Witness(Identity.new(), sink, expected=_POINTS).recorder(point)  # type: ignore[arg-type]
    events = ordinary.stream(_ROWS * _BLOCKS)
    now = 10**12
    for number in range(_BLOCKS):
        now += 3 * _SECOND  # the block before it is due
        for event in events[_ROWS * number : _ROWS * (number + 1)]:
            recorder.event(now, len(event.wire), event.reading.parts, event.reading.pieces, data=event.data)
    recorder.close(now, "eof", complete=True)
    blocks = [block for block in sink.blocks if not block.summary]
    if len(blocks) != _BLOCKS or any(block.row_count > MAX_BLOCK_ROWS for block in blocks):
        raise ValueError(f"{len(blocks)} blocks instead of {_BLOCKS}")
    return blocks


def _as(block: Block, number: int, received: int) -> Received:
    """The block as that of the stream of this number."""
    names = {"stream": f"{number:032x}", "exchange": f"{number:016x}", "witness": f"{_POINTS.index(block.point):04x}"}
    names["witness"] += f"{number:012x}"
    return Received(replace(block, **names, recorder=names["witness"], role="any"), received)  # type: ignore[arg-type]


def _take_up(writer: Writer, closing: Sequence[Block], numbers: Sequence[int], now: int) -> int:
    """The closing blocks of some streams whose first blocks came long ago; how many streams that are."""
    for chunk in _chunks(numbers):
        for block in closing:
            writer.put([_as(block, number, now) for number in chunk]).result()
    return len(numbers)


def _chunks(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    yield from (numbers[at : at + _BATCH] for at in range(0, len(numbers), _BATCH))


def _states(store: Store) -> dict[str, int]:
    with store.read() as connection:
        return queries.states(connection)


def _due(store: Store, now: int) -> float:
    """Microseconds of the question that the writer asks every half second, while nothing is due."""
    from streamwitness_analyzer.store import Transaction

    times = []
    with store.read() as connection:
        for _ in range(20):
            began = time.perf_counter()
            if Transaction(connection).due(now, 200):
                raise ValueError("nothing should be due yet")
            times.append(time.perf_counter() - began)
    return min(times) * 1e6


def _peak_mib() -> int:
    """The largest resident size of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2])))
