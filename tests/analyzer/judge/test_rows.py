"""Every row of the endings table is met by records that a stream can leave: none is there for the table's sake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

from bench.truth.build import Event, How, answer, handed_on, path, usual
from streamwitness.blocks import Block
from streamwitness.semconv import (
    ERROR,
    FINISH_REASONS_ATTRIBUTE,
    MISFRAMED,
    OBSERVER_FAULT,
    STATUS_CODE,
    TERMINAL,
    Point,
)
from streamwitness_analyzer.judge.ending.endings import CLIENT, EGRESS, INGRESS, ROWS, Row, ending_of
from streamwitness_analyzer.judge.ending.states import client_state, egress_state, ingress_state
from streamwitness_analyzer.judge.hops import paths
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.vocabulary import ENDINGS
from tests.analyzer.judge import test_stalls as stalls
from tests.analyzer.judge.timed import stream

WHOLE: Final = answer(range(1, 6))
PART: Final = WHOLE[:4]
FAILED: Final = [*PART, Event(parts=ERROR)]
DONE: Final = [*PART, Event(parts=TERMINAL)]
Seen = tuple[list[Event], dict[str, Any]]
READ: Final[dict[str, Seen | None]] = {
    "complete": (WHOLE, {"end": "eof"}),
    "error": (FAILED, {"end": "eof", "complete": False}),
    "cut": (PART, {"end": "eof"}),
    "eof": (PART, {"end": "eof"}),
    "unfinished": (DONE, {"end": "eof"}),
    "misframed": ([], {"end": "eof", "complete": False, "extra": ((MISFRAMED, "html"),)}),
    "broken": (PART, {"end": "reset"}),
    "rejected": ([], {"end": "eof", "complete": False, "extra": ((STATUS_CODE, 503),)}),
    "stopped": (PART, {"end": "cancelled"}),
    "none": None,
    **{end: (PART, {"end": end}) for end in ("reset", "protocol_error", "timeout", "cancelled", "abandoned")},
    "failed": (PART, {"end": "unknown"}),
    **{end: (PART, {"end": end}) for end in ("disconnected", "raised", "shutdown")},
}
"""A word of the table → the events that a point had, and how it is made."""
RAISED: Final = {
    "parser": ("wire", "parsed", "applied"),
    "reducer": ("wire", "parsed", "applied"),
    "parser_unseen": ("parsed", "applied"),
    "reducer_unseen": ("applied",),
}
"""A client of which something raised → its points of which the record is held."""


def records(ingress: str, egress: str, client: str) -> list[Block]:
    """The blocks of a stream whose three sides ended so."""
    told: dict[Point, Seen | None] = {"ingress": READ[ingress], "egress": READ[egress]}
    silent = client in ("missing", "waiting", "none")
    told |= _raised(client) if client in RAISED else {"wire": None if silent else READ[client]}
    seen = {point: seen for point, seen in told.items() if seen is not None}
    announced = (*seen, *(("wire",) if client in ("missing", "waiting") else ()))
    hows: dict[str, How] = {
        point: replace(usual(point, legs="ingress" in seen), **made) for point, (_, made) in seen.items()
    }
    events = [seen[p][0] if p in seen else None for p in ("ingress", "egress", "wire", "parsed", "applied")]
    return path(*events, expected=announced, **hows)


def _raised(client: str) -> dict[Point, Seen | None]:
    """A client whose parser or reducer raised in mid-answer, and so stopped reading."""
    parsed = handed_on(PART)
    applied = [Event(of=n, result="applied") for n in range(len(parsed))]
    above = "raised" if client.startswith("parser") else "abandoned"
    every: dict[Point, Seen | None] = {
        "wire": (PART, {"end": "abandoned"}),
        "parsed": (parsed, {"end": above}),
        "applied": (applied, {"end": "raised"}),
    }
    return {point: seen for point, seen in every.items() if point in RAISED[client]}


def decided(blocks: list[Block], *, settled: bool) -> Iterator[Row]:
    """The row for each path of these records."""
    for exchange in collect(blocks).exchanges:
        for one in paths(exchange):
            ends = ingress_state(one), egress_state(one), client_state(one, settled=settled)
            yield ending_of(*ends, settled=settled)


TIMED_OUT: Final = replace(usual("ingress"), end="timeout")
MADE_UP: Final = replace(usual("egress"), complete=True)
"""A gateway whose patience with its upstream was over, and which ended the answer as if that had been all."""
LIMITED: Final = replace(usual("egress"), extra=((FINISH_REASONS_ATTRIBUTE, ("length",)),))
"""A gateway with a limit of its own."""
BROKE: Final = replace(usual("ingress"), end="reset", complete=False)
"""An upstream that broke before its first event."""
REFUSED: Final = replace(usual("ingress"), complete=False, extra=((STATUS_CODE, 503),))
CRASHED: Final = {
    "egress": replace(usual("egress"), end="raised"),
    "wire": replace(usual("wire"), end="protocol_error"),
}
"""A gateway that raised before it had sent anything."""
BLIND: Final = replace(usual("egress"), extra=((OBSERVER_FAULT, "ValueError"),))
"""A gateway whose observer had seen the whole answer before it failed."""
STALLED: Final = (
    (stalls.seen(4, 32.1, "cancelled"), stalls.gone(), stalls.left()),
    (stalls.seen(0, 32.1, "cancelled"), stalls.gone(0), stalls.left(0)),
    (stalls.seen(9, 6, "eof"), stalls.gone(), stalls.left()),
    (stalls.seen(1, 1, "eof"), stalls.gone(0), stalls.left(0)),
    (stalls.seen(6, 32.1, "cancelled"), stalls.gone(6), stalls.left()),
    (stalls.seen(3, 32.1, "cancelled"), stalls.gone(3), stalls.left(0)),
)


def test_every_row_is_met_by_records() -> None:
    """Of all combinations of what the three sides can tell, each row decides one."""
    ends = product(
        [word for word in INGRESS if word in READ],
        [word for word in EGRESS if word in READ],
        [word for word in CLIENT if not word.startswith(("stalled", "no_first", "error_unseen"))],
    )
    met = {row for words in ends for row in decided(records(*words), settled=words[2] != "waiting")}
    made_up = (PART, DONE, None)
    met |= set(decided(path(*made_up, ingress=TIMED_OUT, egress=MADE_UP), settled=True))
    for client in (WHOLE, None):
        let_go = {"ingress": replace(usual("ingress"), end="cancelled"), "egress": LIMITED}
        met |= set(
            decided(path(PART, WHOLE[:4] + WHOLE[-2:], client and WHOLE[:4] + WHOLE[-2:], **let_go), settled=True)
        )
    met |= set(decided(path(WHOLE, WHOLE, FAILED, egress=BLIND, wire=usual("wire")), settled=True))
    met |= {row for wire in (WHOLE, None) for row in decided(path([], WHOLE, wire, ingress=BROKE), settled=True)}
    met |= set(decided(path([], [], [], ingress=REFUSED, **CRASHED), settled=True))
    met |= {row for points in STALLED for row in decided(stream(*points), settled=True)}
    assert [row for row in ROWS if row not in met] == []


def test_every_class_is_some_row_s() -> None:
    """None of the closed list is a promise only."""
    assert {row.ending for row in ROWS if row.ending is not None} == set(ENDINGS)
