"""Streams that are healthy by their closing blocks alone: told as the rules tell them, without asking them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from bench import judging
from bench.truth.run import thinned
from bench.truth.streams import of_sort
from streamwitness import semconv as sc
from streamwitness.blocks import _OWN_KEYS, Block
from streamwitness.rows import encode
from streamwitness_analyzer.judge import hops, judge, well
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.records import Exchange, collect
from streamwitness_analyzer.judge.well import sound

EVENTS: Final = 12
LONG: Final = 600
"""Events that stand in several blocks."""
SEEDS: Final = {
    "recorded": range(15, 30),
    "path": range(10),
    "gateways": range(10),
    "attempts": range(3, 13),
    "gateway": range(20, 30),
    "fails_closed": range(5, 15),
    "behind_the_end": range(20, 30),
    "calls_anew": range(10),
    "call_anew": range(10, 20),
    "holds_back": range(10),
    "roles": range(10, 20),
}
"""Sorts of streams of which some are that healthy → seeds among which there are such, and others."""


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


@pytest.mark.parametrize("loss", ["disordered", "5 % in bursts"])
@pytest.mark.parametrize("sort", SEEDS)
def test_the_rules_say_the_same(sort: str, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a stream is told to be well, the verdict is the one that the rules come to."""
    streams = [thinned(of_sort(sort, seed), loss) for seed in SEEDS[sort]]
    answers: list[Path | None] = []

    def asked(exchange: Exchange, earlier: Sequence[Path]) -> Path | None:
        answers.append(sound(exchange, earlier))
        return answers[-1]

    monkeypatch.setattr(hops, "sound", asked)
    told = [judge(blocks, settled=True) for blocks in streams]
    assert any(answer is not None for answer in answers)  # else nothing is held against the rules here
    monkeypatch.setattr(hops, "sound", lambda exchange, earlier: None)
    assert told == [judge(blocks, settled=True) for blocks in streams]


UNUSUAL: Final = {
    sc.OBSERVER_FAULT: "from there on the point is unknown",
    sc.DROPPED_BLOCKS: "blocks never left their process",
    sc.MISFRAMED: "what was read is not all that it said",
    sc.PENDING_BYTES: "it ended within an event",
    sc.PENDING_PARTS: "the same",
    sc.UPSTREAM_MISMATCHES: "the provider's whole text is another",
    sc.UPSTREAM_BREAKS: "an event stands where none may",
    sc.UPSTREAM_FAULTS: "the stream proves something against itself",
    sc.UPSTREAM_NOISE: "words stand in the place of an event",
    sc.UPSTREAM_EXCHANGE: "the source is another gateway, which tells for itself",
    sc.UNREAD: "there was output that is not compared",
    sc.SHARED_NUMBERS: "some would put two calls together",
    sc.ASKED_AGAIN: "the events handed on may be of another response",
    sc.RESUMES: "what comes first may have been had before",
    sc.UNANSWERED: "more may have been asked for than came",
    sc.EDITED: "the answer is another on purpose",
    sc.FIRST_NUMBER: "it is the rest of an answer",
    sc.LINKED: "it is an answer that was to be the rest of one",
    sc.FOREIGN: "events of another stream were built in",
    sc.EARLIER_RECORD: "what is not in this record may be in another",
    sc.SHARED_RECORD: "several report, each in an order of its own",
    "stream.out_of_turn": "events came again, or late, by their own numbers",
    sc.CLOCK_STEP_MS: "the machine slept, or its clock was set",
    sc.ERROR_TYPE: "somebody failed",
}
"""Attribute outside the contract that no healthy stream tells → why it is judged."""
_OUTSIDE: Final = {
    value
    for value in vars(sc).values()
    if isinstance(value, str) and (value in sc.OWN_ATTRIBUTES or value.startswith(("gen_ai.", "error.", "server.")))
} - _OWN_KEYS | {sc.STATUS_CODE}


def test_of_every_attribute_it_is_decided_whether_it_is_usual() -> None:
    """A new one is either of every healthy stream, whatever its value, or what it says is judged."""
    tables = [well._ORDINARY, well._USUAL.keys(), UNUSUAL.keys()]
    decided = set().union(*tables)
    assert len(decided) == sum(map(len, tables))
    assert decided >= _OUTSIDE


_USUAL: Final = [(sc.STATUS_CODE, 200), (sc.UPSTREAM_HOLES, 0), (sc.STAMPED, "field")]
_ODD: Final = [(sc.STATUS_CODE, 400), (sc.STATUS_CODE, "200"), (sc.UPSTREAM_HOLES, 1), (sc.STAMPED, "otherwise")]


@pytest.mark.parametrize(("name", "value"), _USUAL)
def test_what_it_says_may_be_usual(name: str, value: object) -> None:
    """It is by its value that such an attribute is one of a healthy stream."""
    assert _sound(_told(name, value)) is not None


@pytest.mark.parametrize(("name", "value"), [*_ODD, *((name, 1) for name in UNUSUAL)])
def test_what_no_healthy_stream_tells_is_judged(name: str, value: object) -> None:
    """Its value may say that the stream is not well, or that more has to be asked."""
    assert _sound(_told(name, value)) is None


def _told(name: str, value: object) -> list[Block]:
    """A healthy stream whose closing block at gateway out says this."""
    extra = {name: value}
    every = judging.healthy(EVENTS)
    return [replace(b, extra=b.extra | extra) if b.point == "egress" and b.final else b for b in every]


@pytest.mark.parametrize("kind", ["id", "field"])
def test_numbers_tell_equal_events_apart(kind: str) -> None:
    """Beside the events, they may tell another order of the same bytes; within, they are some of these bytes."""
    due = [*range(EVENTS)]
    assert _sound(_numbered(kind, due)) is not None
    other = _sound(_numbered(kind, [1, 0, *due[2:]]))
    assert (other is None) == (kind == "id")


def _numbered(kind: str, order: Sequence[int]) -> list[Block]:
    """A healthy stream with numbers: in their order at gateway out, in this one where the client received them."""
    numbers = {"egress": range(EVENTS), "wire": order}
    return [
        replace(b, rows=encode({**b.columns(), "sequence": [*numbers[b.point]]}, b.row_count))
        if b.point in numbers
        else b
        for b in _told(sc.STAMPED, kind)
    ]


def test_a_gateway_may_write_it_otherwise() -> None:
    """Where each event says the same, other bytes are no other answer."""
    assert _sound(_changed(judging.healthy(EVENTS), "ingress", payload_s=1, payload_o=2)) is not None


def _more(parts: tuple[int, ...], part: int) -> tuple[int, ...]:
    """One event more with this part."""
    return tuple(count + (part == 1 << place) for place, count in enumerate(parts))


def _counting(block: Block, name: str, count: int) -> Block:
    return replace(block, totals=block.totals | {name: count})


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
    "the gateway wrote it otherwise, of many texts": lambda blocks: [
        replace(b, slot_digests=SLOTS * sc.MAX_SLOTS, payload_s=1 if b.point == "ingress" else 2) for b in blocks
    ],
    "the gateway wrote it otherwise, with another reason": lambda blocks: [
        replace(b, payload_s=1, extra=b.extra | {sc.FINISH_REASONS_ATTRIBUTE: ("length",)})
        if b.point == "ingress"
        else b
        for b in blocks
    ],
    "an error came": lambda blocks: [replace(b, total_parts=_more(b.total_parts, sc.ERROR)) for b in blocks],
    "an event could not be read": lambda blocks: [_counting(b, "malformed", 1) for b in blocks],
    "its upstream lists another response": lambda blocks: _changed(blocks, "ingress", legs=("1" * 16,)),
    "the gateway let go of its upstream": lambda blocks: _changed(blocks, "ingress", end="cancelled"),
    "the gateway sent other kinds of events": lambda blocks: [
        replace(b, total_parts=_more(b.total_parts, sc.ROLE)) if b.point == "egress" else b for b in blocks
    ],
    "the gateway put calls together otherwise": lambda blocks: _changed(blocks, "egress", slot_digests=SLOTS),
    "the parser tells another reason": lambda blocks: [
        replace(b, extra=b.extra | {sc.FINISH_REASONS_ATTRIBUTE: ("length",)}) if b.point == "parsed" else b
        for b in blocks
    ],
    "the parser handed on fewer with output": lambda blocks: [
        _counting(b, "judged", 1) if b.point == "parsed" else b for b in blocks
    ],
    "two terminators came": lambda blocks: [
        replace(b, total_parts=_more(b.total_parts, sc.TERMINAL)) if b.point in ("ingress", "egress", "wire") else b
        for b in blocks
    ],
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
