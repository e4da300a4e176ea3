"""Odd but legal streams that once accused somebody: each was met on real sockets, and nobody is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import (
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
from streamwitness.semconv import (
    ERROR,
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    PENDING_BYTES,
    PENDING_PARTS,
    PROVIDER_NAME,
    READ_OUT,
    REASONING,
    TERMINAL,
    TEXT,
)
from streamwitness_analyzer.judge import judge

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
    verdict = judge(blocks, settled=True)
    assert verdict["ending"]["class"] == "client_parser_abort"
    assert verdict["why"]["cleared"] == ["gateway", "transport", "reducer"]
    assert "no fault observed below source" not in verdict["summary"]
    told = [n["sentence"] for n in verdict["notes"] if n["kind"] == "undelivered"]
    assert told == ["16 events had come when the client's parser raised, and went no further."]


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


@pytest.mark.parametrize("behind", [[ERROR_EVENT], [ERROR_EVENT, DONE]], ids=["error", "error, then [DONE]"])
@pytest.mark.parametrize("wire", [True, False], ids=["wire", "no wire"])
def test_an_error_behind_the_terminator_is_nobodys_to_hand_on(behind: list[Event], wire: bool) -> None:
    """The upstream's connection breaks after `[DONE]`, and the gateway says so: no parser reads that far."""
    handed = handed_on(ANSWER)
    sent = [*ANSWER, DONE, *behind]
    verdict = judge(path(None, sent, sent if wire else None, handed, used(handed), parsed=BY_SDK), settled=True)
    assert findings(verdict) == []
    read = judge(path(sent, [*ANSWER, DONE], None), settled=True)
    assert findings(read) == []


def test_a_parser_that_stops_at_an_error_leaves_the_rest_to_nobody() -> None:
    """Where `parsed` is not on record, `applied` names what came at the client, and the error was an exception."""
    came = [*ANSWER[:7], ERROR_EVENT, *ANSWER[7:]]
    applied = How("applied", end=STOPPED, of="wire")
    verdict = judge(path(came, came, came, None, used(ANSWER[:7]), applied=applied), settled=True)
    assert findings(verdict) == []


@pytest.mark.parametrize("told", [True, False], ids=["choices told at gateway out", "told nowhere"])
def test_choices_are_not_known_while_no_closing_block_is_held(told: bool) -> None:
    """An application that takes one choice of two, in a process that vanishes."""
    handed = handed_on(ANSWER)
    slots = ("0/text/0 00000000 30", "1/text/0 00000000 30")
    egress = How("egress", slots=slots)
    blocks = path(None, ANSWER if told else None, ANSWER, handed, used(handed)[::2], egress=egress, cuts=lambda _: [12])
    verdict = judge([b for b in blocks if not b.final or b.point == "egress"], settled=True)
    assert findings(verdict) == []


def test_a_reducer_is_held_to_one_choice_that_is_told_before_it() -> None:
    """The closing block of `parsed` is lost, that of gateway out tells of one choice only."""
    handed = handed_on(ANSWER)
    kept = [*used(handed)[:5], *used(handed)[6:]]
    egress = How("egress", slots=("0/text/0 00000000 60",), legs=(LEG,))
    applied = How("applied", of="parsed", end="cancelled")
    blocks = path(ANSWER, ANSWER, ANSWER, handed, kept, egress=egress, applied=applied, cuts=lambda _: [12])
    verdict = judge([b for b in blocks if not b.final or b.point in ("ingress", "egress", "applied")], settled=True)
    assert findings(verdict) == [("gap_or_late", ["reducer"], "certain")]


@pytest.mark.parametrize("wire", [(), ("0/text/0 00000000 30", "1/text/0 11111111 30")])
def test_where_no_list_of_slots_came_there_may_be_several_choices(wire: tuple[str, ...]) -> None:
    """That of `parsed` was cut off: it says nothing of choices, and an application may want one of them only."""
    handed = handed_on(ANSWER)
    parsed = How("parsed", slots=(), delivers=DELIVERED_BY_SDK)
    kept = [event for at, event in enumerate(used(handed)) if at % 2]
    blocks = path(None, ANSWER, ANSWER, handed, kept, wire=How("wire", slots=wire), parsed=parsed)
    egress = [replace(b, slot_digests=()) if b.point == "egress" else b for b in blocks]
    assert findings(judge(egress, settled=True)) == []


def test_an_event_of_two_kinds_does_not_show_that_both_are_taken_up() -> None:
    """Text and reasoning in one event: to apply it may be to apply its text only."""
    both = replace(ANSWER[5], parts=TEXT | REASONING)
    events = [ANSWER[0], *(replace(event, parts=REASONING) for event in ANSWER[1:5]), both, *ANSWER[6:]]
    handed = handed_on(events)
    kept = [event for event in used(handed) if event.parts != REASONING]
    assert findings(judge(path(events, events, events, handed, kept), settled=True)) == []


@pytest.mark.parametrize("end", ["cancelled", "vanished"])
@pytest.mark.parametrize("wire", [True, False], ids=["wire", "no wire"])
def test_a_parser_that_splits_events_and_is_not_read_to_the_end(end: str, wire: bool) -> None:
    """Without the digests of all content a parser that nobody described may have cut it otherwise."""
    split = [*ANSWER[:4], Event(901), Event(902), *ANSWER[5:12]]
    hows = {"wire": How("wire", end="cancelled"), "parsed": How("parsed", end="cancelled", delivers=0)}
    blocks = path(ANSWER, ANSWER, ANSWER[:14] if wire else None, split, cuts=lambda _: [11], **hows)
    held = [b for b in blocks if end == "cancelled" or b.point in ("ingress", "egress") or not b.final]
    assert findings(judge(held, settled=True)) == []
    described = How("parsed", end="cancelled", delivers=DELIVERED_BY_SDK)
    verdict = judge(path(ANSWER, ANSWER, ANSWER[:14], split, **hows | {"parsed": described}), settled=True)
    assert {tuple(suspects) for _, suspects, _ in findings(verdict)} == {("parser",)}


def test_a_described_parser_that_hands_on_a_finish_too_early() -> None:
    """Slot by slot the content is the same, and still it came in another order."""
    slots = ("0/text/0 0badcafe 60",)
    handed = handed_on(ANSWER)
    early = [*handed[:-2], handed[-1], handed[-2]]
    wire, parsed = How("wire", slots=slots), How("parsed", delivers=DELIVERED_BY_SDK, slots=slots)
    verdict = judge(path(ANSWER, ANSWER, ANSWER, early, wire=wire, parsed=parsed), settled=True)
    assert findings(verdict) == [("reorder", ["parser"], "certain")]


@pytest.mark.parametrize("end", ["eof", "reset", "protocol_error"])
def test_one_that_reads_by_lines_takes_a_last_event_without_a_blank_line(end: str) -> None:
    """What the framing left over, however the body ended, was an event to them."""
    pending = ((PENDING_BYTES, 80),)
    ingress = How("ingress", leg=0, end=end, complete=False, extra=pending)
    assert findings(judge(path(ANSWER[:9], ANSWER[:10], None, ingress=ingress), settled=True)) == []
    wire = How("wire", complete=False, extra=pending)
    assert findings(judge(path(None, None, ANSWER[:9], ANSWER[:10], wire=wire), settled=True)) == []
    egress = How("egress", legs=(LEG,), complete=False)
    whole = ((PENDING_BYTES, 52), (PENDING_PARTS, TERMINAL))
    for left, innocent in ((((PENDING_BYTES, 13),), True), (whole, end == "eof"), (pending, False)):
        terminator = How("ingress", leg=0, end=end, complete=False, extra=left)
        verdict = judge(path(ANSWER[:9], [*ANSWER[:9], DONE], None, ingress=terminator, egress=egress), settled=True)
        assert (findings(verdict) == []) == innocent


def test_half_an_event_that_the_gateway_passes_on() -> None:
    """The upstream broke within an event: that it cannot be decoded is not the gateway's doing alone."""
    half = replace(Event(800, 1 << 14), text=0, result="malformed")
    ingress = How("ingress", leg=0, end="reset", complete=False, extra=((PENDING_BYTES, 20),))
    egress = How("egress", legs=(LEG,), complete=False)
    blocks = path(ANSWER[:9], [*ANSWER[:9], half], None, ingress=ingress, egress=egress)
    for block in blocks:
        block.totals["malformed"] = int(block.point == "egress")
    assert findings(judge(blocks, settled=True)) == []


def test_an_event_that_joins_the_end_of_one_attempt_and_the_beginning_of_the_next() -> None:
    """A gateway that joins pieces goes on where its first upstream broke."""
    first, second = ANSWER[:9], [Event(610), ANSWER[-1]]
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    sent = [*first[:-1], Event(611), ANSWER[-1]]
    blocks = path(None, sent, None, egress=How("egress", legs=legs, expected=("ingress",)))
    blocks += How("ingress", leg=0, complete=False).blocks(first) + How("ingress", leg=1).blocks(second)
    assert findings(judge(blocks, settled=True)) == []


def test_an_empty_answer_is_not_that_of_an_empty_attempt() -> None:
    """Another attempt brought content, and nothing of it was sent."""
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    blocks = path(None, [DONE], [DONE], egress=How("egress", legs=legs, expected=("ingress",), complete=False))
    blocks += How("ingress", leg=0, end="reset", complete=False).blocks([Event(parts=1)])
    blocks += How("ingress", leg=1).blocks(ANSWER)
    assert judge(blocks, settled=True)["integrity"] == "unproven"


@pytest.mark.parametrize("stop", ["cancelled", "timeout"])
def test_a_gateway_that_ends_its_answer_before_what_it_read(stop: str) -> None:
    """It stopped reading, and sent less than it had read: nothing says how much of it was due."""
    ingress = How("ingress", leg=0, end=stop, complete=False)
    egress = How("egress", legs=(LEG,), complete=False)
    verdict = judge(path(ANSWER[:9], ANSWER[:4], ANSWER[:4], ingress=ingress, egress=egress), settled=True)
    assert (findings(verdict), verdict["integrity"]) == ([], "unproven")


def test_finishes_are_counted_where_the_content_is_the_same() -> None:
    """One choice of two lost its finish; and a finish came of which the upstream knows nothing."""
    slots = ("0/text/0 0badcafe 30",)

    def how(point: str, *reasons: str) -> How:
        extra = ((FINISH_REASONS_ATTRIBUTE, reasons),) if reasons else ()
        leg = point == "ingress"
        legs = () if leg else (LEG,)
        return How("ingress" if leg else "egress", leg=0 if leg else None, legs=legs, slots=slots, extra=extra)

    finishes = [Event(FINISHED, FINISH), Event(FINISHED + 1, FINISH)]
    read, sent = [*ANSWER[:9], *finishes], [*ANSWER[:9], finishes[0]]
    two, one = how("ingress", "stop", "stop"), how("egress", "stop")
    assert findings(judge(path(read, sent, None, ingress=two, egress=one), settled=True)) == [
        ("gap", ["gateway"], "certain")
    ]
    verdict = judge(path(ANSWER[:9], sent, None, ingress=how("ingress"), egress=one), settled=True)
    assert findings(verdict) == [("fabricated", ["gateway"], "certain")]


def test_an_error_of_a_side_call_beside_an_empty_answer() -> None:
    """Two attempts without content and an answer without content: nothing says which of them it is."""
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    blocks = path(None, [Event(parts=1), DONE], None, egress=How("egress", legs=legs, expected=("ingress",)))
    blocks += How("ingress", leg=0, complete=False).blocks([Event(parts=1), DONE])
    blocks += How("ingress", leg=1, complete=False).blocks([ERROR_EVENT, DONE])
    verdict = judge(blocks, settled=True)
    assert (findings(verdict), verdict["integrity"]) == ([], "unproven")


def test_a_finish_behind_the_terminator_is_nobodys_to_hand_on() -> None:
    """A parser that cuts the content anew stops at the first terminator, as every parser does."""
    slots = ("0/text/0 0badcafe 60",)
    joined = [*ANSWER[:4], Event(900, TEXT), *ANSWER[6:-1]]
    sent = [*ANSWER, Event(FINISHED + 1, FINISH), DONE]
    egress, parsed = How("egress", slots=slots), How("parsed", delivers=0, slots=slots)
    assert findings(judge(path(None, sent, None, joined, egress=egress, parsed=parsed), settled=True)) == []


def test_a_gateway_that_stops_and_had_only_added() -> None:
    """New content, nothing missing, and marks that differ: there is a verdict, and no exception."""
    sent = [*ANSWER[:9], Event(700), *ANSWER[9:12]]
    marks = {"ingress": b"\x01\x00\x00\x00aaaa", "egress": b"\x01\x00\x00\x00bbbb"}
    blocks = path(ANSWER[:12], sent, None, egress=How("egress", end="disconnected", legs=(LEG,)))
    marked = [replace(block, content_marks=marks[block.point]) for block in blocks]
    assert {tuple(suspects) for _, suspects, _ in findings(judge(marked, settled=True))} <= {("gateway",)}


def test_an_error_that_did_not_come_is_not_bridged() -> None:
    """The record at `wire` does not decide; the judged events are equal, and an error is missing."""
    sent = [*ANSWER[:7], ERROR_EVENT, DONE]
    parsed = How("parsed", delivers=DELIVERED_BY_SDK, complete=False)
    blocks = path(None, sent, sent[:7], ANSWER[:7], parsed=parsed, cuts=lambda _: [3])
    held = [b for b in blocks if not (b.point == "wire" and b.final)]
    assert judge(held, settled=True)["integrity"] == "unproven"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"delivers": 0}, []),
        ({"watched": True}, []),
        ({"watched": True, "extra": ((READ_OUT, True),)}, [("tail", ["transport", "parser"], "narrowed")]),
        ({}, [("tail", ["transport", "parser"], "narrowed")]),
    ],
    ids=["nobody described it", "somebody watches it", "it was given all", "its SDK is hooked"],
)
def test_a_parser_that_may_have_had_enough(told: dict[str, Any], expected: list[Any]) -> None:
    """Where the client's record of the body is lost, one that returned early ends as one that was given less."""
    early = How("parsed", **{"delivers": DELIVERED_BY_SDK, **told})
    verdict = judge(path(ANSWER, ANSWER, None, handed_on(ANSWER[:9]), parsed=early), settled=True)
    assert findings(verdict) == expected


@pytest.mark.parametrize(("read_out", "kinds"), [(None, []), (True, ["tail"])])
def test_a_parser_that_returns_though_the_terminator_has_come(read_out: bool | None, kinds: list[str]) -> None:
    """It may have come in the same piece as the last event that the application wanted."""
    wire = How("wire", end="stopped_at_terminal")
    enough = How(
        "parsed", watched=True, end="stopped_at_terminal", delivers=DELIVERED_BY_SDK, extra=((READ_OUT, read_out),)
    )
    blocks = path(ANSWER, ANSWER, ANSWER, handed_on(ANSWER[:9]), wire=wire, parsed=enough)
    verdict = judge(blocks, settled=True)
    assert [kind for kind, *_ in findings(verdict)] == kinds
    assert verdict["integrity"] == ("damaged" if kinds else "unproven")
