"""Every block of a stream lost or without its rows, and every two of them: no verdict may say more, or anything false.

Losses that are drawn at random meet a combination that deceives the judge once in very many streams; here none of the
small ones is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from .gates import GATES, counts_against
from .labels import Trial
from .loss import SINGLED, with_summaries
from .run import Judged
from .streams import SORTS, of_sort

_MOST: Final = 600
"""Losses that are tried of one stream at most: of one with many blocks every so many-th pair."""
_FALSE: Final = frozenset(gate.name for gate in GATES if gate.least == 1.0 or gate.figure == "weaker")
"""Gates that no single verdict may count against."""


def main(count: int, first: int = 0, sort: str = "") -> int:
    """Judge so many streams of every sort, or of one, under each of these losses; 0 where nothing false is said.

    Of each stream the first loss of each gate is printed that counts against it. Raises SystemExit for an unknown sort.
    """
    if sort and sort not in SORTS:
        raise SystemExit(f"no sort is called {sort!r}; there are {', '.join(SORTS)}")
    begun, streams, verdicts, bad = time.monotonic(), 0, 0, 0
    for one in (of_sort(name, seed) for name in ([sort] if sort else SORTS) for seed in range(first, first + count)):
        if not one.honest:
            continue
        streams, verdicts = streams + 1, verdicts + len(losses(one))
        found = dict(reversed([*wrong_with(one)]))
        bad += bool(found)
        for gate, (loss, why) in found.items():
            print(f"--only {one.name} --loss '{loss}': {gate}: {why}", flush=True)
    minutes = (time.monotonic() - begun) / 60
    print(f"{streams:,} streams, {verdicts:,} verdicts in {minutes:.1f} minutes: {bad:,} with something false")
    return 1 if bad else 0


def losses(one: Trial) -> list[str]:
    """What is tried of a stream, by name."""
    blocks = with_summaries(one.blocks)
    single = [f"{at}" for at in range(len(blocks))] + [f"{at}r" for at, block in enumerate(blocks) if block.rows]
    pairs = [f"{a} {b}" for a, b in combinations(single, 2) if a.removesuffix("r") != b.removesuffix("r")]
    step = 1 + len(pairs) // _MOST
    return [SINGLED + what for what in (*single, *pairs[::step])]


def wrong_with(one: Trial) -> Iterator[tuple[str, tuple[str, str]]]:
    """(gate, (loss, why)) of each verdict on it that counts against one."""
    judged = Judged(one)
    for loss in losses(one):
        _, score = judged.under(loss)
        for gate in counts_against(score, loss):
            if gate in _FALSE:
                figure = next(each.figure for each in GATES if each.name == gate)
                yield gate, (loss, score.why(figure))
