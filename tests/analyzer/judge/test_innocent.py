"""Odd but legal streams that once accused somebody: each was met on real sockets, and nobody is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streamwitness.semconv import ERROR, FINISH, FINISH_REASONS_ATTRIBUTE, PROVIDER_NAME, REASONING, TERMINAL, TEXT
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.build import (
    DELIVERED_BY_SDK,
    FINISHED,
    LEG,
    Event,
    How,
    answer,
    handed_on,
    path,
    recorder_id,
    used,
)

ANSWER = answer(range(1, 21))
DONE, ERROR_EVENT = Event(parts=TERMINAL), Event(parts=ERROR)
STOPPED = "stopped_at_terminal"
BY_SDK = How("parsed", end=STOPPED, delivers=DELIVERED_BY_SDK)


def findings(verdict: dict[str, Any]) -> list[tuple[str, list[str], str]]:
    """Kind, suspects and confidence of each finding."""
    return [(f["kind"], f["suspects"], f["confidence"]) for f in verdict["findings"]]


@pytest.mark.parametrize("level", ["digests", "rows"])
@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ([*ANSWER[:7], ERROR_EVENT, DONE], [*ANSWER[:7], ERROR_EVENT]),
        ([*ANSWER, DONE], ANSWER),
        ([*ANSWER, Event(77), DONE], ANSWER),
    ],
    ids=["error, then [DONE]", "[DONE] twice", "more after [DONE]"],
)
def test_what_comes_after_the_clients_stop_was_not_lost(sent: list[Event], read: list[Event], level: str) -> None:
    """A client that stops at an error or at the first terminator leaves the rest unread."""
    wire = How("wire", end=STOPPED, level=level)
    handed = handed_on(read)
    verdict = judge(path(sent, sent, read, handed, used(handed), wire=wire, parsed=BY_SDK), settled=True)
    assert findings(verdict) == []


def test_one_terminator_at_the_end_still_makes_the_client_accountable() -> None:
    """The same stop, where nothing was to come any more: an event that is missing before it was lost."""
    read = [*ANSWER[:7], *ANSWER[8:]]
    verdict = judge(path(ANSWER, ANSWER, read, wire=How("wire", end=STOPPED)), settled=True)
    assert findings(verdict) == [("gap", ["transport"], "certain")]


@pytest.mark.parametrize("end", ["disconnected", "raised"])
def test_a_gateway_that_cuts_an_event_in_two_when_its_client_leaves(end: str) -> None:
    """New events may be the old one in pieces of which the last was never sent."""
    sent = [*ANSWER[:5], Event(501), Event(502)]
    egress = How("egress", end=end, legs=(LEG,))
    verdict = judge(path(ANSWER, sent, None, egress=egress), settled=True)
    assert findings(verdict) == []


@pytest.mark.parametrize("told", ["event", "finish"])
def test_a_terminator_behind_an_error_that_is_told_is_not_invented(told: str) -> None:
    """A gateway that says that its upstream broke may end its own answer properly."""
    said = ERROR_EVENT if told == "event" else Event(FINISHED + 1, FINISH)
    extra = ((FINISH_REASONS_ATTRIBUTE, ("error",)),)
    egress = How("egress", legs=(LEG,), complete=False, extra=extra)
    verdict = judge(path(ANSWER[:9], [*ANSWER[:9], said, DONE], None, egress=egress), settled=True)
    assert findings(verdict) == []


def test_a_complete_side_call_does_not_clear_the_upstream() -> None:
    """The answer stops early, and the one upstream response on record is another one: who cut it is not known."""
    side, sent = answer(range(300, 320)), ANSWER[:9]
    verdict = judge(path(side, sent, sent, egress=How("egress", legs=(LEG,), complete=False)), settled=True)
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("upstream_truncated", None)


def test_a_parser_that_raises_is_not_the_applications_code() -> None:
    """`applied` ends as the stream that it reads: the parser raised first."""
    handed = handed_on(ANSWER)[:6]
    blocks = path(
        ANSWER, ANSWER, ANSWER, handed, used(handed),
        parsed=How("parsed", end="raised", delivers=DELIVERED_BY_SDK),
        applied=How("applied", end="raised", of="parsed"),
    )  # fmt: skip
    assert judge(blocks, settled=True)["ending"]["class"] == "client_parser_abort"


def test_a_reducer_that_raises_is() -> None:
    """The parser was closed by the application, whose own code raised."""
    handed = handed_on(ANSWER)[:6]
    blocks = path(
        ANSWER, ANSWER, ANSWER, handed, used(handed), wire=How("wire", end="cancelled"),
        parsed=How("parsed", end="cancelled", delivers=DELIVERED_BY_SDK),
        applied=How("applied", end="raised", of="parsed"),
    )  # fmt: skip
    assert judge(blocks, settled=True)["ending"]["class"] == "client_reducer_abort"


@pytest.mark.parametrize("where", ["ingress", "egress"])
def test_events_that_only_one_side_could_read(where: str) -> None:
    """An event too long to be read here and not there: it is among the judged ones at one point only."""
    odd = [replace(event, text=0, parts=1 << 14) if i == 9 else event for i, event in enumerate(ANSWER)]
    read, sent = (odd, ANSWER) if where == "ingress" else (ANSWER, odd)
    blocks = path(read, sent, None)
    for block in blocks:
        block.totals["malformed"] = int(block.point == where)
    assert findings(judge(blocks, settled=True)) == []


def test_kinds_that_the_application_has_no_use_for() -> None:
    """Reasoning that is passed over in silence was not lost; text that is, was."""
    thought = [replace(event, parts=REASONING) for event in ANSWER[1:5]]
    events = [ANSWER[0], *thought, *ANSWER[5:]]
    handed = handed_on(events)
    kept = [event for event in used(handed) if not event.parts & REASONING]
    quiet = judge(path(events, events, events, handed, kept), settled=True)
    assert (findings(quiet), quiet["integrity"]) == ([], "unproven")
    lost = judge(path(events, events, events, handed, [*kept[:8], *kept[9:]]), settled=True)
    assert findings(lost) == [("gap", ["reducer"], "certain")]


def test_choices_that_the_application_has_no_use_for() -> None:
    """Of several choices it may want one only, or take them one after the other."""
    handed = handed_on(ANSWER)
    slots = ("0/text/0 00000000 30", "1/text/0 00000000 30")
    for kept in (used(handed)[::2], [*used(handed)[::2], *used(handed)[1::2]]):
        parsed = How("parsed", delivers=DELIVERED_BY_SDK, slots=slots)
        verdict = judge(path(ANSWER, ANSWER, ANSWER, handed, kept, parsed=parsed), settled=True)
        assert (findings(verdict), verdict["integrity"]) == ([], "unproven")


@pytest.mark.parametrize("left_out", [FINISH, REASONING])
def test_a_watched_parser_that_filters(left_out: int) -> None:
    """What it never hands on at all it may leave out by design; what it does, it must hand on whole."""
    events = [replace(event, parts=REASONING) if i in (2, 3) else event for i, event in enumerate(ANSWER)]
    handed = [event for event in handed_on(events) if not event.parts & left_out]
    filters = How("parsed", delivers=0)
    assert findings(judge(path(events, events, events, handed, parsed=filters), settled=True)) == []
    whole = handed_on(events)
    lossy = judge(path(events, events, events, [*whole[:9], *whole[10:]], parsed=filters), settled=True)
    assert findings(lossy) == [("gap", ["parser"], "certain")]


def test_a_parser_that_joins_events() -> None:
    """The same content in other pieces: nothing was lost."""
    slots = ("0/text/0 0badcafe 60",)
    joined = [*ANSWER[:4], Event(900, TEXT), *ANSWER[6:-1]]
    wire, parsed = How("wire", slots=slots), How("parsed", delivers=0, slots=slots)
    verdict = judge(path(ANSWER, ANSWER, ANSWER, joined, wire=wire, parsed=parsed), settled=True)
    assert (findings(verdict), verdict["integrity"]) == ([], "intact")


def test_an_unknown_format_that_a_gateway_rewrites() -> None:
    """Where only framing is known, every field counts as content: an id that changes is no word that does."""
    unknown = ((PROVIDER_NAME, "unknown"),)
    how = {"ingress": How("ingress", leg=0, extra=unknown), "egress": How("egress", legs=(LEG,), extra=unknown)}
    rewritten = [*ANSWER[:6], Event(700), *ANSWER[7:]]
    assert findings(judge(path(ANSWER, rewritten, None, **how), settled=True)) == []
    swallowed = [*ANSWER[:6], *ANSWER[7:]]
    assert findings(judge(path(ANSWER, swallowed, None, **how), settled=True)) == [("gap", ["gateway"], "certain")]


def test_an_answer_made_of_two_attempts() -> None:
    """A gateway that goes on with the rest of another answer where the first one broke: it said what it read."""
    first, second = ANSWER[:5], [ANSWER[0], *(Event(600 + i) for i in range(19)), *ANSWER[-2:]]
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    blocks = path(None, [*first, *second[5:]], None, egress=How("egress", legs=legs, expected=("ingress",)))
    for number, read in enumerate((first, second)):
        blocks += How("ingress", leg=number).blocks(read)
    verdict = judge(blocks, settled=True)
    assert (findings(verdict), verdict["integrity"]) == ([], "unproven")
