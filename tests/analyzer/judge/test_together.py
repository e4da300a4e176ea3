"""Several exchanges of one stream: a client that came back, a gateway behind a gateway. Real stamps and observers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streamwitness.semconv import LINKED, UPSTREAM_EXCHANGE
from streamwitness_analyzer.judge import judge
from tests.cases.parsers import proper
from tests.cases.pipeline import Play, Stream, spoken

ANSWER = spoken("The", " harbour", " was", " quiet", " when", " the", " boat", " came")
SENT, RECEIVED = 6, 4
"""Events of the first exchange: two were under way when the connection broke."""


def resumed(
    *, first: int = RECEIVED, stamp: bool = True, brought: list[bytes] | None = None, **rest: Any
) -> dict[str, Any]:
    """The verdict on a stream whose client came back and was given the events from `first` on."""
    stream = Stream()
    kind = "id" if stamp else "none"
    sent = stream.numbered(ANSWER) if stamp else ANSWER
    begun = Play(
        sent[:RECEIVED], proper(), sent[:SENT], ANSWER, sent_end="disconnected", received_end="reset", stamp=kind
    )
    further = brought if brought is not None else sent[first:]
    ended = Play(further, proper(), further, attempt=1, first=first, stamp=kind)
    return stream.play(begun).play(replace(ended, **rest)).verdict()


def said(verdict: dict[str, Any]) -> tuple[str, str, list[Any]]:
    """Ending, integrity, and who is accused of what."""
    found = [(f["kind"], f["suspects"], f["count"]) for f in verdict["findings"]]
    return verdict["ending"]["class"], verdict["integrity"], found


def notes(verdict: dict[str, Any]) -> dict[str, int]:
    """The notes and their counts."""
    return {note["kind"]: note["count"] for note in verdict["notes"]}


LOST = ("tail", ["transport"], SENT - RECEIVED)
LOST_RECORDS = [
    (attempt, point, what)
    for attempt in (0, 1)
    for point in ("egress", "wire", "parsed", "applied")
    for what in ("rows", "all")
]


@pytest.mark.parametrize("first", range(RECEIVED + 1))
def test_what_was_lost_and_came_again_is_a_note(first: int) -> None:
    """Event for event, by their numbers; a gateway may begin earlier than it must."""
    verdict = resumed(first=first)
    assert said(verdict) == ("completed", "intact", [])
    assert notes(verdict)["recovered"] == SENT - RECEIVED


@pytest.mark.parametrize(("again", "found"), [(6, []), (7, [("tail", ["transport"], 6), ("tail", ["transport"], 4)])])
def test_what_was_lost_may_come_again_in_pieces(again: int, found: list[Any]) -> None:
    """The connection broke three times: each exchange brought some of what the first had lost, or skipped an event."""
    sent, stream = Stream().numbered(ANSWER), Stream()
    broke: dict[str, Any] = {"received_end": "reset", "stamp": "id"}
    stream.play(Play(sent[:4], proper(), sent, ANSWER, **broke))
    stream.play(Play(sent[4:6], proper(), sent[4:], attempt=1, first=4, **broke))
    stream.play(Play(sent[again:], proper(), sent[again:], attempt=2, first=again, stamp="id"))
    verdict = stream.verdict()
    assert (verdict["ending"]["class"], said(verdict)[2]) == ("completed", found)


@pytest.mark.parametrize("lost", LOST_RECORDS)
def test_what_may_have_come_again_is_not_called_lost(lost: tuple[int, str, str]) -> None:
    """Of one point of one exchange the rows are gone, or all of it: what came is not known, so nothing is damaged."""
    attempt, point, what = lost
    stream = Stream()
    sent = stream.numbered(ANSWER)
    begun = Play(sent[:4], proper(), sent[:6], ANSWER, sent_end="disconnected", received_end="reset", stamp="id")
    ended = Play(sent[4:], proper(), sent[4:], attempt=1, first=4, stamp="id")
    stream.play(begun).play(ended)
    of_it = [block for block in stream.sink.blocks if (block.attempt, block.point) == (attempt, point)]
    assert of_it
    left = [block for block in stream.sink.blocks if block not in of_it]
    if what == "rows":
        left += [replace(block, rows=None) for block in of_it]
    verdict = judge(left, settled=True)
    assert verdict["integrity"] != "damaged"


def test_a_client_that_came_back_twice_may_be_given_more_the_second_time() -> None:
    """The third exchange begins before the second one did, and brings what that one lost."""
    sent, stream = Stream().numbered(ANSWER), Stream()
    broke: dict[str, Any] = {"received_end": "reset", "stamp": "id"}
    stream.play(Play(sent[:4], proper(), sent[:6], ANSWER, sent_end="disconnected", **broke))
    stream.play(Play(sent[4:6], proper(), sent[4:], attempt=1, first=4, **broke))
    stream.play(Play(sent[2:], proper(), sent[2:], attempt=2, first=2, stamp="id"))
    verdict = stream.verdict()
    assert said(verdict)[2] == []
    assert verdict["integrity"] != "damaged"


def test_what_was_skipped_stays_lost() -> None:
    """The second exchange begins behind it."""
    assert said(resumed(first=RECEIVED + 1)) == ("completed", "damaged", [LOST])


def test_without_numbers_nobody_knows_whether_it_came_again() -> None:
    """Equal content is no proof; the loss in the first exchange is one."""
    assert said(resumed(stamp=False)) == ("completed", "unproven", [LOST])


def test_a_loss_whose_place_lost_rows_hide_may_be_what_came_again() -> None:
    """Of the first exchange only totals are held: two events less came, and the second exchange brought two."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    stream.play(Play(sent[:RECEIVED], proper(), sent[:SENT], ANSWER, received_end="reset", stamp="id"))
    stream.play(Play(sent[RECEIVED:], proper(), sent[RECEIVED:], attempt=1, first=RECEIVED, stamp="id"))
    thinned = [
        replace(b, rows=None, summary=True) if not b.attempt and b.final and b.point in ("egress", "wire") else b
        for b in stream.sink.blocks
    ]
    verdict = judge(thinned, settled=True)
    assert said(verdict) == ("completed", "unproven", [("gap", ["transport"], SENT - RECEIVED)])


def test_a_rest_that_is_not_what_the_gateway_had_read_is_unproven() -> None:
    """An event is missing from the second exchange, as it left the gateway: nobody is accused, nothing is intact."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    verdict = resumed(brought=[*sent[RECEIVED:7], *sent[8:]])
    assert said(verdict)[:2] == ("completed", "unproven")
    assert said(verdict)[2] in ([], [LOST])


def test_each_exchange_is_judged_by_itself() -> None:
    """A loss in the second one is the transport's of the second one."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    begun = Play(sent[:6], proper(), sent[:6], ANSWER, sent_end="disconnected", received_end="reset", stamp="id")
    ended = Play([sent[6], *sent[8:]], proper(), sent[6:], attempt=1, first=6, stamp="id")
    verdict = stream.play(begun).play(ended).verdict()
    assert said(verdict) == ("completed", "damaged", [("gap", ["transport"], 1)])
    assert verdict["findings"][0]["exchange"] == verdict["points"][-1]["exchange"]


def test_the_ending_is_the_newest_exchanges() -> None:
    """It broke again."""
    verdict = resumed(received_end="reset", sent_end="disconnected", brought=ANSWER[RECEIVED:7])
    assert verdict["ending"]["class"] == "network_lost"


def test_an_upstream_that_broke_in_the_first_exchange_ends_the_second() -> None:
    """The rest was never there; the gateway that breaks off is not to blame."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    begun = Play(
        sent[:4], proper(), sent[:4], ANSWER[:6], upstream_end="reset",
        sent_end="disconnected", received_end="reset", stamp="id",
    )  # fmt: skip
    ended = Play(sent[4:6], proper(), sent[4:6], sent_end="raised", received_end="protocol_error", attempt=1, first=4,
                 stamp="id")  # fmt: skip
    verdict = stream.play(begun).play(ended).verdict()
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("upstream_truncated", "source")
    assert verdict["findings"] == []


def test_a_rest_of_an_answer_that_was_never_whole_is_not_completed() -> None:
    """It ends cleanly, and no rule speaks of a rest; the upstream's record does."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    begun = Play(sent[:4], proper(), sent[:4], ANSWER[:6], sent_end="disconnected", received_end="reset", stamp="id")
    ended = Play(sent[4:6], proper(), sent[4:6], attempt=1, first=4, stamp="id")
    stream.play(begun).play(ended)
    for block in stream.sink.blocks:
        block.complete = None if block.attempt else block.complete
    verdict = stream.verdict()
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("upstream_truncated", "source")
    assert verdict["findings"] == []


def test_a_rest_without_the_finish_of_a_whole_answer_is_completed() -> None:
    """The finish came in the first exchange, the terminator in the second."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    begun = Play(sent[:9], proper(), sent[:9], ANSWER, sent_end="disconnected", received_end="reset", stamp="id")
    ended = Play(sent[9:], proper(), sent[9:], attempt=1, first=9, stamp="id")
    stream.play(begun).play(ended)
    for block in stream.sink.blocks:
        block.complete = None if block.attempt else block.complete
    assert said(stream.verdict()) == ("completed", "intact", [])


def test_a_stream_that_could_not_be_continued_says_of_which() -> None:
    """Another answer, linked to the one that was asked for."""
    stream = Stream().play(Play(ANSWER, proper(), ANSWER, ANSWER))
    for block in stream.sink.blocks:
        if block.final and block.point == "egress":
            block.extra[LINKED] = "7" * 32
    assert notes(stream.verdict())["linked"] == 1


# --------------------------------------------------------------------------- gateways in a row


def in_a_row(inner: Play, outer: Play) -> dict[str, Any]:
    """The verdict on a stream that two gateways testify for; only the outer one has a client."""
    return Stream().play(replace(inner, received=None, announced=())).play(replace(outer, hop=1)).verdict()


HEALTHY = Play(ANSWER, proper(), ANSWER, ANSWER)


def test_two_gateways_in_order() -> None:
    """What one sent, the other read."""
    assert said(in_a_row(HEALTHY, HEALTHY)) == ("completed", "intact", [])


def test_the_gateway_that_lost_it_is_told_by_its_exchange() -> None:
    """Both are called gateway; the finding names the exchange, and the other one is not in it."""
    shorter = [*ANSWER[:3], *ANSWER[4:]]
    outer = Play(shorter, proper(), shorter, shorter)
    verdict = in_a_row(replace(HEALTHY, sent=shorter), outer)
    assert said(verdict) == ("completed", "damaged", [("gap", ["gateway"], 1)])
    assert {p["hop"] for p in verdict["points"] if p["exchange"] == verdict["findings"][0]["exchange"]} == {0}


def test_a_loss_between_two_gateways_is_unproven_and_nobodys() -> None:
    """Their ways are not compared event by event."""
    shorter = [*ANSWER[:3], *ANSWER[4:]]
    verdict = in_a_row(HEALTHY, Play(shorter, proper(), shorter, shorter))
    assert said(verdict) == ("completed", "unproven", [])


def test_an_inner_gateway_that_cut_is_not_called_the_source() -> None:
    """The outer one sees only that its upstream ended; the inner one had the whole answer."""
    cut = ANSWER[:5]
    verdict = in_a_row(replace(HEALTHY, sent=cut), Play(cut, proper(), cut, cut))
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("gateway_truncated", "gateway")


def test_where_the_inner_gateway_says_nothing_nobody_is_named() -> None:
    """A second hop is known, and not what the first one saw."""
    cut = ANSWER[:5]
    verdict = Stream().play(replace(Play(cut, proper(), cut, cut), hop=1)).verdict()
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("upstream_truncated", None)


def named(cut: list[bytes], *, inner: list[bytes] | None) -> dict[str, Any]:
    """The outer gateway began before it knew its place: no hop, and another key; its leg names the inner exchange."""
    stream, other = Stream(), Stream()
    other.identity = replace(other.identity, stream=stream.identity.stream)
    if inner is not None:
        stream.play(Play(None, sent=inner, upstream=ANSWER, announced=()))
    other.play(Play(cut, proper(), cut, cut))
    for block in other.sink.blocks:
        if block.point == "ingress" and block.final:
            block.extra[UPSTREAM_EXCHANGE] = stream.identity.exchange
    stream.sink.blocks += other.sink.blocks
    return stream.verdict()


def test_a_gateway_that_names_what_it_read_does_not_call_it_the_source() -> None:
    """Its records tell, where they are held; else nobody is named."""
    cut = ANSWER[:5]
    found = named(cut, inner=cut)
    assert (found["ending"]["class"], found["ending"]["by"]) == ("gateway_truncated", "gateway")
    assert named(cut, inner=None)["ending"]["by"] is None


def test_a_gateway_that_was_read_from_and_never_told_leaves_the_stream_unproven() -> None:
    """What it lost, nobody could see; without another gateway behind, all is as it was sent."""
    assert said(named(ANSWER, inner=None)) == ("completed", "unproven", [])
    assert said(Stream().play(HEALTHY).verdict()) == ("completed", "intact", [])


def test_under_two_keys_nothing_is_compared_between_gateways() -> None:
    """All digests differ, and prove nothing."""
    assert said(named(ANSWER, inner=ANSWER)) == ("completed", "unproven", [])


# --------------------------------------------------------------------------- how much of the stream


@pytest.mark.parametrize("first", range(RECEIVED + 1))
def test_counts_are_the_streams(first: int) -> None:
    """What two exchanges brought together, by the events' numbers; what came twice counts once."""
    assert resumed(first=first)["counts"] == {"sent": len(ANSWER), "used": len(ANSWER)}


def test_counts_of_a_stream_of_which_something_was_skipped() -> None:
    """The client went on behind what it had lost."""
    assert resumed(first=SENT)["counts"] == {"sent": len(ANSWER), "used": len(ANSWER) - (SENT - RECEIVED)}


def test_without_numbers_nobody_knows_how_much_came() -> None:
    """The rest of an answer is not the answer."""
    assert resumed(stamp=False)["counts"] == {"sent": None, "used": None}


def test_places_in_a_further_exchange_are_those_of_the_stream() -> None:
    """Its first event has the number with which it goes on, in the findings and over the picture."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    begun = Play(sent[:4], proper(), sent[:6], ANSWER, sent_end="disconnected", received_end="reset", stamp="id")
    ended = Play([*sent[4:7], *sent[8:]], proper(), sent[4:], attempt=1, first=4, stamp="id")
    verdict = stream.play(begun).play(ended).verdict()
    assert [(f["kind"], f["sequence"]) for f in verdict["findings"]] == [("gap", [7, 7])]
    assert {(point["attempt"], point["first"]) for point in verdict["points"]} == {(0, 0), (1, 4)}
    assert verdict["counts"] == {"sent": len(ANSWER), "used": len(ANSWER) - 1}
    assert verdict["ending"]["after"] == len(ANSWER) - 1
