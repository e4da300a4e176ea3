"""What a verdict costs: CPU time per observation, which is an event at one point.

The streams are ordinary ones at all five points, recorded by the real observers: healthy, or with one event lost on the
way to one of the points, at which the rows of two points are opened and compared. In service the blocks come out of the
database; that is measured beside. The hard hops are what costs most: thousands of events, every other one changed, over
alphabets that make each event look like many others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final

from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness.rows import encode
from streamwitness.sums import Sums
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.store import codec

from . import sizes
from .measure import Figure, Scale, cpu

LENGTHS: Final = (40, 500, 5000)
"""Events of a stream: a short answer, a long one, an agent's."""
HEALTHY, FAULTY = 1.0, 5.0
"""Most µs of CPU an observation: a million, and two hundred thousand, in a second."""
MILLISECONDS: Final = 50.0
"""Most that one hop may take, while the rows of its stream are locked."""
_HOPS: Final[tuple[sc.Point, ...]] = ("egress", "wire", "parsed", "applied")
_LOST: Final = 0.1
_ROUNDS: Final = 3
"""So many times as many rounds as elsewhere, of runs as much shorter: some of them are left undisturbed."""
_HARD: Final = 4200
Stream = Sequence[Block]


def healthy(count: int) -> list[Block]:
    """A stream that is in order."""
    return [block for party in sizes.blocks(count) for block in party]


def faulty(count: int) -> list[list[Block]]:
    """A stream for each hop, which lost an event there."""
    return [[block for party in sizes.blocks(count, point) for block in party] for point in _HOPS]


def thinned(stream: Stream) -> list[Block]:
    """The same without some of its blocks; what closing blocks say comes again in their summaries."""
    rng = Random(1)
    kept = [block for block in stream if rng.random() > _LOST]
    return kept + [replace(block, rows=None, summary=True) for block in stream if block.final]


def hard(words: Sequence[int], after: Sequence[int]) -> list[Block]:
    """A hop from gateway out to the client, given by its digests."""
    return [*_blocks("egress", words), *_blocks("wire", after)]


def _blocks(point: sc.Point, digests: Sequence[int]) -> list[Block]:
    blocks, sums = [], Sums()
    for start in range(0, len(digests), sc.MAX_BLOCK_ROWS):
        rows = digests[start : start + sc.MAX_BLOCK_ROWS]
        sums.extend(rows)
        end = start + len(rows)
        block = Block(
            stream="5" * 32, exchange="e" * 16, witness=point.ljust(16, "0"), recorder=point.ljust(16, "1"),
            point=point, index=len(blocks), position=start, row_count=len(rows),
            rows=encode({"payload": rows}, len(rows)),
            payload_s=sums.s, payload_o=sums.o, semantic_s=0, semantic_o=0, role="any",
        )  # fmt: skip
        blocks.append(replace(block, totals=block.totals | {"events": end}))
    blocks[-1] = replace(blocks[-1], final=True, end="eof", complete=True)
    return blocks


def _judge(streams: Sequence[Stream], integrity: str | None = None) -> int:
    """Judge each once; how many observations they held."""
    for stream in streams:
        verdict = judge(stream, settled=True)
        if integrity is not None and verdict["integrity"] != integrity:
            raise ValueError(verdict["headline"])
    return sum(block.row_count for stream in streams for block in stream)


def _read_and_judge(bodies: Sequence[Sequence[bytes]]) -> int:
    """The same from what the database holds."""
    return _judge([[codec.decode(body) for body in stream] for stream in bodies], "intact")


def _hard_hops() -> dict[str, list[Block]]:
    rng = Random(1)
    alphabets = {
        "all equal": [1] * _HARD,
        "two in turn": [1, 2] * (_HARD // 2),
        "twenty": rng.choices(range(1, 21), k=_HARD),
        "all different": list(range(1, _HARD + 1)),
    }
    return {name: hard(words, [w + 9999 * (i % 2) for i, w in enumerate(words)]) for name, words in alphabets.items()}


def figures(scale: Scale) -> list[Figure]:
    """µs an observation at each length, then ms a hard hop."""
    runs: dict[str, Callable[[], int]] = {}
    for count in LENGTHS:
        times = max(1, 4 * scale.events // count // _ROUNDS)
        sound, broken = healthy(count), faulty(count)
        bodies = [[codec.encode(block) for block in sound]] * times
        runs[f"healthy {count}"] = partial(_judge, [sound] * times, "intact")
        runs[f"faulty {count}"] = partial(_judge, broken * max(1, times // 4), "damaged")
        runs[f"thinned {count}"] = partial(_judge, [thinned(stream) for stream in broken] * max(1, times // 4))
        runs[f"stored {count}"] = partial(_read_and_judge, bodies)
    hops = _hard_hops()
    spent = cpu(runs | {name: partial(_judge, [hop], "damaged") for name, hop in hops.items()}, _ROUNDS * scale.rounds)
    out = []
    for count in LENGTHS:
        each = "µs / event × point"
        out += [
            Figure(f"verdict on {count} healthy events", spent[f"healthy {count}"], each, target=HEALTHY),
            Figure(f"verdict on {count} events, one lost", spent[f"faulty {count}"], each, target=FAULTY),
            Figure(f"{count} events, one and 10 % of blocks lost", spent[f"thinned {count}"], each, target=FAULTY),
            Figure(f"{count} healthy events from the database", spent[f"stored {count}"], each),
        ]
    milliseconds = {name: spent[name] * 2 * _HARD / 1000 for name in hops}
    return out + [Figure(f"hard hop, {n}", ms, "ms / hop", target=MILLISECONDS) for n, ms in milliseconds.items()]
