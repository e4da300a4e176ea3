"""Calls of tools: which is the first hangs on how they came, so their numbers accuse nobody; what they hold does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import ALL_PARTS, LEG, Event, How, handed_on, path, used
from streamwitness.semconv import FINISH, ROLE, SHARED_NUMBERS, TERMINAL, TOOL_ARGS, TOOL_START
from streamwitness_analyzer.judge import judge

CALLS = [
    Event(parts=ROLE),
    Event(70, TOOL_START), Event(71, TOOL_ARGS), Event(72, TOOL_ARGS),
    Event(80, TOOL_START), Event(81, TOOL_ARGS), Event(82, TOOL_ARGS),
    Event(90, FINISH), Event(parts=TERMINAL),
]  # fmt: skip
COLLECTED = [CALLS[0], Event(99, TOOL_START | TOOL_ARGS), *CALLS[7:]]
SLOTS = ("0/tool/0 0000aaaa 9", "0/tool/1 0000bbbb 9")
SWAPPED = ("0/tool/0 0000bbbb 9", "0/tool/1 0000aaaa 9")
MIXED = ("0/tool/0 0000cccc 9", "0/tool/1 0000dddd 9")


def told(blocks: list[Any]) -> tuple[str, list[tuple[Any, ...]]]:
    """Integrity; kind, suspects, confidence and whether it is exact of each finding."""
    verdict = judge(blocks, settled=True)
    return verdict["integrity"], [(f["kind"], f["suspects"], f["confidence"], f["exact"]) for f in verdict["findings"]]


def through_parser(slots: tuple[str, ...], parsed: list[Event], delivers: int = ALL_PARTS & ~TERMINAL) -> list[Any]:
    """A path on which the parser handed on these events, its calls numbered so."""
    how = {point: How(point, slots=SLOTS) for point in ("egress", "wire")}
    return path(None, CALLS, CALLS, parsed, parsed=How("parsed", delivers=delivers, slots=slots), **how)


@pytest.mark.parametrize(
    ("slots", "integrity"), [(SLOTS, "intact"), (SWAPPED, "unproven")], ids=["as they came", "not"]
)
def test_calls_that_were_collected_and_handed_on(slots: tuple[str, ...], integrity: str) -> None:
    """Each holds what it held; whether the first that came must be the first that is handed on, nobody knows."""
    assert told(through_parser(slots, handed_on(COLLECTED), 0)) == (integrity, [])


def test_two_whole_calls_that_changed_places_at_a_parser_that_nobody_described() -> None:
    """Piece by piece, and still in another order than they came: not intact."""
    swapped = [CALLS[0], *CALLS[4:7], *CALLS[1:4], *CALLS[7:]]
    assert told(through_parser(SWAPPED, handed_on(swapped), 0)) == ("unproven", [])


def test_calls_that_were_collected_wrongly() -> None:
    """One that was made of other pieces is another one, whatever number it has."""
    ((_, found),) = [told(through_parser(MIXED, handed_on(COLLECTED)))]
    assert {suspects[0] for _, suspects, _, _ in found} == {"parser"}


@pytest.mark.parametrize(
    ("delivers", "expected"),
    [(ALL_PARTS & ~TERMINAL, ("damaged", [("altered", ["parser"], "certain", False)])), (0, ("unproven", []))],
    ids=["declared", "undeclared"],
)
def test_pieces_that_a_parser_handed_on_as_another_calls(delivers: int, expected: Any) -> None:
    """Equal events are not intact where their calls hold other things; a parser may number them its own way."""
    assert told(through_parser(MIXED, handed_on(CALLS), delivers)) == expected


@pytest.mark.parametrize(
    ("slots", "expected"),
    [(SWAPPED, ("intact", [])), (MIXED, ("damaged", [("altered", ["gateway"], "certain", False)]))],
    ids=["renumbered", "mixed"],
)
def test_pieces_that_a_gateway_sent_as_another_calls(slots: tuple[str, ...], expected: Any) -> None:
    """Another number is nothing; pieces of one call in the place of the other's are a fault."""
    ingress, egress = How("ingress", leg=0, slots=SLOTS), How("egress", legs=(LEG,), slots=slots)
    assert told(path(CALLS, CALLS, None, ingress=ingress, egress=egress)) == expected


def test_no_digest_of_more_slots_than_are_followed() -> None:
    """Of further calls nothing is known, so that those that are told may be others."""
    many = tuple(f"0/tool/{n} {n:08x} 9" for n in range(16))
    others = tuple(f"0/tool/{n} {n + 1:08x} 9" for n in range(16))
    ingress, egress = How("ingress", leg=0, slots=many), How("egress", legs=(LEG,), slots=others)
    assert told(path(CALLS, CALLS, None, ingress=ingress, egress=egress)) == ("intact", [])


def test_calls_that_were_not_sent_to_their_end() -> None:
    """A client that went away in the midst of a call was sent a part of it, and not another one."""
    ingress = How("ingress", leg=0, slots=SLOTS)
    egress = How("egress", end="disconnected", legs=(LEG,), slots=("0/tool/0 0000cccc 6",))
    assert told(path(CALLS, CALLS[:3], None, ingress=ingress, egress=egress)) == ("intact", [])


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (SWAPPED, ("intact", [])),
        (("0/tool/0 0000bbbb 9", "0/tool/1 0000cccc 7"), ("damaged", [("misapplied", ["reducer"], "certain", True)])),
    ],
    ids=["in another order", "one of them another"],
)
def test_calls_that_an_application_kept_in_another_order(shown: tuple[str, ...], expected: Any) -> None:
    """It sorts them by the number that the provider gave them; one that holds something else is told once."""
    parsed = handed_on(CALLS)
    blocks = through_parser(SLOTS, parsed)
    blocks += How("applied", of="parsed", slots=shown).blocks(used(parsed))
    assert told(blocks) == expected


def gateway(sent: list[Event], slots: tuple[str, ...] | None, shared: tuple[int, int] = (0, 0)) -> str:
    """Whether a gateway is intact that read a text and calls and sent these events."""
    leg, out = (((SHARED_NUMBERS, count),) if count else () for count in shared)
    ingress, egress = How("ingress", leg=0, extra=leg, slots=slots), How("egress", legs=(LEG,), extra=out, slots=slots)
    return str(told(path(SAID, sent, None, ingress=ingress, egress=egress))[0])


SAID = [CALLS[0], Event(60), *CALLS[1:]]
ANEW = [replace(event, payload=9_000 + i) for i, event in enumerate(SAID)]
"""The same in other bytes."""


def test_calls_that_leave_under_one_number_are_not_proven_to_be_read_as_they_were() -> None:
    """Whose upstream gave each its own; where that shared one as well, it is as it was read."""
    assert (gateway(ANEW, None, (0, 1)), gateway(ANEW, None, (1, 1))) == ("unproven", "intact")


def test_of_several_calls_equal_events_prove_nothing_without_a_digest_of_each() -> None:
    """A piece may stand in another call's place; the bytes of all events tell that none does, or the digests."""
    assert (gateway(SAID, ()), gateway(ANEW, ()), gateway(ANEW, None)) == ("intact", "unproven", "intact")
