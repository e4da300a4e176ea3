"""What a partial installation can know: each fault of a table, seen by each setup, judged by the real judge.

The blocks are those that hooks would send (bench/truth/build.py). README.md and docs/design.md tell the
result in words and as a table; tests/test_docs.py holds them to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from bench.truth.build import LEG, Event, How, answer, handed_on, used
from streamwitness.semconv import ALL_PARTS, TERMINAL, Point
from streamwitness_analyzer.judge import judge

Seen = tuple[Sequence[Event], str]
"""What a point saw, and how it ended there."""

ANSWER: Final = answer(range(1, 13))
"""Fifteen events: role, twelve texts, finish, terminator."""
_SDK: Final = ALL_PARTS & ~TERMINAL
_CUT: Final = 9


def _path(
    leg: Seen,
    out: Seen | None = None,
    received: Seen | None = None,
    parsed: Seen | None = None,
    kept: Seen | None = None,
) -> dict[Point, Seen]:
    """What all points saw; a point that is not given saw what the one before did."""
    out = out or leg
    received = received or (out[0], "stopped_at_terminal" if out[0][-1].parts & TERMINAL else out[1])
    parsed = parsed or (handed_on(received[0]), received[1])
    kept = kept or (used(parsed[0]), parsed[1])
    return {"ingress": leg, "egress": out, "wire": received, "parsed": parsed, "applied": kept}


def _without(events: Sequence[Event], at: int) -> list[Event]:
    return [*events[:at], *events[at + 1 :]]


def _raised(events: Sequence[Event], at: int) -> list[Event]:
    return [replace(e, result="raised", parts=0, text=0) if i == at else e for i, e in enumerate(used(events))]


_HEALTHY: Final = (ANSWER, "eof")
_STOPPED: Final = (ANSWER[:_CUT], "eof")
_BROKEN: Final[dict[Point, Seen]] = _path(
    (ANSWER[:12], "cancelled"), (ANSWER[:12], "disconnected"), (ANSWER[:_CUT], "reset")
)
_LEFT: Final[dict[Point, Seen]] = _path(
    (ANSWER[:12], "cancelled"), (ANSWER[:12], "disconnected"), (ANSWER[:_CUT], "cancelled")
)

FAULTS: Final[dict[str, dict[Point, Seen]]] = {
    "provider leaves an event out": _path((_without(ANSWER, 7), "eof")),
    "provider stops early": _path(_STOPPED),
    "gateway loses an event": _path(_HEALTHY, (_without(ANSWER, 7), "eof")),
    "gateway hides an early stop": _path(_STOPPED, ([*ANSWER[:_CUT], ANSWER[-1]], "eof")),
    "proxy behind the gateway loses an event": _path(_HEALTHY, received=(_without(ANSWER, 7), "stopped_at_terminal")),
    "connection breaks": _BROKEN,
    "parser loses an event": _path(_HEALTHY, parsed=(_without(handed_on(ANSWER), 7), "stopped_at_terminal")),
    "application's code raises": _path(_HEALTHY, kept=(_raised(handed_on(ANSWER), 7), "stopped_at_terminal")),
    "client cancels": _LEFT,
}
"""What is broken → what each point of a wholly instrumented path would have seen."""

SETUPS: Final[dict[str, tuple[Point, ...]]] = {
    "client, bytes only": ("wire",),
    "client with its parser": ("wire", "parsed"),
    "client with `applied`": ("wire", "parsed", "applied"),
    "gateway out": ("egress",),
    "gateway in and out": ("ingress", "egress"),
    "gateway out, client": ("egress", "wire", "parsed", "applied"),
    "both sides": ("ingress", "egress", "wire", "parsed", "applied"),
}
"""What is installed → the points that testify. Bytes only is `instrument(httpx.Client())`; the parser testifies with
an openai client, or with `watch`."""

LOST: Final = "both sides, one record lost on the way"
"""Not a setup: all points testify, but what the client received never arrives at the analyzer."""


def verdict(setup: str, fault: str) -> dict[str, Any]:
    """The settled verdict on a fault, from the points of a setup alone."""
    expected = SETUPS["both sides" if setup == LOST else setup]
    points = tuple(point for point in expected if setup != LOST or point != "wire")
    return _judged(points, expected, FAULTS[fault])


def healthy(setup: str) -> dict[str, Any]:
    """The settled verdict on a stream that nothing happened to."""
    return _judged(SETUPS[setup], SETUPS[setup], _path(_HEALTHY))


def knowledge(setup: str) -> tuple[list[str], list[str], list[str]]:
    """The faults that a setup proves together with their maker, those it sees without him, and those it cannot see."""
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for fault in FAULTS:
        found[_how_well(setup, fault)].append(fault)
    return found


def _how_well(setup: str, fault: str) -> int:
    document, well = verdict(setup, fault), healthy(setup)
    ending = document["ending"]
    if any(finding["confidence"] == "certain" for finding in document["findings"]):
        return 0
    if document["findings"]:
        return 1
    if (ending["class"], document["integrity"]) == (well["ending"]["class"], well["integrity"]):
        return 2
    # `client_gone` says only that somebody left: a client, or the network under it
    return 0 if ending["by"] is not None and ending["class"] != "client_gone" else 1


def _judged(points: Sequence[Point], expected: tuple[Point, ...], seen: dict[Point, Seen]) -> dict[str, Any]:
    blocks = [block for point in points for block in _how(point, expected, seen[point]).blocks(seen[point][0])]
    return judge(blocks, settled=True)


def _how(point: Point, expected: tuple[Point, ...], seen: Seen) -> How:
    special: dict[Point, dict[str, Any]] = {
        "ingress": {"leg": 0},
        "egress": {"legs": (LEG,) if "ingress" in expected else ()},
        "parsed": {"delivers": _SDK},
        "applied": {"of": "parsed"},
    }
    return How(point, end=seen[1], expected=expected, **special.get(point, {}))


def cell(document: dict[str, Any]) -> str:
    """A verdict in a few words, for a table: who is accused and how surely; else the ending, and what is proven."""
    ending = document["ending"]
    said = [f"`{ending['class']}`" + ("" if ending["by"] or ending["class"] == "completed" else " (by whom unknown)")]
    for finding in document["findings"]:
        sure = {"certain": "proven", "narrowed": "narrowed"}.get(finding["confidence"], "contradictory")
        said.append(f"**{' or '.join(finding['suspects'])}** `{finding['kind']}`, {sure}")
    return "; ".join(said) + ("" if document["findings"] else f"; {document['integrity']}")
