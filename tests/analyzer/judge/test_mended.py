"""Who puts right what came to him wrong, by the body's own numbers or by its own whole text, is not accused of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bench.truth.build import Event, How, answer, path
from streamwitness.blocks import Block
from streamwitness.semconv import OUT_OF_TURN, PART, UPSTREAM_MISMATCHES
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 13))
TWICE = [*ANSWER[:5], ANSWER[4], *ANSWER[5:]]
SWAPPED = [*ANSWER[:4], ANSWER[5], ANSWER[4], *ANSWER[6:]]
ONCE_MORE = ((OUT_OF_TURN, 1),)
WHOLE = [*ANSWER[:-2], Event(400, PART["snapshot"]), *ANSWER[-2:]]
HOLE = [*WHOLE[:4], *WHOLE[5:]]


def found(blocks: Sequence[Block]) -> tuple[str, list[tuple[Any, ...]]]:
    """Integrity; kind, suspects, confidence, count and whether that is exact, of each finding."""
    verdict = judge(blocks, settled=True)
    told = [(f["kind"], f["suspects"], f["confidence"], f["count"], f["exact"]) for f in verdict["findings"]]
    return verdict["integrity"], told


def of_gateway(read: list[Event], sent: list[Event], told: tuple[tuple[str, Any], ...]) -> tuple[str, list[Any]]:
    """Of a gateway that read and sent this."""
    return found(path(read, sent, None, None, ingress=How("ingress", extra=told)))


def of_parser(
    sent: list[Event], came: list[Event], out: list[Event], told: tuple[tuple[str, Any], ...]
) -> tuple[str, list[Any]]:
    """Of a client to whom this came, and whose parser hands that on."""
    return found(path(None, sent, came, out, wire=How("wire", extra=told)))


@pytest.mark.parametrize(("read", "kind"), [(TWICE, "gap"), (SWAPPED, "reorder")])
def test_a_gateway_that_goes_by_the_numbers(read: list[Event], kind: str) -> None:
    """The copy is dropped, the order mended: nothing is proven. Without numbers it is its fault."""
    assert of_gateway(read, ANSWER, ONCE_MORE) == ("unproven", [])
    assert [f[:3] for f in of_gateway(read, ANSWER, ())[1]] == [(kind, ["gateway"], "certain")]


@pytest.mark.parametrize(("came", "kind"), [(TWICE, "duplicate"), (SWAPPED, "reorder")])
def test_a_parser_that_mends_what_the_network_did(came: list[Event], kind: str) -> None:
    """The network is told to have done it, the parser nothing, and no record is called wrong."""
    assert of_parser(ANSWER, came, ANSWER, ONCE_MORE)[1] == [(kind, ["transport"], "certain", 1, True)]
    assert of_parser(came, came, ANSWER, ONCE_MORE) == ("unproven", [])


def test_what_only_the_parser_tells_of_the_network() -> None:
    """Nothing of the client's body is known but how much of it came out of turn: the network is not cleared."""
    blocks = path(None, ANSWER, None, ANSWER, parsed=How("parsed", extra=ONCE_MORE))
    assert found(blocks)[0] == "unproven"
    assert found(path(None, ANSWER, None, ANSWER))[0] == "intact"


@pytest.mark.parametrize(("out", "guilty"), [(ANSWER, []), ([*TWICE[:8], *TWICE[9:]], [["parser"]])])
def test_where_no_closing_block_tells(out: list[Event], guilty: list[list[str]]) -> None:
    """A copy less may have been dropped by its number; of what has no copy nothing is left."""
    blocks = path(None, None, TWICE, out, cuts=lambda n: range(0, n, 4))
    told = found([block for block in blocks if not block.final])[1]
    assert [f[1] for f in told] == guilty


def test_more_is_lost_than_came_again() -> None:
    """So much is lost, at least."""
    assert of_gateway(TWICE, [*ANSWER[:6], *ANSWER[10:]], ONCE_MORE)[1] == [("gap", ["gateway"], "certain", 4, False)]


def test_the_network_knows_of_no_numbers() -> None:
    """It hands on bytes: what is missing is lost."""
    blocks = path(None, TWICE, ANSWER, ANSWER, egress=How("egress", extra=ONCE_MORE))
    assert [f[:3] for f in found(blocks)[1]] == [("gap", ["transport"], "certain")]


def test_what_nobody_read_is_made_up_all_the_same() -> None:
    """Neither a copy nor another order explains it."""
    more = [*ANSWER[:5], Event(77), *ANSWER[5:]]
    assert [f[:2] for f in of_gateway(ANSWER, more, ONCE_MORE)[1]] == [("fabricated", ["gateway"])]


@pytest.mark.parametrize("told", [((UPSTREAM_MISMATCHES, 1),), ()])
def test_a_hole_that_is_filled_from_the_whole_text(told: tuple[tuple[str, Any], ...]) -> None:
    """What was added was read there; where the whole text has no more than its pieces, it was not."""
    filled = [*HOLE[:9], Event(77), *HOLE[9:]]
    of = ["gateway"], ["parser"]
    assert [f[1] for f in of_gateway(HOLE, filled, told)[1]] == ([] if told else [of[0]])
    assert [f[1] for f in of_parser(HOLE, HOLE, filled, told)[1]] == ([] if told else [of[1]])


def test_what_is_lost_is_lost_beside_a_hole() -> None:
    """Less came out than was read, which fills nothing."""
    told = of_gateway(HOLE, [*HOLE[:3], *HOLE[4:]], ((UPSTREAM_MISMATCHES, 1),))[1]
    assert [f[:2] for f in told] == [("gap", ["gateway"])]
