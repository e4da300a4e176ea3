"""Gateways that hand on what they read as it was written, and those that may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from streamwitness.blocks import Block
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.chat import Leg, anew, called, ends, found, gateway, said, without_rows

# --------------------------------------------------------------------------- an answer of equal pieces

EQUAL = said(*["ha "] * 8)
LOST = ("gap", ["gateway"], 1)


@pytest.mark.parametrize("stamp", [False, True], ids=["plain", "numbered"])
@pytest.mark.parametrize(
    ("sent", "kind"),
    [(EQUAL[1:], "gap"), ([*EQUAL, EQUAL[0]], "duplicate"), ([*said("ho "), *EQUAL[1:]], "altered")],
    ids=["one less", "one more", "one changed"],
)
def test_equal_pieces_in_the_bytes_of_the_leg(sent: list[bytes], kind: str, stamp: bool) -> None:
    """No run of them is unique; but the response id and the bytes of the events are the leg's."""
    assert found(gateway([*sent, *ends()], Leg([*EQUAL, *ends()]), stamp=stamp)) == [(kind, ["gateway"], 1)]


@pytest.mark.parametrize(
    "sent",
    [
        [*said(*["ha "] * 7, name="other"), *ends("other")],
        anew([*EQUAL[1:], *ends()]),
    ],
    ids=["another response id", "written anew"],
)
def test_equal_pieces_that_may_be_another_answers(sent: list[bytes]) -> None:
    """A guardrail that was read beside the answer may have said the same few words."""
    for stamp in (False, True):
        assert found(gateway(sent, Leg([*EQUAL, *ends()]), stamp=stamp)) == []


# --------------------------------------------------------------------------- one that failed over

OTHERS = said("I ", "may ", "not ", name="first")
WORDS = ("The ", "quick ", "brown ", "fox ", "jumps ", "over ", "dogs.")
SECOND = [*said(*WORDS), *ends()]


def failed_over(sent: Sequence[bytes], first: Sequence[bytes] = OTHERS, end: str = "reset") -> list[Block]:
    """The first upstream broke, the second one answered."""
    return gateway(sent, Leg(first, end), Leg(SECOND))


@pytest.mark.parametrize(
    ("sent", "findings"),
    [
        ([*SECOND[:3], *SECOND[4:]], [LOST]),
        ([*SECOND[:3], SECOND[2], *SECOND[3:]], [("duplicate", ["gateway"], 1)]),
        ([*SECOND[:3], SECOND[4], SECOND[3], *SECOND[5:]], [("reorder", ["gateway"], 1)]),
        ([*SECOND[:3], *said("red "), *SECOND[4:]], [("altered", ["gateway"], 1)]),
        ([*SECOND[:3], *said("red "), *SECOND[3:]], [("fabricated", ["gateway"], 1)]),
        ([*said("Certainly! "), *SECOND], [("fabricated", ["gateway"], 1)]),
        ([*said("She "), *SECOND[1:]], [("altered", ["gateway"], 1)]),
    ],
    ids=["lost", "doubled", "displaced", "changed", "invented", "invented at first", "changed at first"],
)
def test_an_attempt_of_which_the_answer_shows_nothing_explains_nothing(
    sent: list[bytes], findings: list[tuple[Any, ...]]
) -> None:
    """Every other event is written as the second one's, and bears its response id."""
    blocks = failed_over(sent)
    assert found(blocks) == findings
    assert [note["kind"] for note in judge(blocks, settled=True)["notes"]] == ["superseded"]


@pytest.mark.parametrize(
    ("sent", "first", "end"),
    [
        ([*said("I "), *SECOND], OTHERS, "reset"),
        ([*said("I may "), *SECOND], OTHERS, "reset"),
        ([*said("I The "), *SECOND[1:]], OTHERS, "reset"),
        ([*said("no. "), *SECOND], said("no.", " ", "I", name="first"), "reset"),
        ([*SECOND[:3], *said("[safe] "), *SECOND[3:]], [*said("[safe] ", name="first"), *ends("first")], "eof"),
        ([*said("I ", name="first"), *SECOND[1:]], OTHERS, "reset"),
        ([*SECOND[:4], *said("hopped ", "past ", "cats."), *ends()], OTHERS, "reset"),
        ([*SECOND[:3], *said("red "), *SECOND[3:]], [*said("safe ", name="first"), *ends("first")], "eof"),
    ],
    ids=[
        "a piece of the first one's in front", "a run of them", "joined to what replaces it", "pieces of it joined",
        "a side call's words", "goes on with the second", "mostly written anew", "beside a side call",
    ],
)  # fmt: skip
def test_what_an_attempt_may_have_brought_accuses_nobody(sent: list[bytes], first: list[bytes], end: str) -> None:
    """A gateway that goes on where an upstream broke has sent, by then, what it sends of it."""
    assert found(failed_over(sent, first, end)) == []


MOVED = [*SECOND[:3], SECOND[4], SECOND[3], *SECOND[5:]]


@pytest.mark.parametrize(
    ("sent", "kind"),
    [(MOVED, "reorder"), ([*SECOND[:3], *said("red "), *SECOND[4:]], "altered")],
    ids=["moved", "changed"],
)
def test_an_attempt_of_the_same_id_explains_nothing_either(sent: list[bytes], kind: str) -> None:
    """What stands amid the bytes of the second one is nothing that a gateway still had of the first."""
    assert found(failed_over(sent, said("I ", "may ", "not "))) == [(kind, ["gateway"], 1)]


def test_a_side_call_that_ends_in_the_same_bytes() -> None:
    """Its finish may be the one too many; another order it does not explain."""
    side = [*said("safe "), *ends()]
    assert found(failed_over(MOVED, side, "eof")) == [("reorder", ["gateway"], 1)]
    assert found(failed_over([*SECOND[:-2], *ends()[:1], *ends()], side, "eof")) == []


@pytest.mark.parametrize("name", ["r", "first"])
def test_equal_pieces_behind_an_attempt_that_broke(name: str) -> None:
    """The leg that has the response id and the bytes feeds the answer."""
    blocks = gateway([*EQUAL[1:], *ends()], Leg(said("I ", "may ", name=name), "reset"), Leg([*EQUAL, *ends()]))
    assert found(blocks) == [LOST]


@pytest.mark.parametrize("point", ["ingress", "egress"])
def test_lost_rows_may_hide_what_an_attempt_brought(point: str) -> None:
    """What they held is not known to be anybody's."""
    assert found(without_rows(failed_over([*SECOND[:3], *said("red "), *SECOND[4:]]), point)) == []


# --------------------------------------------------------------------------- calls

TEXT = said("Let me see.")
PIECES = ('{"city": ', '"Paris", ', '"days": ', "3}")
CALL = called(*PIECES)
READ = [*TEXT, *CALL, *ends(finish="tool_calls")]


@pytest.mark.parametrize("at", [2, 3, 4])
@pytest.mark.parametrize("end", ["eof", "cancelled"])
def test_a_piece_of_a_call_that_was_changed(at: int, end: str) -> None:
    """Whoever writes arguments his own way reads them whole, and leaves no other piece as it was."""
    for sent in (
        [*CALL[:at], called("mistletoe")[1], *CALL[at + 1 :]],
        [*CALL[:at], called("mistletoe")[1], *CALL[at:]],
    ):
        blocks = gateway([*TEXT, *sent, *ends(finish="tool_calls")], Leg(READ, end))
        assert [suspects for _, suspects, _ in found(blocks)] == [["gateway"]]


@pytest.mark.parametrize(
    ("read", "sent"),
    [
        (CALL, called('{"city":"Paris","days":3}')),
        (called('{"city": "Paris"}'), called('{"city":"Paris"}')),
        (called('{"city": ', '"Paris"}'), called('{"city": ', "'Paris'}")),
        ([*CALL, *called('{"n": 1.0}', index=1)], [*CALL, *called('{"n": 1}', index=1)]),
        (
            [CALL[0], *called(index=1), *CALL[1:], *called('{"n": 1.0}', index=1)[1:]],
            [CALL[0], *called(index=1), *CALL[1:], *called('{"n": 1}', index=1)[1:]],
        ),
    ],
    ids=["all of it in one event", "one piece", "two pieces", "another call", "another call, begun with it"],
)
def test_a_call_that_may_be_written_otherwise(read: list[bytes], sent: list[bytes]) -> None:
    """Though the text and the other calls came through as they were."""
    many = said(*WORDS)
    blocks = gateway([*many, *sent, *ends(finish="tool_calls")], Leg([*many, *read, *ends(finish="tool_calls")]))
    assert found(blocks) == []


def test_an_end_that_is_made_up_behind_a_call_writes_no_call_otherwise() -> None:
    """The upstream broke within the arguments; what came of them was lost in part."""
    blocks = gateway([*TEXT, *CALL[:2], CALL[3], *ends(finish="tool_calls")], Leg([*TEXT, *CALL[:4]], "reset"))
    assert {tuple(suspects) for _, suspects, _ in found(blocks)} == {("gateway",)}
    assert "gap" in [kind for kind, *_ in found(blocks)]


def test_a_call_of_which_little_is_as_it_was() -> None:
    """Two of its pieces came through; but who changes so much writes his own way."""
    sent = [*CALL[:3], *called('"weeks": ', "0.42}")[1:], *ends(finish="tool_calls")]
    assert found(gateway(sent, Leg([*CALL, *ends(finish="tool_calls")]))) == []


def test_a_text_that_changed_place_with_a_call() -> None:
    """The content of each is the same, and in order: whoever shows them one by one loses nothing by it."""
    sent = [*CALL, *TEXT, *ends(finish="tool_calls")]
    for blocks in (gateway(sent, Leg(READ)), without_rows(gateway(sent, Leg(READ)), "egress")):
        verdict = judge(blocks, settled=True)
        assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_a_finish_that_was_sent_before_the_last_words() -> None:
    """Who stops there has not had them; in other bytes that is not proven, and it is never called intact."""
    finish, done = ends(finish="tool_calls")
    sent = [*TEXT, *CALL[:-1], finish, CALL[-1], done]
    assert [kind for kind, *_ in found(gateway(sent, Leg(READ)))] == ["reorder"]
    for blocks in (gateway(anew(sent), Leg(READ)), without_rows(gateway(sent, Leg(READ)), "egress")):
        assert judge(blocks, settled=True)["integrity"] == "unproven"


def test_pieces_that_say_the_same_in_another_cut() -> None:
    """ "ha ", "ha ha " and "ha ha ", "ha ": cut anew, and both pieces were there before."""
    read, sent = said("ha ") + said("ha ha "), said("ha ha ") + said("ha ")
    verdict = judge(gateway([*sent, *ends()], Leg([*read, *ends()])), settled=True)
    assert verdict["findings"] == []


def test_a_gateway_that_joins_words_and_stops_reading_at_the_finish() -> None:
    """What it made by joining may be equal to another event; all content of the response came through."""
    words = said("ha ", "ha ", "ha ha ", "so")
    joined = said("ha ha ", "ha ha ", "so")
    verdict = judge(gateway([*joined, *ends()], Leg([*words, *ends()], end="cancelled")), settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


# --------------------------------------------------------------------------- finishes


def test_a_finish_that_came_twice() -> None:
    """In the bytes of the leg's it is doubled; written otherwise, nothing tells that it is the same one."""
    twice = [*said(*WORDS), *ends()[:1], *ends()]
    assert found(gateway(twice, Leg(SECOND))) == [("duplicate", ["gateway"], 1)]
    blocks = gateway(anew(twice), Leg(SECOND))
    assert (found(blocks), judge(blocks, settled=True)["integrity"]) == ([], "unproven")


def test_an_event_without_content_that_came_twice_keeps_a_connection_alive() -> None:
    """It is no output, and no end."""
    empty = said("")
    blocks = gateway([*empty, *empty, *SECOND], Leg([*empty, *SECOND]))
    assert (found(blocks), judge(blocks, settled=True)["integrity"]) == ([], "intact")


def test_formats_have_other_words_for_an_end() -> None:
    """Only the text that was lost besides is told; and where the rest is as it was, so is the other end."""
    read = Leg([*said(*WORDS), *ends(finish="content_filter")])
    sent = [*said(*WORDS[:3], *WORDS[4:]), *ends(finish="length")]
    assert found(gateway(anew(sent), read)) == [LOST]
    assert ("tail", ["gateway"], 1) in found(gateway(sent, read))


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_finish_in_the_place_of_what_was_read_last(finish: str) -> None:
    """The gateway let go, kept an event to itself, and ended the answer as if that had been all."""
    read = said(*WORDS)
    verdict = judge(gateway([*read[:-1], *ends(finish=finish)], Leg(read, "cancelled")), settled=True)
    assert (verdict["integrity"], verdict["findings"], verdict["ending"]["by"]) == ("unproven", [], "gateway")


@pytest.mark.parametrize(("read", "sent"), [("length", "stop"), ("content_filter", "stop"), ("stop", "length")])
def test_a_reason_to_finish_that_was_changed(read: str, sent: str) -> None:
    """All else is as it was written, so this was changed; who writes everything anew has his own words for it."""
    leg, words = Leg([*said(*WORDS), *ends(finish=read)]), [*said(*WORDS), *ends(finish=sent)]
    blocks = gateway(words, leg)
    assert found(blocks) == [("altered", ["gateway"], 1)]
    assert "recut" not in {note["kind"] for note in judge(blocks, settled=True)["notes"]}
    verdict = judge(gateway(anew(words), leg), settled=True)
    notes = {note["kind"]: note["sentence"] for note in verdict["notes"]}
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
    assert notes["other_finish"].endswith(f": {sent} instead of {read}.")
    assert "recut" not in notes


@pytest.mark.parametrize(
    ("read", "sent", "other"),
    [("unheard of", "stop", True), ("stop", "error", True), ("stop", "tool_calls", True), ("eos", "stop", False)],
)  # fmt: skip
def test_a_reason_to_finish_that_somebody_knows_better(read: str, sent: str, other: bool) -> None:
    """A word that is not known here may be put right: noted, and not called intact. Many words stand for the same."""
    verdict = judge(
        gateway([*said(*WORDS), *ends(finish=sent)], Leg([*said(*WORDS), *ends(finish=read)])), settled=True
    )
    assert (verdict["integrity"], verdict["findings"]) == ("unproven" if other else "intact", [])
    assert [note["kind"] for note in verdict["notes"]] == (["other_finish"] if other else [])


def test_an_error_behind_which_another_attempt_went_on_was_not_swallowed() -> None:
    """It rewrites, as it says, and took the last words from another response: the error of the first one was not due.

    Without a change that is told, nothing but a word of the other one in the answer says so.
    """
    failed = [*said(*WORDS[:5], name="first"), b'data: {"error": {"message": "overloaded"}}\n\n']
    sent = [*said(*WORDS[:2], "red ", *WORDS[3:5], "the ", "lazy ", name="first"), *ends()]
    rest = [*said("the ", "lazy ", "dogs."), *ends()]
    blocks = gateway(sent, Leg(failed), Leg(rest), edited=["rewrite"])
    verdict = judge(blocks, settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
