"""Events that only lenient readers can decode: what became of them accuses nobody, and all others count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench.truth.build import ALL_PARTS, Event, How, answer, handed_on, path
from streamwitness.client.applying import Applied
from streamwitness.semconv import MALFORMED, TERMINAL, TEXT
from streamwitness_analyzer.judge import judge
from tests.cases.parsers import proper
from tests.cases.pipeline import Play, Stream

ANSWER = answer(range(1, 13))
ODD = [Event(5, TEXT | MALFORMED) if event.text == 5 else event for event in ANSWER]
TWICE = [Event(5, TEXT | MALFORMED) if event.text in (5, 9) else event for event in ANSWER]


def told(came: list[Event], taken: list[Event], lost: int | None = None) -> tuple[str, list[tuple[Any, ...]]]:
    """Integrity; kind, suspects, confidence, count of each finding where a parser handed these events on."""
    blocks = path(None, came, came, handed_on(taken), parsed=How("parsed", delivers=ALL_PARTS & ~TERMINAL))
    if lost is not None:
        made = How("wire", expected=("egress", "parsed")).blocks(came, (4, 8))
        blocks = [*(block for block in blocks if block.point == "parsed"), *(b for b in made if b.index != lost)]
    verdict = judge(blocks, settled=True)
    found = [(f["kind"], f["suspects"], f["confidence"], f["count"]) for f in verdict["findings"]]
    return verdict["integrity"], found


def without(*texts: int) -> Callable[[list[Event]], list[Event]]:
    """Parsers that leave out these events."""
    return lambda came: [event for event in came if event.text not in texts]


def test_a_reader_that_takes_it() -> None:
    """With a replacement for the odd bytes it is the same event: nothing is missing."""
    assert told(ODD, ODD) == ("intact", [])


@pytest.mark.parametrize(
    "parser",
    [without(5), lambda came: [Event(500) if event.text == 5 else event for event in came]],
    ids=["leaves it out", "decodes it otherwise"],
)
def test_a_reader_that_does_not(parser: Callable[[list[Event]], list[Event]]) -> None:
    """It is as right; so nothing is proven, and where the bytes are in order the same is its fault."""
    assert told(ODD, parser(ODD)) == ("unproven", [])
    integrity, found = told(ANSWER, parser(ANSWER))
    assert integrity == "damaged"
    assert found[0][1] == ["parser"]


@pytest.mark.parametrize(
    ("parser", "found"),
    [
        (without(8), ("gap", ["parser"], "certain", 1)),
        (without(4, 5, 6), ("gap", ["parser"], "certain", 2)),
        (without(5, 8), ("gap", ["parser"], "certain", 1)),
        (lambda came: [*came[:9], came[8], *came[9:]], ("duplicate", ["parser"], "certain", 1)),
    ],
    ids=["another", "others around it", "it and another", "another twice"],
)
def test_what_happened_to_other_events(parser: Callable[[list[Event]], list[Event]], found: tuple[Any, ...]) -> None:
    """Is told as ever, and counted without the odd one."""
    assert told(ODD, parser(ODD)) == ("damaged", [found])


def test_the_row_that_would_tell_is_lost() -> None:
    """An event that is missing may be the odd one, as its totals say that there was one."""
    assert told(ODD, without(5)(ODD), lost=1) == ("unproven", [])
    assert told(ANSWER, without(5)(ANSWER), lost=1)[0] == "damaged"


def test_a_value_that_is_told_may_be_the_odd_one_where_its_row_is_lost() -> None:
    """Gateway out → parsed, around a record without its end: what is missing has a digest, and no row tells more."""
    made = How("egress", expected=("wire", "parsed")).blocks(ODD, (4, 8))
    wire = How("wire", expected=("egress", "parsed")).blocks(ODD, (4, 8))
    parsed = How("parsed", delivers=ALL_PARTS & ~TERMINAL).blocks(handed_on(without(5)(ODD)))
    held = [*(b for b in made if b.index != 1), *(b for b in wire if not b.final), *parsed]
    assert judge(held, settled=True)["findings"] == []


def test_as_many_as_there_were() -> None:
    """Two odd events that say the same may both be left out, and a third one not."""
    assert told(TWICE, without(5)(TWICE)) == ("unproven", [])
    thrice = [*TWICE[:3], Event(5), *TWICE[3:]]
    assert told(thrice, without(5)(thrice))[1] == [("gap", ["parser"], "certain", 1)]


def message(*inputs: tuple[str, ...]) -> list[bytes]:
    """An answer of Anthropic's that says something and makes calls, each with these pieces of its input."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m", "role": "assistant"}}]
    blocks = [
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": word} for word in ("Let ", "me ", "see.")])
    ]
    for n, pieces in enumerate(inputs):
        start = {"type": "tool_use", "id": f"t{n}", "name": f"f{n}", "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]))
    for n, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": n, "content_block": start})
        events += [{"type": "content_block_delta", "index": n, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": n})
    events += [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


CALLED = message(('{"a"', ":1}"), (), ('{"b"', ":2}"))
"""The second of three calls has no arguments; its end stands at 12."""


def leaves_out(*which: Callable[[int, Any], bool]) -> Callable[[Iterator[bytes]], Iterator[Any]]:
    """A parser that leaves out the events of which one of these holds."""

    def parse(pieces: Iterator[bytes]) -> Iterator[Any]:
        for at, event in enumerate(proper()(pieces)):
            if not any(leave(at, event) for leave in which):
                yield event

    return parse


def ends_a_block(_: int, event: Any) -> bool:
    """Which many have no use for."""
    return str(event["type"]) == "content_block_stop"


def passes_over_ends(events: Iterator[Any], answer: Applied) -> None:
    """An application that has no use for them."""
    for event in events:
        if not ends_a_block(0, event):
            answer.report(event)


def called(**changes: Any) -> tuple[str, list[tuple[Any, ...]]]:
    """Integrity; kind, suspects, count of each finding."""
    play = Play(CALLED, **({"parser": proper()} | changes), sent=CALLED, upstream=CALLED, path="/v1/messages")
    verdict = Stream().play(play).verdict()
    return verdict["integrity"], [(f["kind"], f["suspects"], f["count"]) for f in verdict["findings"]]


def test_the_end_of_a_call_without_arguments() -> None:
    """Whoever has no use for ends of blocks lost none of its arguments."""
    assert called() == ("intact", [])
    assert called(parser=leaves_out(ends_a_block)) == ("unproven", [])
    assert called(parser=leaves_out(ends_a_block), delivers=()) == ("unproven", [])
    assert called(reducer=passes_over_ends) == ("intact", [])


def test_other_pieces_beside_such_an_end() -> None:
    """A lost piece of another call is lost, by the parser or by the application."""
    lost = ("damaged", [("gap", ["parser"], 1)])
    assert called(parser=leaves_out(lambda at, _: at == 8)) == lost
    assert called(parser=leaves_out(ends_a_block, lambda at, _: at == 8)) == lost

    def skips(events: Iterator[Any], answer: Applied) -> None:
        passes_over_ends((event for at, event in enumerate(events) if at != 8), answer)

    assert called(reducer=skips) == ("damaged", [("gap", ["reducer"], 1)])


def test_a_call_whose_arguments_were_lost_seems_to_have_had_none() -> None:
    """The end of its block then says `{}`, which follows from the loss, and which nobody made up."""

    def arguments(_: int, event: Any) -> bool:
        return event.get("delta", {}).get("type") == "input_json_delta"

    found = called(parser=leaves_out(arguments))
    assert (found[0], {kind for kind, *_ in found[1]} <= {"gap", "tail"}) == ("damaged", True)
