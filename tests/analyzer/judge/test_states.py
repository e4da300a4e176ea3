"""What ends are taken for, with a rule for completion and without; and who stopped behind an answer that arrived."""

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
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, OBSERVER_FAULT, PING, STATUS_CODE, TERMINAL, Point
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 13))
CLIENT: tuple[Point, ...] = ("wire", "parsed", "applied")
DONE = Event(parts=TERMINAL)


def without_rule(blocks: list[Block]) -> list[Block]:
    """The same, told by a profile that has no completion rule."""
    return [replace(block, complete=None) for block in blocks]


@pytest.mark.parametrize("end", ["eof", "stopped_at_terminal"])
@pytest.mark.parametrize(
    ("below", "ending"),
    [("raised", "client_parser_abort"), ("cancelled", "client_cancelled"), ("eof", "completed")],
)
def test_what_stops_behind_an_answer_that_arrived_is_no_lost_network(end: str, below: str, ending: str) -> None:
    """The whole body was read before the parser or the application gave up on it, or lost its end."""
    wire = How("wire", end=end)
    parsed, applied = How("parsed", end=below, delivers=DELIVERED_BY_SDK), How("applied", end=below, of="parsed")
    handed = handed_on(ANSWER)[:6]
    verdict = judge(
        path(ANSWER, ANSWER, ANSWER, handed, used(handed), wire=wire, parsed=parsed, applied=applied), settled=True
    )
    assert verdict["ending"]["class"] == ending
    assert not any("transport" in finding["suspects"] for finding in verdict["findings"])


@pytest.mark.parametrize("terminal", [(), (DONE,)], ids=["plain", "[DONE]"])
@pytest.mark.parametrize("client_only", [False, True])
def test_a_format_without_a_known_rule_is_complete_at_a_clean_end(
    terminal: tuple[Event, ...], client_only: bool
) -> None:
    """Nobody here can say whether it was whole, so nobody is said to have cut it."""
    events = [*(Event(word) for word in range(1, 11)), *terminal]
    parsed = handed_on(events)
    before = None if client_only else events
    verdict = judge(without_rule(path(before, before, events, parsed, used(parsed))), settled=True)
    assert (verdict["ending"]["class"], verdict["integrity"], verdict["findings"]) == ("completed", "intact", [])


def test_a_format_without_a_known_rule_can_still_be_cut() -> None:
    """By a reset, and by a body without a single event."""
    got = [Event(word) for word in range(1, 6)]
    reset = How("wire", end="reset"), How("parsed", end="reset"), How("applied", end="reset", of="parsed")
    broken = path(None, None, got, got, used(got), **{how.point: how for how in reset})
    assert judge(without_rule(broken), settled=True)["ending"]["class"] == "network_lost"
    assert judge(without_rule(path(None, None, [])), settled=True)["ending"]["class"] == "upstream_truncated"


FAULT = ((OBSERVER_FAULT, "ValueError"),)


@pytest.mark.parametrize("end", ["eof", "reset", "protocol_error", "cancelled"])
@pytest.mark.parametrize("point", ["ingress", "egress", "wire"])
def test_who_stopped_observing_cuts_nothing_off(point: Point, end: str) -> None:
    """What an observer of ours did not see any more, because of a fault of its own, nobody is said to have lost."""
    lists: dict[Point, Any] = {"ingress": ANSWER, "egress": ANSWER, "wire": ANSWER, point: ANSWER[:5]}
    how = How(
        point, end="disconnected" if (point, end) == ("egress", "cancelled") else end, complete=False, extra=FAULT,
        leg=0 if point == "ingress" else None, legs=(LEG,) if point == "egress" else (),
    )  # fmt: skip
    for blind in (lists, {**lists, "wire": None} if point != "wire" else {**lists, "egress": None}):
        changes: dict[str, Any] = {point: how}
        verdict = judge(path(blind["ingress"], blind["egress"], blind["wire"], **changes), settled=True)
        assert verdict["findings"] == []
        assert (verdict["ending"]["class"], verdict["ending"]["by"]) in ENDED_UNSEEN


ENDED_UNSEEN = {("completed", "source"), ("completed", None), ("unwitnessed", None)}
"""Endings that accuse nobody."""


def test_a_gateway_that_raises_with_nothing_seen_of_its_upstream() -> None:
    """It may have had every reason."""
    verdict = judge(path(None, ANSWER[:5], None, egress=How("egress", end="raised", complete=False)), settled=True)
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("gateway_error", None)


@pytest.mark.parametrize(
    ("sent", "ending", "by"), [(8, "gateway_truncated", "gateway"), (3, "upstream_truncated", None)]
)
def test_a_gateway_that_ends_before_what_it_had_read(sent: int, ending: str, by: str | None) -> None:
    """It stopped reading a whole answer and ended its own in order. Two words are the beginning of many answers."""
    ends = {"ingress": How("ingress", leg=0, end="cancelled"), "egress": How("egress", legs=(LEG,), complete=False)}
    told = judge(path(ANSWER, ANSWER[:sent], ANSWER[:sent], **ends), settled=True)
    assert (told["ending"]["class"], told["ending"]["by"]) == (ending, by)


UNFINISHED = [*ANSWER[:-2], ANSWER[-1]]


@pytest.mark.parametrize("points", ["client", "gateway out", "both"])
def test_a_terminator_without_a_finish_is_no_early_end(points: str) -> None:
    """Whoever sees it there: it was told that this is all, and the format wants more. Without it, it ended early."""
    for sent, ending in ((UNFINISHED, "protocol_violation"), (UNFINISHED[:-1], "upstream_truncated")):
        egress = None if points == "client" else sent
        wire = None if points == "gateway out" else sent
        blocks = [replace(block, complete=False if block.final else None) for block in path(None, egress, wire)]
        verdict = judge(blocks, settled=True)
        assert (verdict["ending"]["class"], verdict["ending"]["by"], verdict["findings"]) == (ending, None, [])


@pytest.mark.parametrize("egress", [True, False], ids=["gateway out held", "not held"])
def test_who_applied_in_order_knows_of_no_early_end(egress: bool) -> None:
    """The closing blocks of those who read are lost; the application ended at the terminator, and has no rule."""
    handed = handed_on(ANSWER)
    applied = How("applied", of="parsed", end="stopped_at_terminal")
    blocks = path(ANSWER, ANSWER, ANSWER, handed, used(handed), applied=applied, cuts=lambda n: [n - 2])
    lost = {"wire", "parsed", *(() if egress else ("ingress", "egress"))}
    verdict = judge([b for b in blocks if not (b.final and b.point in lost)], settled=True)
    assert verdict["ending"]["class"] == ("completed" if egress else "unwitnessed")


def test_a_parser_that_passes_on_what_its_transport_raised_did_not_abort() -> None:
    """Reading the body failed in a way that has no name of its own; the generator that read it raised the same."""
    handed = handed_on(ANSWER)[:6]
    wire, parsed = How("wire", end="unknown", complete=False), How("parsed", end="raised", complete=False)
    verdict = judge(path(None, None, ANSWER[:6], handed, wire=wire, parsed=parsed), settled=True)
    assert verdict["ending"]["class"] != "client_parser_abort"


@pytest.mark.parametrize("delivers", [DELIVERED_BY_SDK, DELIVERED_BY_SDK | TERMINAL], ids=["keeps it", "hands it on"])
@pytest.mark.parametrize(("end", "ending"), [("eof", "completed"), ("cancelled", "client_cancelled")])
def test_a_terminator_is_the_end_for_every_client_whose_finish_was_lost(delivers: int, end: str, ending: str) -> None:
    """Two clients, one truth: whether a parser hands on the terminator says nothing of how the answer ended."""
    wire = [event for event in ANSWER if event.text != FINISHED]
    handed = wire if delivers & TERMINAL else handed_on(wire)
    if end != "eof":
        handed = handed[:4]
    parsed, applied = How("parsed", delivers=delivers, end=end), How("applied", of="parsed", end=end)
    read = How("wire", end=end)
    blocks = path(ANSWER, ANSWER, wire, handed, used(handed), wire=read, parsed=parsed, applied=applied)
    verdict = judge(blocks, settled=True)
    assert verdict["ending"]["class"] == ending
    assert "(error)" not in verdict["summary"]


@pytest.mark.parametrize(("lost", "by"), [((), "client"), (("wire",), None)], ids=["all held", "wire lost"])
def test_a_parser_that_raised_is_to_blame_only_where_what_it_read_is_known(
    lost: tuple[str, ...], by: str | None
) -> None:
    """An error event or a broken body makes it raise as well; the record that would tell is lost."""
    parsed, applied = How("parsed", end="raised", delivers=DELIVERED_BY_SDK), How("applied", end="raised", of="parsed")
    handed = handed_on(ANSWER)[:6]
    blocks = path(ANSWER, ANSWER, ANSWER, handed, used(handed), parsed=parsed, applied=applied)
    ending = judge([b for b in blocks if b.point not in lost], settled=True)["ending"]
    assert (ending["class"], ending["by"]) == ("client_parser_abort", by)


@pytest.mark.parametrize(("lost", "ending"), [((), "network_lost"), (("wire",), "completed")], ids=["held", "lost"])
def test_an_early_end_that_only_the_parser_tells_is_nobodys(lost: tuple[str, ...], ending: str) -> None:
    """It may have lost the end by itself, or the connection did: the record between them would tell."""
    handed = handed_on(ANSWER)[:6]
    blocks = path(ANSWER, ANSWER, ANSWER[:7], handed, used(handed))
    told = judge([b for b in blocks if b.point not in lost], settled=True)["ending"]
    assert (told["class"], told["by"]) == (ending, None if lost else "transport")


def test_an_application_that_raised_at_a_broken_body_is_not_to_blame() -> None:
    """The parser tells how the body ended, though the record of what was received is lost."""
    handed = handed_on(ANSWER)[:6]
    ends = {"parsed": How("parsed", end="protocol_error"), "applied": How("applied", end="raised", of="parsed")}
    blocks = path(ANSWER, ANSWER, None, handed, used(handed), **ends)
    told = judge(blocks, settled=True)["ending"]
    assert (told["class"], told["by"]) == ("network_lost", "transport")


def test_an_attempt_that_broke_ended_nothing_where_another_one_is_lost() -> None:
    """The answer lists a second response, whose record never came: it may have been whole."""
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    ingress, egress = How("ingress", leg=0, end="reset"), How("egress", legs=legs)
    blocks = path(ANSWER[:4], ANSWER[:9], None, ingress=ingress, egress=egress)
    assert judge(blocks, settled=True)["ending"]["by"] is None


def test_an_attempt_that_broke_ended_nothing_where_the_answers_own_end_is_not_held() -> None:
    """Its closing block would list the attempts; another one may have answered."""
    broken, cut = How("ingress", leg=0, end="reset"), [7]
    blocks = broken.blocks(ANSWER[:4]) + How("egress").blocks(ANSWER[:9], cut)[:1]
    assert judge(blocks, settled=True)["ending"]["by"] is None


BROKE = Event(parts=ERROR)
GOES_ON = [*ANSWER[:4], BROKE, *ANSWER[4:]]
"""An answer whose provider tells of an error in its midst, and goes on."""
EARLY = How("wire", complete=False)
SENT_TO_NOBODY = How("egress", legs=(LEG,), end="disconnected", complete=False)


def ended(blocks: list[Block]) -> tuple[str, str | None, int | None]:
    """How it ended, by whom, and after which event."""
    ending = judge(blocks, settled=True)["ending"]
    return ending["class"], ending["by"], ending["after"]


@pytest.mark.parametrize("read_", [GOES_ON[:5], GOES_ON], ids=["to the error", "all in one piece"])
@pytest.mark.parametrize("upstream", [GOES_ON, ANSWER, None], ids=["the provider's", "the gateway's", "not held"])
def test_who_stops_at_an_error_that_was_sent_was_not_cut_off(read_: list[Event], upstream: list[Event] | None) -> None:
    """A client stops there by design, though whoever sent the error went on and completed the answer."""
    stopped = {"end": "stopped_at_terminal", "complete": False}
    wire = How("wire", end="stopped_at_terminal", complete=read_ is GOES_ON)
    parsed, applied = How("parsed", delivers=DELIVERED_BY_SDK, **stopped), How("applied", of="parsed", end="raised")
    taken = used(GOES_ON[:4])
    blocks = path(upstream, GOES_ON, read_, GOES_ON[:5], taken, wire=wire, parsed=parsed, applied=applied)
    source, gateway = ("upstream_error", "source", 4), ("gateway_error", "gateway", 4)
    nobody = ("upstream_error", None, 4)
    assert ended(blocks) == (source if upstream is GOES_ON else gateway if upstream else nobody)


def test_who_reads_on_behind_an_error_and_cancels_was_not_ended_by_it() -> None:
    """The error was not the end of anything."""
    wire = How("wire", end="cancelled", complete=False)
    assert ended(path(GOES_ON, GOES_ON, GOES_ON[:8], wire=wire))[:2] == ("client_cancelled", "client")


def test_an_error_that_somebody_on_the_way_may_have_put_in_is_nobodys() -> None:
    """The provider sent one, too, and one came more: which of them the client stopped at is not known."""
    came = [*GOES_ON[:2], BROKE, *GOES_ON[2:5]]
    wire = How("wire", end="stopped_at_terminal", complete=False)
    assert ended(path(GOES_ON, GOES_ON, came, wire=wire))[:2] == ("upstream_error", None)


def test_an_error_that_the_gateway_never_sent_is_not_the_gateways() -> None:
    """A proxy behind it put one in and hung up on it; where it had ended too early itself, both did something."""
    came = [*ANSWER[:4], BROKE]
    hung_up = path(ANSWER, ANSWER[:4], came, egress=SENT_TO_NOBODY, wire=EARLY)
    assert ended(hung_up)[:2] == ("protocol_violation", "transport")
    early = path(ANSWER, ANSWER[:4], came, egress=replace(SENT_TO_NOBODY, end="eof"), wire=EARLY)
    assert ended(early)[:2] == ("protocol_violation", None)


@pytest.mark.parametrize("lost", ["its record", "its closing block"])
def test_whose_error_came_is_not_known_where_nothing_tells_how_the_gateway_ended(lost: str) -> None:
    """Less that is held never makes somebody else the maker of an ending."""
    whole = path(ANSWER, ANSWER, [*ANSWER[:4], BROKE], wire=EARLY, cuts=lambda n: range(2, n, 2))
    held = [b for b in whole if b.point != "egress" or not (b.final or lost == "its record")]
    assert ended(whole)[:2] == ("protocol_violation", "transport")
    assert ended(held)[1] is None


def raised(sent: list[Event], handed: int) -> tuple[str, str | None]:
    """How an answer ended, and by whom, of which a parser handed on so many events and raised."""
    got = handed_on(sent)[:handed]
    ends = {
        "wire": How("wire", end="abandoned", complete=False),
        "parsed": How("parsed", end="raised", complete=False, delivers=DELIVERED_BY_SDK),
        "applied": How("applied", end="raised", of="parsed", complete=False),
    }
    ending = judge(path(sent, sent, sent, got, used(got), **ends), settled=True)["ending"]
    return ending["class"], ending["by"]


def test_a_parser_that_raised_is_no_maker_of_what_it_may_have_been_given() -> None:
    """An error event of which more came behind."""
    goes_on = [*ANSWER[:6], Event(parts=ERROR), *ANSWER[6:]]
    assert raised(goes_on, 6) == ("upstream_error", "source")
    assert raised(goes_on, 3) == ("client_parser_abort", None)
    assert raised(ANSWER, 6) == ("client_parser_abort", "client")


def test_a_refusal_that_tells_an_error_is_a_refusal() -> None:
    """By its status, whatever the body says."""
    error = [Event(parts=ERROR)]
    leg = How("ingress", leg=0, extra=((STATUS_CODE, 429),), complete=False)
    blocks = path(error, error, error, ingress=leg, egress=How("egress", legs=(LEG,), complete=False))
    assert judge(blocks, settled=True)["ending"]["class"] == "upstream_rejected"


def test_a_finish_behind_the_terminator_was_never_due() -> None:
    """Who stops at the terminator, as a gateway may, has cut nothing off."""
    late = [*ANSWER[:-2], ANSWER[-1], ANSWER[-2]]
    sent = late[:-1]
    ends = {"egress": How("egress", legs=(LEG,), complete=False), "wire": How("wire", complete=False)}
    ending = judge(path(late, sent, sent, **ends), settled=True)["ending"]
    assert (ending["class"], ending["by"]) == ("protocol_violation", "source")


def test_where_the_finish_of_a_whole_upstream_stood_lost_rows_hide() -> None:
    """It may have come behind the terminator, at which its gateway stopped: then nobody cut anything off."""
    late = [*ANSWER[:-2], ANSWER[-1], ANSWER[-2]]
    ends = {"egress": How("egress", legs=(LEG,), complete=False), "wire": How("wire", complete=False)}
    blocks = path(late, late[:-1], late[:-1], **ends)
    expected: tuple[Point, ...] = ("ingress", "egress", "wire")
    leg = How("ingress", leg=0, expected=expected).blocks([*late, Event(parts=PING)], [len(late) - 2, len(late)])
    held = [*(block for block in blocks if block.point != "ingress"), leg[0], leg[2]]
    assert ended(held)[1] is None


def test_an_exception_behind_a_timeout_is_that_timeout() -> None:
    """Though only the parser tells of it, for the record of the body is lost."""
    ends = {
        "egress": How("egress", legs=(LEG,), end="disconnected", complete=False),
        "parsed": How("parsed", end="timeout", complete=False),
        "applied": How("applied", end="raised", of="parsed"),
    }
    verdict = judge(path(ANSWER[:5], ANSWER[:5], None, ANSWER[:5], used(ANSWER[:5]), **ends), settled=True)
    assert verdict["ending"]["class"] == "client_timeout"


def test_who_stops_behind_the_finish_that_it_has_used_has_cut_nothing_off() -> None:
    """Though nobody but the application tells, which knows no rule of completion."""
    ending = judge(path(None, None, None, None, used(ANSWER), applied=How("applied", end="cancelled", of="parsed")),
                   settled=True)["ending"]  # fmt: skip
    assert ending["by"] is None


def test_reading_that_failed_at_the_client_names_nobody() -> None:
    """The client may have closed the answer under its own reader, or its connection died."""
    left = {point: How(point, end="unknown", of="parsed" if point == "applied" else None) for point in CLIENT}
    handed = handed_on(ANSWER)[:6]
    blocks = path(ANSWER, ANSWER, ANSWER[:6], handed, used(handed), **left)
    verdict = judge(blocks, settled=True)
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("client_gone", None)
    cancelled = path(ANSWER, ANSWER, ANSWER[:6], handed, used(handed), **left | {"wire": How("wire", end="cancelled")})
    assert judge(cancelled, settled=True)["ending"]["class"] == "client_cancelled"


@pytest.mark.parametrize("parsed", ["raised", "abandoned"])
def test_what_an_application_raised_may_be_its_parsers_where_that_does_not_tell(parsed: str) -> None:
    """It was given the exception that its parser raised, which looks alike in its own record."""
    handed = handed_on(ANSWER)[:6]
    ends = {"wire": How("wire", end="cancelled"), "parsed": How("parsed", end=parsed, delivers=DELIVERED_BY_SDK)}
    blocks = path(
        ANSWER, ANSWER, ANSWER[:8], handed, used(handed), **ends, applied=How("applied", "raised", of="parsed")
    )
    held = judge([block for block in blocks if block.point != "parsed"], settled=True)["ending"]
    assert (held["class"], held["by"]) == ("client_reducer_abort", None)
    assert judge(blocks, settled=True)["ending"]["by"] == "client"


@pytest.mark.parametrize("settled", [True, False])
def test_a_client_whose_readers_have_not_told_their_end_has_not_been_given_the_whole_answer(settled: bool) -> None:
    """Its application read to an end of some sort; what was that of its body, no record held tells."""
    handed = handed_on(ANSWER)[:6]
    whole = path(ANSWER, ANSWER, ANSWER[:7], handed, used(handed), wire=How("wire", end="cancelled"))
    held = [block for block in whole if block.point not in ("wire", "parsed")]
    told = judge(held, settled=settled)["ending"]
    assert (told["class"], told["by"]) == ("completed", None)


def test_a_whole_attempt_ended_nothing_where_the_one_that_was_passed_on_may_have_failed() -> None:
    """Two attempts begin alike; the end of the one that sent an error, or of the answer, is not held."""
    erred = [*ANSWER[:6], BROKE]
    legs = tuple(recorder_id("ingress", leg) for leg in (0, 1))
    egress = How("egress", legs=legs, complete=False)
    blocks = path(erred, erred, erred, egress=egress, ingress=How("ingress", leg=0, complete=False), wire=EARLY)
    blocks += How("ingress", leg=1, complete=True).blocks(ANSWER)
    assert ended(blocks)[:2] == ("upstream_error", "source")
    for point in ("ingress", "egress"):
        held = [b for b in blocks if not (b.point == point and b.leg in (0, None))]
        assert ended(held)[:2] == ("upstream_error", None)


@pytest.mark.parametrize(("error", "ending", "by"), [("ReadError", "upstream_truncated", "source"),
                                                     ("KeyError", "gateway_error", "gateway")])  # fmt: skip
def test_a_gateway_that_raises_what_broke_its_upstream_behind_the_finish(error: str, ending: str, by: str) -> None:
    """It gathers the answer before it sends any of it, and the connection breaks though all was told."""
    ends = {
        "ingress": How("ingress", leg=0, end="reset"),
        "egress": How("egress", legs=(LEG,), end="raised", complete=False),
        "wire": How("wire", end="protocol_error", complete=False),
    }
    details = {"ingress": "ReadError", "egress": error}
    blocks = [replace(b, end_detail=details.get(b.point, "")) for b in path(ANSWER[:-1], [], [], **ends)]
    assert ended(blocks)[:2] == (ending, by)
