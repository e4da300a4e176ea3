"""Who is suspected: one rule over what is proven at each point (docs/design.md §7.1 and rule 9 of §7.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import (
    DELIVERED_BY_SDK,
    FINISHED,
    Event,
    How,
    answer,
    handed_on,
    path,
    summary,
    used,
    usual,
)
from streamwitness.blocks import Block
from streamwitness.semconv import (
    COMPONENTS,
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    MISFRAMED,
    PART,
    PENDING_BYTES,
    POINTS,
    Point,
)
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.judge.attribute import suspects

ANSWER = answer(range(1, 21))
LOST = [*ANSWER[:12], *ANSWER[13:]]


def told(blocks: list[Block]) -> list[tuple[Any, ...]]:
    """Kind, suspects and confidence of each finding."""
    verdict = judge(blocks, settled=True)
    return [(f["kind"], f["suspects"], f["confidence"]) for f in verdict["findings"]]


def three(egress: list[Event], wire: list[Event], parsed: list[Event]) -> list[Block]:
    """Gateway out, client received and client parsed, cut into blocks of ten."""
    return path(None, egress, wire, parsed, cuts=lambda n: [10])


def test_suspects_are_all_components_of_the_transition() -> None:
    """From the last point known in place to the next known not to be."""
    assert suspects("egress", "wire") == ("transport",)
    assert suspects("egress", "parsed") == ("transport", "parser")
    assert suspects("ingress", "applied") == ("gateway", "transport", "parser", "reducer")
    assert suspects("egress", "parsed", frozenset(("transport",))) == ("parser",)


def test_every_two_points_have_suspects() -> None:
    """Total over all pairs in path order, and never the source between instrumented points of ours."""
    for i, seen in enumerate(POINTS):
        for missing in POINTS[i + 1 :]:
            assert len(suspects(seen, missing)) == POINTS.index(missing) - i
            assert set(suspects(seen, missing)) <= set(COMPONENTS)


def test_a_point_that_does_not_testify_narrows() -> None:
    """The wire's record never came: transport or parser."""
    blocks = [b for b in three(ANSWER, LOST, handed_on(LOST)) if b.point != "wire"]
    assert told(blocks) == [("gap", ["transport", "parser"], "narrowed")]


def test_two_unproven_hops_are_bridged_and_narrowed() -> None:
    """Rule 9: the wire's closing block is lost, and what it held before says nothing of the fault."""
    blocks = [b for b in three(ANSWER, LOST, handed_on(LOST)) if not (b.point == "wire" and b.final)]
    assert told(blocks) == [("gap", ["transport", "parser"], "narrowed")]


def test_the_order_at_a_known_place_clears_the_transport() -> None:
    """The wire's first block shows event 5 in place, so only the parser can have lost it."""
    parsed = handed_on([*ANSWER[:5], *ANSWER[6:]])
    blocks = [b for b in three(ANSWER, ANSWER, parsed) if not (b.point == "wire" and b.final)]
    assert told(blocks) == [("gap", ["parser"], "certain")]


def test_an_intact_neighbour_makes_certain() -> None:
    """Rule 9: the transport is proven intact by its closing blocks, the wire's rows about event 12 are lost."""
    egress = How("egress", expected=("wire", "parsed")).blocks(ANSWER, (10,))
    wire = How("wire").blocks(ANSWER, (10, 20))
    parsed = How("parsed").blocks(handed_on(LOST), (15,))
    assert told([*egress, wire[0], wire[2], parsed[0]]) == [("gap_or_late", ["parser"], "certain")]


@pytest.mark.parametrize(
    ("end", "integrity"), [("stopped_at_terminal", "intact"), ("eof", "unproven")], ids=["read to it", "to some end"]
)
def test_unproven_hops_with_intact_points_around_are_proven(end: str, integrity: str) -> None:
    """Rule 10, the other way: what was sent was handed on; but that a terminator came, only who read to it knows."""
    parsed = How("parsed", end=end, delivers=DELIVERED_BY_SDK)
    blocks = path(None, ANSWER, ANSWER, handed_on(ANSWER), cuts=lambda n: [10], parsed=parsed)
    verdict = judge([b for b in blocks if not (b.point == "wire" and b.final)], settled=True)
    assert (verdict["integrity"], verdict["findings"]) == (integrity, [])


def test_around_an_unproven_hop_nobody_is_accused_of_what_came_behind_the_terminator() -> None:
    """A gateway that put it before the last texts: readers stop there."""
    early = [*ANSWER[:-4], ANSWER[-1], *ANSWER[-4:-1]]
    parsed = How("parsed", end="stopped_at_terminal", delivers=DELIVERED_BY_SDK)
    blocks = path(None, early, early, handed_on(early[:-3]), cuts=lambda n: [10], parsed=parsed)
    assert told([b for b in blocks if not (b.point == "wire" and b.final)]) == []


def test_seen_missing_and_seen_again_accuses_nobody() -> None:
    """The wire's own record must be wrong: it lacks what the parser handed on."""
    assert told(path(None, ANSWER, LOST, handed_on(ANSWER))) == [
        ("gap", [], "inconsistent"),
        ("fabricated", [], "inconsistent"),
    ]


def test_what_is_no_output_takes_nothing_back() -> None:
    """The gateway lost the finish, and somebody put an error in, at which the client stopped: these are two deeds."""
    sent = [event for event in ANSWER if not event.parts & FINISH]
    came = [*sent[:12], Event(parts=PART["error"], payload=99), *sent[12:]]
    parsed = How("parsed", end="raised")
    wire = How("wire", end="abandoned")
    blocks = path(ANSWER, sent, came, handed_on(sent[:12]), wire=wire, parsed=parsed)
    assert told(blocks) == [("gap", ["gateway"], "certain"), ("fabricated", ["transport"], "certain")]


def test_inconsistent_records_are_no_damage() -> None:
    """Nothing is proven about the stream."""
    verdict = judge(path(None, ANSWER, LOST, handed_on(ANSWER)), settled=True)
    assert (verdict["integrity"], verdict["confidence"]) == ("unproven", "inconsistent")
    assert verdict["summary"].endswith("one of these records is wrong, and nobody is accused.")


def test_two_components_at_fault_are_two_findings() -> None:
    """Each hop is judged alone."""
    parsed = handed_on([*LOST[:5], *LOST[6:]])
    verdict = judge(path(None, ANSWER, LOST, parsed), settled=True)
    assert [(f["suspects"], f["sequence"]) for f in verdict["findings"]] == [
        (["transport"], [12, 12]),
        (["parser"], [5, 5]),
    ]


def test_places_behind_an_earlier_loss_are_told_as_they_left_the_gateway() -> None:
    """The parser lost the event after the one that the transport had lost."""
    parsed = handed_on([*LOST[:15], *LOST[16:]])
    verdict = judge(path(None, ANSWER, LOST, parsed, used(parsed)), settled=True)
    assert [f["sequence"] for f in verdict["findings"]] == [[12, 12], [16, 16]]


def test_two_clients_of_one_exchange_are_judged_apart() -> None:
    """§7.1: rows are compared within one client process only."""
    both = path(None, ANSWER, LOST, handed_on(LOST))
    other = How("wire", witness="d" * 16).blocks(ANSWER)
    other += How("parsed", witness="d" * 16).blocks(handed_on(ANSWER))
    verdict = judge([*both, *other], settled=True)
    assert [(f["suspects"], f["kind"]) for f in verdict["findings"]] == [(["transport"], "gap")]


def test_the_gateways_fault_is_told_once_for_two_clients() -> None:
    """Both paths lead through it."""
    both = path(ANSWER, LOST, LOST)
    other = How("wire", witness="d" * 16).blocks(LOST)
    assert told([*both, *other]) == [("gap", ["gateway"], "certain")]


def test_a_parser_owes_nothing_when_the_stream_was_stopped_under_it() -> None:
    """The client cancelled at the wire; the parser's iterator ended quietly with events still in it."""
    blocks = path(None, ANSWER, ANSWER[:15], ANSWER[:10], wire=How("wire", end="cancelled"))
    verdict = judge(blocks, settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


def test_a_parser_that_withholds_content_by_design_is_not_compared() -> None:
    """`delivers` without text: nothing was promised."""
    withheld = How("parsed", delivers=1)
    blocks = path(None, ANSWER, ANSWER, [ANSWER[0]], parsed=withheld)
    verdict = judge(blocks, settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("delivers", [True, False])
def test_an_error_event_is_lost_only_by_a_parser_that_hands_errors_on(delivers: bool) -> None:
    """Of the uncounted parts the error is a finding, where the point delivers it."""
    error = [*ANSWER[:6], Event(parts=1 << 11)]
    parsed = How("parsed") if delivers else How("parsed", delivers=0x7FFF & ~(1 << 11))
    found = told(path(None, error, error, ANSWER[:6], parsed=parsed))
    assert found == ([("gap", ["parser"], "certain")] if delivers else [])


def test_a_finish_that_is_missing_is_not_intact_because_a_row_is_lost() -> None:
    """Of the client's closing block only the summary came, so nobody knows what stood behind the terminator."""
    slots = ("0/text/0 00c0ffee 24",)
    events = answer(range(1, 9))
    points: tuple[Point, ...] = ("ingress", "egress", "wire", "parsed")
    hows: dict[str, Any] = {point: replace(usual(point), slots=slots) for point in points}
    handed = [event for event in handed_on(events) if event.text != FINISHED]
    blocks = path(events, events, events, handed, **hows)
    thinned = [summary(b) if b.point == "wire" and b.final else b for b in blocks]
    assert judge(blocks, settled=True)["integrity"] == "damaged"
    assert judge(thinned, settled=True)["integrity"] != "intact"


SLOTS = ("0/text/0 00c0ffee 60",)


def parsed_as(sent: list[Event], handed: list[Event], *, finish: str = "stop", delivers: int = 0) -> dict[str, Any]:
    """The verdict on a parser that handed on the same texts; `finish`: why they ended, as it says."""
    stopped = ((FINISH_REASONS_ATTRIBUTE, ("stop",)),)
    parsed = How("parsed", slots=SLOTS, delivers=delivers, extra=((FINISH_REASONS_ATTRIBUTE, (finish,)),))
    egress, wire = How("egress", slots=SLOTS, extra=stopped), How("wire", slots=SLOTS, extra=stopped)
    return judge(path(None, sent, sent, handed, egress=egress, wire=wire, parsed=parsed), settled=True)


@pytest.mark.parametrize("delivers", [0, DELIVERED_BY_SDK], ids=["nobody described it", "described"])
def test_equal_texts_do_not_hide_a_finish_that_came_out_as_another(delivers: int) -> None:
    """The digests of all content say nothing of why an answer ended."""
    other = [replace(event, text=FINISHED + 1) if event.text == FINISHED else event for event in handed_on(ANSWER)]
    verdict = parsed_as(ANSWER, other, finish="length", delivers=delivers)
    assert [(f["kind"], f["count"], f["suspects"]) for f in verdict["findings"]] == [("altered", 1, ["parser"])]
    joined = [*other[:4], Event(900), *other[6:]]
    assert parsed_as(ANSWER, joined, finish="length", delivers=delivers)["integrity"] == "unproven"
    assert parsed_as(ANSWER, [*handed_on(ANSWER)[:4], Event(900), *handed_on(ANSWER)[6:]])["integrity"] == "intact"


def test_a_finish_that_wants_tools_no_more_is_another_one() -> None:
    """The digest of a finish does not tell `tool_calls` from `stop`, what is told with it does."""
    handed = handed_on(ANSWER)
    finding = parsed_as(ANSWER, handed, finish="tool_calls", delivers=DELIVERED_BY_SDK)["findings"][0]
    assert (finding["kind"], finding["count"], finding["suspects"], finding["sequence"]) == (
        "altered", 1, ["parser"], [21, 21],
    )  # fmt: skip
    assert parsed_as(ANSWER, handed, delivers=DELIVERED_BY_SDK)["integrity"] == "intact"


@pytest.mark.parametrize("behind", [Event(parts=PART["ping"]), Event(parts=PART["terminal"])], ids=["ping", "terminal"])
def test_what_follows_the_terminator_does_not_excuse_a_finish_lost_before_it(behind: Event) -> None:
    """Only what stands behind the terminator nobody has to hand on, and nobody may hand on a finish twice."""
    sent = [*ANSWER, behind]
    handed = [event for event in handed_on(sent) if event.text != FINISHED]
    assert parsed_as(sent, handed, delivers=DELIVERED_BY_SDK)["integrity"] == "damaged"
    twice = [*handed_on(ANSWER), Event(FINISHED, FINISH)]
    assert parsed_as(sent, twice, delivers=DELIVERED_BY_SDK)["integrity"] == "damaged"
    late = [*ANSWER[:-2], ANSWER[-1], ANSWER[-2]]
    assert parsed_as(late, handed, delivers=DELIVERED_BY_SDK)["integrity"] == "intact"


def test_another_clients_record_does_not_stand_in_for_a_lost_one() -> None:
    """Each process announces its own points; what reached the wire of this one nobody knows."""
    both = path(None, ANSWER, ANSWER, handed_on(ANSWER))
    announced: tuple[Point, ...] = ("wire", "parsed")
    other = How("parsed", witness="d" * 16, expected=announced).blocks(handed_on(ANSWER))
    verdict = judge([*both, *other], settled=True)
    assert (verdict["integrity"], verdict["telemetry"]["missing_points"]) == ("unproven", ["wire"])


def test_what_a_gateway_sent_behind_its_terminator_no_parser_lost() -> None:
    """Also where nothing of the wire is held."""
    early = [*ANSWER[:-4], ANSWER[-1], *ANSWER[-4:-1]]
    parsed = How("parsed", end="stopped_at_terminal", delivers=DELIVERED_BY_SDK)
    assert told(path(None, early, None, handed_on(early[:-3]), parsed=parsed)) == []


def test_of_a_parser_that_cuts_the_content_anew_no_pieces_are_counted() -> None:
    """It lost one piece of what it joined: that the content differs is all that is known."""
    joined = [*handed_on(ANSWER)[:4], Event(900), *handed_on(ANSWER)[7:]]
    parsed = How("parsed", slots=("0/text/0 000000aa 57",), delivers=0)
    verdict = judge(path(None, None, ANSWER, joined, wire=How("wire", slots=SLOTS), parsed=parsed), settled=True)
    assert [(f["kind"], f["count"], f["exact"], f["suspects"]) for f in verdict["findings"]] == [
        ("altered", 1, False, ["parser"])
    ]


def test_a_finish_lost_by_a_parser_that_cuts_the_content_anew() -> None:
    """The content is the same, and an answer that finished does so no more."""
    joined = [*ANSWER[:4], Event(900), *ANSWER[6:-2], Event(FINISHED, FINISH)]
    sent = [*ANSWER[:-2], Event(FINISHED, FINISH), *ANSWER[-2:]]
    verdict = parsed_as(sent, joined)
    assert [(f["kind"], f["count"], f["suspects"]) for f in verdict["findings"]] == [("gap", 1, ["parser"])]


def test_pieces_that_are_there_more_often_than_is_known_are_new_ones() -> None:
    """A parser that nobody described joined two pieces to one that also stands elsewhere; the end of A is not held."""
    sent = answer([1, 2, 3, 4, 5, 5, 6, 7])
    handed = [Event(parts=ANSWER[0].parts), *(Event(w) for w in (1, 2, 2, 5, 5, 6, 7)), Event(FINISHED, FINISH)]
    parsed = How("parsed", slots=SLOTS, delivers=0)
    blocks = path(None, None, sent, handed, wire=How("wire", slots=SLOTS), parsed=parsed, cuts=lambda n: [n - 1])
    assert told([b for b in blocks if not (b.point == "wire" and b.final)]) == []


def test_output_behind_the_finish_is_no_other_cut_of_the_content() -> None:
    """Whoever stops at the finish has not had it, though every slot is equal."""
    handed = handed_on(ANSWER)
    early = [*handed[:-3], Event(900), handed[-1], Event(901)]
    assert parsed_as(ANSWER, early)["integrity"] == "unproven"
    assert parsed_as(ANSWER, [*handed[:-3], Event(900), Event(901), handed[-1]])["integrity"] == "intact"


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1)], ids=str)
def test_of_a_parser_that_cuts_anew_what_rows_do_not_show_is_no_loss(lost: tuple[int, ...]) -> None:
    """It joined pieces, one of which it lost, and rows of what came to it are lost: never "16 events lost"."""
    joined = [ANSWER[0], *(Event(900 + i) for i in range(9)), *handed_on(ANSWER)[20:]]
    parsed = How("parsed", slots=("0/text/0 000000aa 57",), delivers=0)
    blocks = path(None, ANSWER, ANSWER, joined, wire=How("wire", slots=SLOTS), parsed=parsed, cuts=lambda _n: [8, 15])
    verdict = judge([b for b in blocks if b.point != "wire" or b.index not in lost], settled=True)
    assert {(f["kind"], f["count"], f["exact"]) for f in verdict["findings"]} == {("altered", 1, False)}


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("lost", ["its end", "all of it", "none was to be"])
def test_what_is_no_output_and_came_oftener_or_never_clears_nobody(times: int, lost: str) -> None:
    """No sum of output has it, nor in which order it came; where nobody was to tell that, the output has to do."""
    handed = [*[ANSWER[0]] * times, *handed_on(ANSWER)[1:]]
    parsed = How("parsed", end="stopped_at_terminal", delivers=DELIVERED_BY_SDK)
    told = ("egress", "parsed") if lost == "none was to be" else None
    blocks = path(None, ANSWER, ANSWER, handed, parsed=parsed, expected=told, cuts=lambda _n: [10])
    verdict = judge([b for b in blocks if b.point != "wire" or (lost == "its end" and not b.final)], settled=True)
    assert verdict["findings"] == []
    assert ("transport" in verdict["why"]["cleared"]) == (times == 1 and lost == "none was to be")


def test_the_pieces_of_a_parser_are_not_held_against_the_transport() -> None:
    """Rule 10: its texts are equal, so it lost nothing, and what it cut anew differs from what the gateway sent."""
    letters = [ANSWER[0], *(Event(900 + i) for i in range(25)), *handed_on(ANSWER)[-1:]]
    parsed = How("parsed", slots=SLOTS, delivers=DELIVERED_BY_SDK)
    blocks = path(None, ANSWER, ANSWER, letters, wire=How("wire", slots=SLOTS), parsed=parsed, cuts=lambda _n: [8, 15])
    assert told(blocks) == []
    assert told([b for b in blocks if not (b.point == "egress" and b.final)]) == []


@pytest.mark.parametrize("seen", ["egress", "wire"])
def test_a_body_that_was_misread_anywhere_is_compared_with_none(seen: str) -> None:
    """Rule 10: each of the two may have found other events in it, whoever could tell that it was misframed."""
    read = [Event(200 + i) for i in range(20)]
    hows: dict[str, Any] = {seen: replace(usual(seen), extra=((MISFRAMED, "sse"),))}  # type: ignore[arg-type]
    blocks = path(None, read, read, [Event(300 + i) for i in range(20)], cuts=lambda _n: [10], **hows)
    assert told([b for b in blocks if b.point in (seen, "parsed") or not b.final]) == []


def test_what_may_have_been_misread_accuses_no_parser() -> None:
    """Whether a body of unknown lines is what it was announced as, a closing block tells, which is lost."""
    lines = [Event(200 + i, PART["other"]) for i in range(20)]
    found = [Event(300 + i, PART["other"]) for i in range(20)]
    cut = {"cuts": lambda _n: [10]}
    assert told([b for b in path(None, lines, lines, found, **cut) if not b.final]) == []  # type: ignore[arg-type]
    one_else = [*lines[:4], found[0], *lines[5:]]
    blocks = path(None, lines, lines, one_else, **cut)  # type: ignore[arg-type]
    assert told([b for b in blocks if not b.final]) == [("gap_or_late", ["parser"], "certain")]


@pytest.mark.parametrize(("swapped", "integrity"), [(True, "unproven"), (False, "intact")])
def test_a_terminator_that_was_handed_on_stands_where_it_was_sent(swapped: bool, integrity: str) -> None:
    """The end of the wire's record is lost, and no digest tells of the terminator: its place among the others does."""
    *rest, last, end = ANSWER
    came = [*rest, end, last] if swapped else ANSWER
    blocks = three(ANSWER, came, came)
    assert judge([b for b in blocks if not (b.point == "wire" and b.final)], settled=True)["integrity"] == integrity
    unseen = path(None, ANSWER, came, came, expected=("egress", "parsed"))
    assert judge([b for b in unseen if b.point != "wire"], settled=True)["integrity"] == integrity


@pytest.mark.parametrize(("came", "integrity"), [(40, "intact"), (12, "unproven"), (None, "unproven")])
def test_the_bytes_of_an_event_without_its_end_came_as_well(came: int | None, integrity: str) -> None:
    """Who was given less of it cannot take it, though to discard it is right as well; a lost record does not tell."""
    egress, wire = (How(p, extra=((PENDING_BYTES, n),) if n else ()) for p, n in (("egress", 40), ("wire", came)))
    blocks = path(None, ANSWER, ANSWER, ANSWER, egress=egress, wire=wire, cuts=lambda _n: [10])
    assert judge(blocks, settled=True)["integrity"] == integrity
    assert judge([b for b in blocks if not (b.point == "wire" and b.final)], settled=True)["integrity"] == "unproven"
