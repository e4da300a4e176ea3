"""Blocks with times: what each point of a stream saw when, on clocks that are hours apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from bench.truth.build import Event, How, path, usual
from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import FIRST_EVENT_MS, LAST_WAIT_MS, PROGRESS_GAP_MS, Point
from streamwitness_analyzer.judge import judge

AHEAD = {"wire": 5 * 3600.0, "parsed": 5 * 3600.0}
"""By how many seconds a process's clock is ahead of the gateway's."""
BEGAN = 10_000.0


class Timed:
    """One point: its events, when each was there and when it ended, in seconds since it began; what else it told."""

    def __init__(
        self, events: Sequence[Event], at: Sequence[float], end: float, how: str = "eof", **extra: Any
    ) -> None:
        self.events, self.at, self.end, self.how, self.extra = events, at, end, how, extra


def stream(ingress: Timed | None, egress: Timed | None, wire: Timed | None, cut: int = 512) -> list[Block]:
    """The blocks of a stream."""
    given: dict[Point, Timed | None] = {"ingress": ingress, "egress": egress, "wire": wire}
    hows: dict[str, How] = {}
    for point, timed in given.items():
        if timed is not None:
            hows[point] = replace(usual(point, legs=ingress is not None), end=timed.how, size=cut)
    told = [timed.events if timed is not None else None for timed in given.values()]
    blocks = path(*told, **hows)
    return [_timed(block, given[block.point]) for block in blocks]


def _timed(block: Block, timed: Timed | None) -> Block:
    if timed is None:
        raise ValueError(block.point)
    began = BEGAN + AHEAD.get(block.point, 0.0)
    here = list(timed.at[block.position : block.position + block.row_count])
    start = here[0] if here else 0.0 if not timed.events else timed.end
    last = timed.end if block.final else here[-1]
    columns = {name: list(column) for name, column in block.columns().items()}
    if here:
        columns["t"] = [round((t - start) * 1e6) for t in here]
    extra = dict(block.extra)
    if block.final:
        asked = timed.at[-1] if timed.at else 0.0
        extra |= {LAST_WAIT_MS: round((timed.end - asked) * 1000)} if block.point != "egress" else {}
        extra |= {FIRST_EVENT_MS: round(timed.at[0] * 1000)} if timed.at else {}
        gaps = [round((later - at) * 1000) for at, later in pairwise(timed.at)]
        extra |= {PROGRESS_GAP_MS: max(gaps)} if gaps else {}
        extra |= timed.extra
    return replace(
        block,
        rows=rows.encode(columns, block.row_count) if here else None,
        start_ns=round((began + start) * 1e9),
        end_ns=round((began + last) * 1e9),
        extra=extra,
    )


def delays(blocks: Sequence[Block]) -> list[tuple[tuple[str, ...], tuple[int, int], int]]:
    """Of each `delayed`: suspects, sequence, count."""
    found = judge(blocks, settled=True)["findings"]
    assert {f["kind"] for f in found} <= {"delayed"}
    return [(tuple(f["suspects"]), tuple(f["sequence"]), f["count"]) for f in found]
