"""Upstreams that give an error status in place of an answer: alone they end it, beside others they are nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import FINISHED, Event, How, answer, handed_on, path, recorder_id, used
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, FINISH, ROLE, STATUS_CODE, TERMINAL, UNANSWERED
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.timed import Timed, stream

ANSWER = answer(range(1, 21))
FAILED = [Event(parts=ERROR)]
MADE = [Event(parts=ROLE), Event(77), Event(FINISHED, FINISH), Event(parts=TERMINAL)]
"""A canned answer."""


def refusal(number: int = 0, status: int = 429) -> How:
    """The leg of an upstream that refused."""
    return How("ingress", leg=number, complete=None, extra=((STATUS_CODE, status),))


def blocks(legs: Sequence[tuple[How, Sequence[Event]]], sent: Sequence[Event], **how: How) -> list[Block]:
    """An answer that a client took up whole, of a gateway that had asked these upstreams."""
    ids = tuple(recorder_id("ingress", leg.leg, "a") for leg, _ in legs)
    expected = ("ingress", "egress", "wire", "parsed", "applied")
    how = {"egress": How("egress", legs=ids), **how}
    handed = handed_on(sent)
    out = path(None, sent, sent, handed, used(handed), expected=expected, **how)
    for leg, events in legs:
        made = replace(leg, expected=expected).blocks(events)
        out += [replace(made[0], complete=None)] if not events else made
    return out


def verdict(legs: Sequence[tuple[How, Sequence[Event]]], sent: Sequence[Event], **how: How) -> dict[str, Any]:
    return judge(blocks(legs, sent, **how), settled=True)


def ended(told: dict[str, Any]) -> tuple[Any, Any]:
    return told["ending"]["class"], told["ending"]["by"]


def kinds(told: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (f["kind"], f["suspects"], f["count"], f["exact"], f["sequence"], f["confidence"]) for f in told["findings"]
    ]


def test_a_refusal_that_the_gateway_told_its_client_ended_the_answer() -> None:
    """By the source, with the status as evidence; nothing of an answer was lost."""
    told = verdict([(refusal(), [])], FAILED)
    assert (ended(told), told["integrity"], told["findings"]) == (("upstream_rejected", "source"), "intact", [])
    assert "status 429" in told["why"]["seen"]
    assert told["notes"] == []


def test_several_refusals_are_told_by_their_number() -> None:
    """The evidence tells of one only."""
    told = verdict([(refusal(), []), (refusal(1, 503), [])], FAILED)
    assert ended(told) == ("upstream_rejected", "source")
    assert told["notes"] == [
        {
            "kind": "refused",
            "count": 2,
            "sentence": "2 upstream attempts came to nothing: the upstream refused, by status 429, 503.",
        }
    ]


def test_a_refusal_of_which_the_client_was_told_nothing_is_noted() -> None:
    """It got a stream that ended as if nothing were; nothing is there to compare what it got with."""
    ids = (recorder_id("ingress", 0, "a"),)
    untold = verdict([(refusal(), [])], [], egress=How("egress", legs=ids, complete=False))
    assert ended(untold) == ("upstream_rejected", "source")
    assert [note["kind"] for note in untold["notes"]] == ["refusal_untold"]
    assert untold["why"]["unknown"] == [
        "loss inside the provider or gateway (gateway in was refused: there is nothing to compare gateway out with)"
    ]


@pytest.mark.parametrize("end", ["raised", "eof"])
def test_so_it_did_where_the_gateway_told_nothing(end: str) -> None:
    """It raised, or ended an answer that had nothing in it."""
    came = "protocol_error" if end == "raised" else "eof"
    points = {p: How(p, end=came, of="parsed" if p == "applied" else None) for p in ("wire", "parsed", "applied")}
    ids = (recorder_id("ingress", 0, "a"),)
    told = verdict([(refusal(), [])], [], egress=How("egress", end=end, legs=ids), **points)
    assert ended(told) == ("upstream_rejected", "source")


@pytest.mark.parametrize("first", [True, False], ids=["before", "behind"])
@pytest.mark.parametrize(
    "sent", [ANSWER, [*ANSWER[:7], *ANSWER[8:]], [*ANSWER[:7], Event(91), *ANSWER[7:]], ANSWER[:9]]
)
def test_beside_a_response_that_answered_it_is_nothing(first: bool, sent: list[Event]) -> None:
    """A retry, a fallback, a side call: what is told of the gateway is what is told without it, but for the note."""
    answered = How("ingress", leg=int(first))
    legs = [(refusal(int(not first)), []), (answered, ANSWER)][:: 1 if first else -1]
    with_it, alone = verdict(legs, sent), verdict([(answered, ANSWER)], sent)
    same = ("integrity", "ending", "counts", "confidence", "headline")
    assert [with_it[key] for key in same] == [alone[key] for key in same]
    assert kinds(with_it) == kinds(alone)
    assert [note["kind"] for note in with_it["notes"]] == [*(n["kind"] for n in alone["notes"]), "refused"]


def test_the_refusals_of_a_response_that_broke_are_not_its_end() -> None:
    """It broke off in its midst, was asked for again, and refused: the breaking ended it."""
    legs = [(How("ingress", leg=0, end="reset", complete=False), ANSWER[:9]), (refusal(1), [])]
    assert ended(verdict(legs, [*ANSWER[:9], *FAILED])) == ("upstream_truncated", "source")


@pytest.mark.parametrize("end", ["reset", "eof", "timeout", "cancelled"])
@pytest.mark.parametrize("sent", [ANSWER[:9], [*ANSWER[:9], *FAILED]])
def test_an_answer_that_came_from_elsewhere_is_not_ended_by_who_said_nothing(end: str, sent: list[Event]) -> None:
    """An upstream that broke before its first event was replaced by one that nobody saw, and that may have failed."""
    told = verdict([(How("ingress", leg=0, end=end, complete=False), [])], sent)
    assert (told["ending"]["by"], told["findings"]) == (None, [])


@pytest.mark.parametrize("sent", [MADE, MADE[:2], [*MADE[:2], *FAILED]])
def test_an_answer_that_came_from_elsewhere_is_not_ended_by_a_refusal(sent: list[Event]) -> None:
    """What was sent is of nobody who was seen (a store, a client without a hook), and so is its end."""
    told = verdict([(refusal(), [])], sent)
    assert told["ending"]["class"] != "upstream_rejected"
    assert told["findings"] == []


@pytest.mark.parametrize("end", ["reset", "timeout", "eof", "refused", "nobody was asked"])
def test_an_answer_that_no_upstream_is_known_to_have_given_is_completed_by_nobody(end: str) -> None:
    """One broke before its first event, or refused, or there was none: it may be out of a store."""
    broken = refusal() if end == "refused" else How("ingress", leg=0, end=end, complete=False)
    legs = [] if end == "nobody was asked" else [(broken, [])]
    told = verdict(legs, MADE)
    assert (ended(told), told["findings"]) == (("completed", None), [])
    assert told["summary"].startswith("Answer ended normally")
    for lost in ("ingress", "egress", "wire", "parsed", "applied"):
        held = [block for block in blocks(legs, MADE) if block.point != lost]
        assert judge(held, settled=True)["ending"]["by"] is None


def test_requests_that_were_never_answered_are_a_note_where_the_answer_is_not_whole() -> None:
    """Nobody is accused by it: a name may be wrong, a provider dead, or slow."""
    for sent, told in ((FAILED, ["unanswered"]), (MADE, [])):
        egress = How("egress", extra=((UNANSWERED, 2),))
        found = verdict([], sent, egress=egress)
        assert [note["kind"] for note in found["notes"]] == told
        assert found["ending"]["by"] is None
    assert "2 requests" in verdict([], FAILED, egress=egress)["notes"][0]["sentence"]


def test_a_refusal_beside_a_request_that_was_never_answered_is_not_the_end() -> None:
    """It may have ended by what could not be reached, which need not have been there."""
    ids = (recorder_id("ingress", 0, "a"),)
    told = verdict([(refusal(), [])], FAILED, egress=How("egress", legs=ids, extra=((UNANSWERED, 1),)))
    assert ended(told) == ("upstream_error", None)


@pytest.mark.parametrize("missing", ["ingress", "egress"])
def test_where_a_record_is_lost_the_refusal_ended_nothing(missing: str) -> None:
    """There may have been another response, or an answer."""
    legs = [(refusal(), []), (How("ingress", leg=1), ANSWER)]
    held = [b for b in blocks(legs, FAILED) if b.point != missing or (missing == "ingress" and b.leg == 0)]
    assert ended(judge(held, settled=True)) != ("upstream_rejected", "source")


def test_a_refusal_alone_ends_nothing() -> None:
    """Nobody tells whether another response came, and was handed on."""
    assert ended(judge(refusal().blocks([]), settled=True)) == ("unwitnessed", None)


def test_a_stall_behind_a_refusal_is_told_as_without_it() -> None:
    """A gateway that was refused once, and then read a response that stood still."""
    had, when = ANSWER[:4], [0.5, 1.0, 1.5, 2.0]
    read, sent, got = (
        Timed(had, when, end, how) for end, how in ((32.1, "cancelled"), (32.1, "disconnected"), (32.0, "timeout"))
    )
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    made = [replace(b, legs=legs) if b.point == "egress" else b for b in stream(read, sent, got)]
    assert ended(judge([*made, *refusal(1).blocks([])], settled=True)) == ("stalled", "source")
