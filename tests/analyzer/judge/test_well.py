"""Streams that are healthy by their closing blocks alone: told as the rules tell them, without asking them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from bench import judging
from bench.truth.streams import of_sort
from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness_analyzer.judge import hops, judge
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.judge.well import sound

EVENTS: Final = 12
LONG: Final = 600
"""Events that stand in several blocks."""
SORTS: Final = ("recorded", "path", "gateways", "attempts", "gateway", "roles", "timed", "edges", "merging")
"""Sorts of streams of which some are that healthy."""
EACH: Final = 10


def _sound(blocks: list[Block]) -> Path | None:
    """The path as the closing blocks of its one exchange tell it."""
    (exchange,) = collect(blocks).exchanges
    return sound(exchange, ())


def _changed(blocks: list[Block], point: str, **fields: Any) -> list[Block]:
    return [replace(block, **fields) if block.point == point else block for block in blocks]


@pytest.mark.parametrize("far", range(2, 6))
def test_no_rule_is_asked_where_all_is_well(far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as the points of a healthy stream go, its hops are known without judging one of them."""
    blocks = [block for block in judging.healthy(EVENTS) if block.point in sc.POINTS[1 : far + 1]]
    announced = [replace(block, expected=0) for block in blocks]
    monkeypatch.setattr(hops, "judge_upstream", None)
    monkeypatch.setattr(hops, "_hop", None)
    judge(announced, settled=True)


@pytest.mark.parametrize("sort", SORTS)
def test_the_rules_say_the_same(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a stream is told to be well, the verdict is the one that the rules come to."""
    streams = [of_sort(sort, seed).blocks for seed in range(EACH)]
    told = [judge(blocks, settled=True) for blocks in streams]
    monkeypatch.setattr(hops, "sound", lambda exchange, earlier: None)
    assert told == [judge(blocks, settled=True) for blocks in streams]


SLOTS: Final = ("0/text/0 a 1",)
"""A text that no other point has."""
ODD: Final[dict[str, Callable[[list[Block]], list[Block]]]] = {
    "a block is lost": lambda blocks: blocks[:-1],
    "only a summary is held": lambda blocks: _changed(blocks, "wire", rows=None, summary=True),
    "an attribute that is told of no healthy stream": lambda blocks: [
        replace(block, extra=block.extra | {"stream.something_new": 1}) for block in blocks
    ],
    "the gateway sent other bytes": lambda blocks: _changed(blocks, "egress", payload_o=1),
    "the gateway sent other words": lambda blocks: _changed(blocks, "egress", semantic_o=1),
    "the gateway lists another response": lambda blocks: _changed(blocks, "egress", legs=("1" * 16,)),
    "the client stopped": lambda blocks: _changed(blocks, "wire", end="cancelled"),
    "the client received other bytes": lambda blocks: _changed(blocks, "wire", payload_s=1),
    "the parser handed on other words": lambda blocks: _changed(blocks, "parsed", semantic_s=1),
    "the parser put calls together otherwise": lambda blocks: _changed(blocks, "parsed", slot_digests=SLOTS),
    "the parser raised": lambda blocks: _changed(blocks, "parsed", end="raised"),
    "the parser may keep text back": lambda blocks: _changed(blocks, "parsed", delivers=sc.PART["role"]),
    "the reports are of another point": lambda blocks: _changed(blocks, "applied", of="wire"),
    "the application went back": lambda blocks: _changed(blocks, "applied", regressions=1),
    "the application shows its result": lambda blocks: _changed(blocks, "applied", slot_digests=SLOTS),
    "two processes read": lambda blocks: _changed(blocks, "parsed", witness="9" * 16),
    "an exchange in which somebody did not speak": lambda blocks: [b for b in blocks if b.point != "wire"],
    "no digests": lambda blocks: [
        replace(b, payload_s=None, payload_o=None, semantic_s=None, semantic_o=None) for b in blocks
    ],
}
"""What is not as it is in a healthy stream → the blocks."""


@pytest.mark.parametrize("odd", ODD)
def test_what_is_odd_in_anything_is_judged(odd: str) -> None:
    """What differs between two points, is not all there, or is told of no healthy stream, goes the long way."""
    blocks = judging.healthy(EVENTS)
    assert _sound(blocks) is not None
    assert _sound(ODD[odd](blocks)) is None


@pytest.mark.parametrize("point", sc.POINTS[1:5])
def test_sums_that_one_block_does_not_tell_are_missed(point: str) -> None:
    """They may have been cut off there: what closing blocks say is held against what the others say."""
    blocks = judging.healthy(LONG)
    assert {block.index for block in blocks} > {0}
    assert _sound(blocks) is not None
    cut = [replace(b, semantic_o=None) if (b.point, b.index) == (point, 0) else b for b in blocks]
    assert _sound(cut) is None
