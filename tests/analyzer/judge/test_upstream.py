"""Gateway in → gateway out: legs, cutting, and what a gateway may do without being accused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import FINISHED, LEG, Event, How, answer, path, recorder_id
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, FINISH, MALFORMED, OTHER, RESPONSE_ID, ROLE, TERMINAL, TEXT, TOOL_ARGS, UNREAD
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 21))
ERROR_EVENT = Event(parts=ERROR)
LEGS = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))


def gateway(read: Sequence[Event], sent: Sequence[Event], **how: How) -> dict[str, Any]:
    """The verdict on a gateway alone."""
    return judge(path(read, sent, None, **how), settled=True)


def told(verdict: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, suspects, count and place of each finding."""
    return [(f["kind"], f["suspects"], f["count"], tuple(f["sequence"])) for f in verdict["findings"]]


def attempts(legs: Sequence[How], read: Sequence[Sequence[Event]], sent: Sequence[Event]) -> list[Block]:
    """A gateway that read several upstream answers."""
    out = path(None, sent, None, egress=How("egress", legs=LEGS[: len(legs)], expected=("ingress",)))
    for how, events in zip(legs, read, strict=True):
        out += how.blocks(events)
    return out


FAILED = answer([901, 902, 903])[:-2]
NAMED = (((RESPONSE_ID, "first"),), ((RESPONSE_ID, "second"),))
FIRST, SECOND = How("ingress", leg=0), How("ingress", leg=1)


def test_swallowed_event_is_the_gateways_on_its_own_axis() -> None:
    """Lost in the gateway: it never had a sequence, so the axis is gateway in."""
    verdict = gateway(ANSWER, [*ANSWER[:7], *ANSWER[8:]])
    assert told(verdict) == [("gap", ["gateway"], 1, (7, 7))]
    assert (verdict["findings"][0]["axis"], verdict["findings"][0]["content_bytes"]) == ("ingress", 3)


def test_events_without_output_come_and_go() -> None:
    """Role, usage and comments are no loss."""
    sent = [Event(parts=ROLE), Event(parts=ROLE), *ANSWER[1:]]
    assert gateway(ANSWER, sent)["integrity"] == "intact"


def test_invented_terminator() -> None:
    """A terminator although no upstream answer was complete."""
    verdict = gateway(ANSWER[:9], [*ANSWER[:9], Event(parts=TERMINAL)])
    assert told(verdict) == [("fabricated", ["gateway"], 1, (9, 9))]
    assert verdict["ending"]["class"] == "upstream_truncated"


def test_a_terminator_that_the_format_requires_is_not_invented() -> None:
    """The leg was complete; the gateway speaks a format that ends with one."""
    assert gateway(ANSWER[:-1], ANSWER)["integrity"] == "intact"


def test_an_invented_finish() -> None:
    """Hiding that the upstream broke off is an invention, and the stream is not called completed."""
    verdict = gateway(ANSWER[:9], [*ANSWER[:9], Event(FINISHED, FINISH), Event(parts=TERMINAL)])
    assert told(verdict) == [("fabricated", ["gateway"], 1, (10, 10))]  # the terminator, which tells of the finish, too
    assert verdict["ending"]["class"] == "upstream_truncated"


def test_a_finish_that_says_error_is_honest() -> None:
    """The gateway told that the upstream failed."""
    honest = How("egress", legs=(LEG,), complete=True, extra=(("gen_ai.response.finish_reasons", ("error",)),))
    verdict = gateway(ANSWER[:9], [*ANSWER[:9], Event(FINISHED, FINISH)], egress=honest)
    assert (verdict["findings"], verdict["ending"]["class"]) == ([], "upstream_truncated")


def test_a_gateway_that_stops_reading_may_finish_by_itself() -> None:
    """A limit of its own: it closed the upstream, and said so with a finish."""
    stopped = How("ingress", leg=0, end="cancelled", complete=False)
    verdict = gateway(ANSWER[:9], [*ANSWER[:8], Event(FINISHED, FINISH), Event(parts=TERMINAL)], ingress=stopped)
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")


def test_a_swallowed_error() -> None:
    """An error at gateway in, and a clean answer at gateway out."""
    verdict = gateway([*ANSWER[:6], ERROR_EVENT], ANSWER[:6])
    assert told(verdict) == [("gap", ["gateway"], 1, (6, 6))]


def test_an_error_after_which_the_answer_went_on_is_not_due() -> None:
    """It ended nothing: the response was complete, and all of it was sent."""
    verdict = gateway([*ANSWER[:6], ERROR_EVENT, *ANSWER[6:]], ANSWER)
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


def test_the_same_content_cut_otherwise_is_intact() -> None:
    """Slot digests are equal: nothing was lost, however it was cut."""
    slots = ("0/text/0 00c0ffee 60",)
    merged = [Event(5000 + i) for i in range(10)]
    verdict = gateway(
        ANSWER,
        [ANSWER[0], *merged, *ANSWER[-2:]],
        ingress=How("ingress", leg=0, slots=slots),
        egress=How("egress", legs=(LEG,), slots=slots),
    )
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])
    assert [n["kind"] for n in verdict["notes"]] == ["recut"]


@pytest.mark.parametrize(
    ("again", "found"),
    [(ANSWER[-2], [("duplicate", ["gateway"], 1, (21, 21))]), (replace(ANSWER[-2], payload=1), [])],
    ids=["in the same bytes", "in others"],
)
def test_no_cut_of_the_content_explains_one_more_finish(again: Event, found: list[tuple[Any, ...]]) -> None:
    """All content came through, and the finish twice: that is not intact, and doubled where its bytes are."""
    slots = ("0/text/0 00c0ffee 60",)
    hows = {"ingress": How("ingress", leg=0, slots=slots), "egress": How("egress", legs=(LEG,), slots=slots)}
    verdict = gateway(ANSWER, [*ANSWER[:-1], again, ANSWER[-1]], **hows)
    assert (verdict["integrity"], told(verdict)) == ("damaged" if found else "unproven", found)


def test_a_finish_lost_while_cutting_is_still_lost() -> None:
    """Equal slots do not speak of the finish."""
    slots = ("0/text/0 00c0ffee 60",)
    verdict = gateway(
        ANSWER,
        [ANSWER[0], *(Event(5000 + i) for i in range(10)), ANSWER[-1]],
        ingress=How("ingress", leg=0, slots=slots),
        egress=How("egress", legs=(LEG,), slots=slots),
    )
    assert [(f["kind"], f["suspects"]) for f in verdict["findings"]] == [("gap", ["gateway"])]


def test_content_cut_otherwise_that_differs_is_altered_without_a_count_of_events() -> None:
    """Half of it merged, one word gone: how many events that was cannot be said."""
    sent = [*ANSWER[:8], *(Event(5000 + i) for i in range(3)), *ANSWER[15:]]
    how = {"ingress": How("ingress", leg=0, slots=("0/text/0 aaaaaaaa 60",)), "egress": How("egress", legs=(LEG,))}
    how["egress"] = replace(how["egress"], slots=("0/text/0 bbbbbbbb 57",))
    (finding,) = gateway(ANSWER, sent, **how)["findings"]
    assert (finding["kind"], finding["suspects"], finding["exact"]) == ("altered", ["gateway"], False)


def marks(first: int, *digests: int) -> bytes:
    """Content marks of a block, from this number on."""
    return b"".join(value.to_bytes(4, "little") for value in (first, *digests))


@pytest.mark.parametrize(
    ("had", "has", "where"),
    [
        (marks(0, 1, 2, 3), marks(0, 1, 9), "content bytes 256–511"),
        (marks(0, 1, 2, 3), marks(1, 9, 9), "content bytes 0–511"),
        (marks(2, 3, 4), marks(0, 1, 2, 9), "content bytes 0–767"),
        (marks(0, 1), marks(0, 9), "content bytes 0–255"),
    ],
    ids=["all marks", "the answer's first is lost", "the leg's first are lost", "at once"],
)
def test_content_marks_give_the_bytes_where_the_answer_differs(had: bytes, has: bytes, where: str) -> None:
    """From the last mark that is equal to the first that differs, even where the rest was never sent."""
    blocks = path(ANSWER, [ANSWER[0], *(Event(5000 + i) for i in range(3)), *ANSWER[12:16]], None,
                  egress=How("egress", legs=(LEG,), end="disconnected"))  # fmt: skip
    for block in blocks:
        block.content_marks = had if block.point == "ingress" else has
    finding = judge(blocks, settled=True)["findings"][0]
    assert (finding["kind"], finding["suspects"]) == ("altered", ["gateway"])
    assert where in finding["evidence"]["missing"]


def test_marks_that_no_two_blocks_share_say_nothing() -> None:
    """What differs is then unproven, for the rest was never sent."""
    blocks = path(ANSWER, [ANSWER[0], *(Event(5000 + i) for i in range(3)), *ANSWER[12:16]], None,
                  egress=How("egress", legs=(LEG,), end="disconnected"))  # fmt: skip
    for block in blocks:
        block.content_marks = marks(0, 1) if block.point == "ingress" else marks(1, 9)
    assert (judge(blocks, settled=True)["findings"], judge(blocks, settled=True)["integrity"]) == ([], "unproven")


def test_cut_otherwise_and_not_sent_to_the_end_is_unproven() -> None:
    """The client went away: slots of a prefix say nothing."""
    sent = [ANSWER[0], *(Event(5000 + i) for i in range(3))]
    verdict = gateway(ANSWER, sent, egress=How("egress", legs=(LEG,), end="disconnected"))
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_an_answer_that_the_leg_does_not_feed_accuses_nobody() -> None:
    """A guardrail call beside an answer from elsewhere: its words are not missing, the answer is not invented."""
    guardrail = answer([901, 902, 903])
    verdict = gateway(guardrail, ANSWER)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize(
    "beside",
    [[*answer([901, 902], finish=False, done=False), ERROR_EVENT], answer([901, 902], finish=False, done=False)],
    ids=["failed", "broke off"],
)
def test_what_does_not_feed_the_answer_swallows_and_invents_nothing(beside: list[Event]) -> None:
    """A guardrail call that failed, and an answer from a cache: neither its error nor the terminator is a fault."""
    verdict = gateway(beside, ANSWER)
    assert (verdict["ending"]["class"], verdict["integrity"], verdict["findings"]) == ("completed", "unproven", [])
    recut = [ANSWER[0], *(Event(5000 + i) for i in range(5)), *ANSWER[21:]]
    verdict = judge(attempts((FIRST, SECOND), (ANSWER, beside), recut), settled=True)
    assert (verdict["ending"]["class"], verdict["findings"]) == ("completed", [])


def test_more_slots_than_have_digests_leave_a_recut_answer_unproven() -> None:
    """The slot whose digest would differ, or would not, may be one of those that were not followed."""
    sent = [*ANSWER[:5], Event(7777), *ANSWER[7:]]
    slots = tuple(f"0/tool/{i} 0000000{i:x} 3" for i in range(16))
    made = {"ingress": How("ingress", leg=0, slots=slots), "egress": How("egress", legs=(LEG,), slots=slots)}
    verdict = gateway(ANSWER, sent, **made)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("first", [ANSWER[:5], answer([901, 902, 903])[:-2]], ids=["same words", "other words"])
def test_an_abandoned_attempt_accuses_nobody(first: list[Event]) -> None:
    """The second attempt is the answer; the first is a note."""
    verdict = judge(attempts((FIRST, SECOND), (first, ANSWER), ANSWER), settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])
    assert [n["kind"] for n in verdict["notes"]] == ["superseded"]
    assert verdict["ending"]["class"] == "completed"


def test_an_attempt_that_goes_on_where_the_first_broke_is_intact() -> None:
    """A beginning of the first, then all of the second."""
    rest = answer(range(50, 60))
    verdict = judge(attempts((FIRST, SECOND), (ANSWER[:5], rest), [*ANSWER[:5], *rest]), settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


def test_the_feeding_attempt_can_accuse_the_gateway() -> None:
    """Its words stand in the answer and in no other attempt."""
    read = (answer([901, 902, 903])[:-2], ANSWER)
    verdict = judge(attempts((FIRST, SECOND), read, [*ANSWER[:7], *ANSWER[8:]]), settled=True)
    assert told(verdict) == [("gap", ["gateway"], 1, (7, 7))]


def test_lost_rows_may_be_what_an_attempt_brought() -> None:
    """The gateway went on where the first broke, and of the answer its first block is lost."""
    first, second = How("ingress", leg=0, extra=NAMED[0]), How("ingress", leg=1, extra=NAMED[1])
    sent = path(None, [*FAILED[:4], *ANSWER[1:]], None, cuts=lambda _: [4],
                egress=How("egress", legs=LEGS, expected=("ingress",), extra=NAMED[1]))  # fmt: skip
    blocks = [*sent, *first.blocks(FAILED), *second.blocks(ANSWER)]
    assert judge(blocks, settled=True)["findings"] == []
    lost = [block for block in blocks if not (block.point == "egress" and block.index == 0)]
    assert judge(lost, settled=True)["findings"] == []


def test_attempts_with_the_same_words_leave_a_difference_unproven() -> None:
    """What one seems to have lost, the other may explain."""
    read = (ANSWER[:15], ANSWER)
    verdict = judge(attempts((FIRST, SECOND), read, [*ANSWER[:7], *ANSWER[8:]]), settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("missing", [0, 1])
def test_an_attempt_whose_record_is_missing_makes_the_hop_unproven(missing: int) -> None:
    """The answer may come from the one that nobody saw."""
    blocks = attempts((FIRST, SECOND), (ANSWER[:5], ANSWER), [*ANSWER[:7], *ANSWER[8:]])
    verdict = judge([b for b in blocks if b.recorder != LEGS[missing]], settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_without_the_closing_of_gateway_out_nothing_is_said() -> None:
    """The list of legs is on it."""
    blocks = [b for b in path(ANSWER, ANSWER[:7], None, cuts=lambda n: [3]) if not (b.point == "egress" and b.final)]
    assert judge(blocks, settled=True)["findings"] == []


def test_a_changed_word_is_altered() -> None:
    """One place differs."""
    sent = [replace(e, text=999) if e.text == 7 else e for e in ANSWER]
    assert told(gateway(ANSWER, sent)) == [("altered", ["gateway"], 1, (7, 7))]


def test_an_injected_word_is_fabricated() -> None:
    """New content, and nothing is missing."""
    sent = [*ANSWER[:7], Event(999, TEXT), *ANSWER[7:]]
    assert told(gateway(ANSWER, sent)) == [("fabricated", ["gateway"], 1, (7, 7))]


def test_an_aborted_answer_owes_nothing_further() -> None:
    """The client disconnected: what the gateway read later is not lost."""
    gone = How("egress", legs=(LEG,), end="disconnected")
    verdict = gateway(ANSWER, ANSWER[:9], egress=gone)
    assert (verdict["integrity"], verdict["findings"], verdict["ending"]["class"]) == ("intact", [], "client_gone")


def unreadable(event: Event) -> Event:
    """The event as it is once somebody has broken its bytes."""
    return replace(event, text=0, parts=MALFORMED, result="malformed", payload=event.digest + 1)


@pytest.mark.parametrize("instead", [True, False], ids=["in place of an event", "one more"])
def test_an_event_that_the_gateway_broke(instead: bool) -> None:
    """It was read whole and came out so that nobody can read it: whoever stumbles over it later is not to blame."""
    broken = [*ANSWER[:9], unreadable(ANSWER[9]), *ANSWER[9 + instead :]]
    blocks = path(ANSWER, broken, broken, broken[:9], parsed=How("parsed", end="raised"))
    for block in blocks:
        block.totals["malformed"] = int(block.point in ("egress", "wire"))
    verdict = judge(blocks, settled=True)
    assert told(verdict) == [("malformed", ["gateway"], 1, (9, 9))]
    assert verdict["headline"] == "THE GATEWAY BROKE 1 EVENT"
    assert verdict["ending"]["class"] == "client_parser_abort"
    assert verdict["why"]["seen"] == "gateway out sent event 9; it cannot be decoded"


def test_an_event_that_was_broken_before_is_not_the_gateways() -> None:
    """The provider sent it so."""
    broken = [*ANSWER[:9], unreadable(ANSWER[9]), *ANSWER[10:]]
    blocks = path(broken, broken, None)
    for block in blocks:
        block.totals["malformed"] = 1
    assert told(judge(blocks, settled=True)) == [("malformed", ["source"], 1, (9, 9))]


ROLES, FINISHES, DONE = ANSWER[:1], ANSWER[-2:-1], ANSWER[-1:]
WORDS = ANSWER[1:-2]
REST = answer(range(50, 60))


def verdict_of(read: Sequence[Sequence[Event]], sent: Sequence[Event]) -> tuple[str, str, list[str]]:
    """Ending, integrity and kinds of findings, of a gateway that read these answers to their ends."""
    said = judge(attempts((FIRST, SECOND)[: len(read)], read, sent), settled=True)
    return said["ending"]["class"], said["integrity"], [finding["kind"] for finding in said["findings"]]


@pytest.mark.parametrize("echo", [[*ANSWER[:-1], ERROR_EVENT], [*ANSWER[:-2], ERROR_EVENT], ANSWER])
@pytest.mark.parametrize("first", [True, False])
def test_an_echo_of_the_answer_accuses_nobody(echo: list[Event], first: bool) -> None:
    """A guardrail that was given the answer and says it again, or a hedged pair: what one of them told, is told."""
    read = (echo, ANSWER) if first else (ANSWER, echo)
    assert verdict_of(read, ANSWER) == ("completed", "intact", [])


@pytest.mark.parametrize(
    "sent",
    [ANSWER, [*ANSWER[:6], *ANSWER[3:]]],
    ids=["once", "a part twice"],
)
def test_a_fallback_that_repeats_the_beginning_accuses_nobody(sent: list[Event]) -> None:
    """Whether the gateway leaves out what came before, or hands on a part of it."""
    ending, integrity, findings = verdict_of((ANSWER[:6], ANSWER), sent)
    assert (ending, findings) == ("completed", [])
    assert integrity == ("unproven" if len(sent) == 26 else "intact")


def test_a_fallback_that_was_cut_into_other_events_is_intact() -> None:
    """The digests of its slots are the answer's."""
    slots = ("0/text/0 00c0ffee 60",)
    legs = (How("ingress", leg=0, slots=("0/text/0 00abcdef 15",)), How("ingress", leg=1, slots=slots))
    sent = [ANSWER[0], *(Event(5000 + i) for i in range(5)), *ANSWER[-2:]]
    blocks = attempts(legs, (ANSWER[:6], ANSWER), sent)
    for block in blocks:
        block.slot_digests = slots if block.point == "egress" else block.slot_digests
    said = judge(blocks, settled=True)
    assert (said["integrity"], said["findings"]) == ("intact", [])
    assert [note["kind"] for note in said["notes"]] == ["superseded", "recut"]


@pytest.mark.parametrize("shown", [20, 12], ids=["all", "without the calls"])
def test_an_answer_in_several_parts_is_joined(shown: int) -> None:
    """An agent that calls tools in between: a part from each response, one finish for all."""
    calls = [replace(event, parts=TOOL_ARGS) for event in WORDS[12:]]
    read = [*ROLES, *WORDS[:12], *calls, *FINISHES, *DONE]
    sent = [*ROLES, *WORDS[:12], *calls[: shown - 12], *REST[1:]]
    assert verdict_of((read, REST), sent) == ("completed", "intact", [])


def test_words_of_an_earlier_part_that_were_not_sent_leave_it_unproven() -> None:
    """They are lost, or the next response said them again: nobody knows."""
    sent = [*ROLES, *WORDS[:12], *REST[1:]]
    assert verdict_of((ANSWER, REST), sent) == ("completed", "unproven", [])


def test_a_loss_in_a_joined_answer_is_unproven() -> None:
    """What seems lost of one part may stand in another."""
    sent = [*ROLES, *WORDS, *REST[1:4], *REST[5:]]
    assert verdict_of((ANSWER, REST), sent) == ("completed", "unproven", [])


@pytest.mark.parametrize(
    ("fallback", "ending"),
    [([*ROLES, *FINISHES, *DONE], "completed"), ([*ROLES, *DONE], "upstream_error"), (ROLES, "upstream_error")],
    ids=["it only finishes", "it says nothing", "it does not even end"],
)
def test_an_error_that_was_answered_by_asking_again(fallback: list[Event], ending: str) -> None:
    """The fallback brought nothing: what the gateway sent is what it had, and no error of its own is due."""
    read = ([*ROLES, *WORDS, ERROR_EVENT], fallback)
    assert verdict_of(read, [*ROLES, *WORDS, *fallback[1:]]) == (ending, "intact", [])


@pytest.mark.parametrize("sent", [ROLES, [*ROLES, *DONE]])
def test_an_error_in_place_of_which_an_empty_answer_goes_out(sent: list[Event]) -> None:
    """Nobody was asked again: the error was swallowed."""
    ending, integrity, findings = verdict_of(([*ROLES, ERROR_EVENT],), sent)
    assert (ending, integrity, "gap" in findings) == ("upstream_error", "damaged", True)


@pytest.mark.parametrize(("printed", "status"), [(False, "intact"), (True, "unproven")])
def test_output_that_nobody_reads_has_to_come_byte_for_byte(printed: bool, status: str) -> None:
    """A gateway that prints anew may have lost what no profile reads; the very bytes hold all there is."""
    unread = ((UNREAD, 1),)
    read = [*ANSWER[:3], Event(parts=OTHER), *ANSWER[3:]]
    sent = [replace(event, payload=8_000 + i) if event.parts == TEXT else event for i, event in enumerate(read)]
    legs = {"ingress": How("ingress", leg=0, extra=unread), "egress": How("egress", legs=(LEG,), extra=unread)}
    verdict = judge(path(read, sent if printed else read, None, **legs), settled=True)
    assert (verdict["findings"], verdict["integrity"]) == ([], status)
    told = any("output of a kind that nobody reads" in reason for reason in verdict["why"]["unknown"])
    assert told is printed
