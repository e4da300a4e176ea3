"""First lines: what people who read nothing else take away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import LEG, Event, How, answer, handed_on, path, used, usual
from streamwitness.blocks import Block
from streamwitness.semconv import EDITED, ERROR, ERROR_TYPE, FINISH_REASONS_ATTRIBUTE, TERMINAL
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.report import render
from streamwitness_analyzer.style import Style
from tests.analyzer.judge.timed import Timed, stream

WORDS = answer(range(1, 13))


def verdict(blocks: list[Block]) -> dict[str, Any]:
    """When nothing more is waited for."""
    return judge(blocks, settled=True)


def without(events: list[Event], *at: int) -> list[Event]:
    """These events but those."""
    return [event for i, event in enumerate(events) if i not in at]


def test_deeds_of_two_components_are_told_with_who_did_which() -> None:
    """Two have room, each with its own suspect."""
    sent = without(WORDS, 3)
    parsed = handed_on(without(sent, 6))
    blocks = path(WORDS, sent, sent, parsed, used(parsed))
    assert verdict(blocks)["headline"] == "THE GATEWAY LOST 1 EVENT, THE CLIENT'S PARSER LOST 1 EVENT"


def test_two_deeds_of_one_component_are_one_sentence() -> None:
    """It is named once."""
    got = without([*WORDS[:8], Event(99), *WORDS[8:]], 3)
    blocks = path(WORDS, WORDS, got, handed_on(got), used(handed_on(got)))
    assert verdict(blocks)["headline"] == "THE TRANSPORT LOST 1 EVENT AND INVENTED 1 EVENT"


def test_what_is_more_is_counted() -> None:
    """A third deed is a number of findings."""
    sent = without(WORDS, 3)
    got = without(sent, 5)
    parsed = handed_on(without(got, 7))
    headline = verdict(path(WORDS, sent, got, parsed, used(parsed)))["headline"]
    assert headline == "THE GATEWAY LOST 1 EVENT, THE TRANSPORT LOST 1 EVENT, AND 1 MORE FINDING"


def test_another_order_is_told_without_a_number() -> None:
    """Three events that moved behind one, or one that moved before three: nobody knows."""
    moved = [*WORDS[:4], *WORDS[7:8], *WORDS[4:7], *WORDS[8:]]
    found = verdict(path(WORDS, moved, moved))
    assert found["headline"] == "THE GATEWAY PUT EVENTS IN ANOTHER ORDER"


def test_an_error_that_a_gateway_kept_is_told_as_that() -> None:
    """And the picture shows that it did not leave."""
    read, sent = [*WORDS[:6], Event(parts=ERROR)], WORDS[:6]
    found = verdict(path(read, sent, sent, egress=How("egress", legs=(LEG,), complete=False)))
    cells = {row["point"]: row["cells"] for row in found["points"]}
    assert (found["headline"], cells["egress"][-1]) == ("THE GATEWAY SWALLOWED AN ERROR", "x")
    assert "gateway in read an error as event 6" in found["findings"][0]["evidence"]["seen"]


def test_an_end_that_a_gateway_made_up_is_told_as_that() -> None:
    """Whatever it consists of."""
    egress = How("egress", legs=(LEG,), expected=("ingress",))
    blocks = [*usual("ingress").blocks(WORDS[:6]), *egress.blocks([*WORDS[:6], Event(parts=TERMINAL)])]
    assert verdict(blocks)["headline"] == "THE GATEWAY MADE UP THE END OF THE ANSWER"


@pytest.mark.parametrize(
    ("end", "text"), [("cancelled", "CANCELLED BY THE CLIENT"), ("timeout", "THE CLIENT GAVE UP WAITING")]
)
def test_who_stopped_reading_is_told_with_the_last_event(end: str, text: str) -> None:
    """With the last one that it had."""
    wire, parsed = (How(point, end=end) for point in ("wire", "parsed"))
    got = WORDS[:5]
    blocks = path(
        WORDS, WORDS, got, handed_on(got), used(handed_on(got)),
        wire=wire, parsed=parsed, applied=How("applied", end=end, of="parsed"),
    )  # fmt: skip
    assert verdict(blocks)["headline"] == f"{text} AFTER EVENT 4, INTACT"


def test_an_end_and_a_loss_are_told_by_the_same_numbers() -> None:
    """Those of what the gateway read, also where it sent less."""
    found = verdict(path(WORDS, without(WORDS, 5, 13, 14), without(WORDS, 5, 13, 14)))
    assert found["short"].startswith("GATEWAY cut after event 12; GATEWAY lost")


def test_records_that_anybody_may_have_sent_prove_nothing_and_that_is_told() -> None:
    """A single suspect that is not proven has its reason."""
    found = verdict([replace(block, role=None) for block in path(WORDS, WORDS, without(WORDS, 5))])
    assert found["findings"][0]["confidence"] == "narrowed"
    assert any(text.startswith("who sent these records") for text in found["why"]["unknown"])


def test_evidence_names_the_row_of_the_picture_where_there_are_several() -> None:
    """Of two readers of one answer, which of them lacks it."""
    blocks = path(None, WORDS, WORDS)
    other = [
        block
        for block in path(None, WORDS, without(WORDS, 5), wire=How("wire", witness="d" * 16))
        if block.point == "wire"
    ]
    found = verdict([*blocks, *other])["findings"][0]
    assert found["evidence"]["missing"].endswith("(row: client received 2)")
    assert "row" not in found["evidence"]["seen"]


def test_what_is_not_proven_because_records_are_missing_is_told_so() -> None:
    """In the line below the headline."""
    blocks = [block for block in path(WORDS, WORDS, WORDS) if block.point != "wire"]
    assert verdict(blocks)["summary"].endswith("not proven: records are missing.")


@pytest.mark.parametrize(
    ("at", "which"), [(0, " (the role)"), (5, ""), (-2, " (the finish)"), (-1, " (the terminator)")]
)
def test_an_event_without_output_is_told_as_what_it_is(at: int, which: str) -> None:
    """Between gateway and client every event is due, and one without text lacks no text."""
    got = without(WORDS, at % len(WORDS))
    assert f"1 event{which}" in verdict(path(None, WORDS, got))["findings"][0]["sentence"]


def test_a_gateway_that_ends_with_a_finish_and_no_terminator_did_not_end_without_one() -> None:
    """It let go of its upstream; nothing says that the provider wanted the answer short."""
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    sent = [*WORDS[:6], WORDS[-2]]
    egress = How("egress", legs=(LEG,), complete=False, extra=((FINISH_REASONS_ATTRIBUTE, ["length"]),))
    found = verdict(path(WORDS[:9], sent, None, ingress=ingress, egress=egress))
    assert found["why"]["missing"] == "gateway out sent 7 events, with a finish, and no terminator"
    assert [note["kind"] for note in found["notes"]] == []


def raising(at: int, *, parsed: int | None = None) -> list[Block]:
    """An application that raises at an event and lets it out, after its parser had handed on so many."""
    given = handed_on(WORDS)[:parsed]
    rows = [*used(given)[:at], replace(used(given)[at], result="raised")]
    left = {p: How(p, end="abandoned", delivers=usual(p).delivers) for p in ("wire", "parsed")} if parsed else {}
    error = ((ERROR_TYPE, "KeyError"),)
    return path(
        WORDS, WORDS, WORDS, given, rows, applied=How("applied", of="parsed", end="raised", extra=error), **left
    )


@pytest.mark.parametrize("parsed", [7, None])
def test_an_application_that_raises_is_told_as_that(parsed: int | None) -> None:
    """However much its parser had read by then; what nobody took up is no loss among those that are."""
    found = verdict(raising(6, parsed=parsed))
    cells = {row["point"]: row["cells"] for row in found["points"]}
    assert found["headline"] == "THE CLIENT'S REDUCER RAISED AT EVENT 6"
    assert found["short"] == "REDUCER raised at event 6"
    assert (cells["applied"][:7], set(cells["applied"][7:])) == ("oooooox", {"u"})
    assert "3 text bytes were lost; " in found["summary"]
    assert found["summary"].endswith("more events went no further, as the reader stopped.")
    assert found["findings"][0]["evidence"]["missing"].endswith("its code raised at event 6 (KeyError)")


def test_several_events_at_which_an_application_raised_are_counted() -> None:
    """It went on behind each."""
    given = used(handed_on(WORDS))
    rows = [replace(event, result="raised") if event.of in (3, 7) else event for event in given]
    found = verdict(path(WORDS, WORDS, WORDS, handed_on(WORDS), rows))
    assert found["headline"] == "THE CLIENT'S REDUCER RAISED AT 2 EVENTS"
    assert found["summary"] == "Answer ended normally. 6 of 36 text bytes never reached the application."


def test_a_parser_that_raises_is_told_with_the_last_event_that_came_out_of_it() -> None:
    """And with its evidence."""
    wire = How("wire", end="abandoned", complete=False)
    parsed = How("parsed", end="raised", complete=False, extra=((ERROR_TYPE, "KeyError"),))
    found = verdict(path(WORDS, WORDS, WORDS[:9], WORDS[:6], wire=wire, parsed=parsed))
    assert found["headline"] == "THE CLIENT'S PARSER RAISED AFTER EVENT 5"
    assert found["why"]["seen"] == "client received 9 events"
    assert found["why"]["missing"] == "client parsed 6 events, then raised (KeyError)"


def test_an_answer_that_its_gateway_finished_is_told_with_what_it_had_read() -> None:
    """The finish is not the provider's, and the picture shows it."""
    sent = [*WORDS[:7], *WORDS[-2:]]
    egress = How("egress", legs=(LEG,), extra=((FINISH_REASONS_ATTRIBUTE, ("stop",)),))
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    found = verdict(path(WORDS[:7], sent, sent, ingress=ingress, egress=egress))
    cells = {row["point"]: row["cells"] for row in found["points"]}
    assert found["headline"] == "THE GATEWAY STOPPED READING AFTER EVENT 6 AND FINISHED THE ANSWER ITSELF, UNPROVEN"
    assert (cells["egress"], cells["wire"]) == ("ooooooo++", "ooooooooF")
    assert found["why"]["missing"] == "gateway out sent 9 events, with a finish (stop) that gateway in never read"


def test_a_gateway_that_waited_no_longer_is_told_with_its_source() -> None:
    """Who was slow is one thing, whose patience ended another."""
    words, at = answer(range(1, 7), finish=False, done=False), [0.1 * n for n in range(7)]
    found = verdict(stream(Timed(words, at, 1.8, "timeout"), Timed(words, at, 1.8), Timed(words, at, 1.8)))
    assert found["headline"] == "THE GATEWAY GAVE UP WAITING FOR THE SOURCE AFTER EVENT 6"
    assert found["ending"]["by"] == "source"
    assert found["why"]["seen"] == "gateway in read 7 events, then waited no longer (1.2 s after its last event)"


@pytest.mark.parametrize(
    ("held", "headline", "summary"),
    [
        (("wire",), "COMPLETED; THE GATEWAY HAS NOT REPORTED YET", "is not known yet: the gateway has not told all."),
        (("ingress", "egress"), "COMPLETED; THE CLIENT HAS NOT REPORTED YET", "the client has not told all."),
        (("ingress", "egress", "wire"), "COMPLETED; NO FAULT SO FAR", "lost on the way is not known yet."),
    ],
)
def test_what_has_not_come_yet_is_not_told_as_missing(held: tuple[str, ...], headline: str, summary: str) -> None:
    """As long as the verdict is provisional: a second later it may be there."""
    blocks = [block for block in path(WORDS, WORDS, WORDS, expected=("egress", "wire")) if block.point in held]
    found = judge(blocks, settled=False)
    assert found["headline"] == headline
    assert found["summary"].endswith(summary)
    assert not any("never came" in text for text in found["why"]["unknown"])


def test_an_ending_that_is_the_networks_has_its_evidence() -> None:
    """What left the gateway, and what of it came."""
    hows = {
        "ingress": How("ingress", leg=0, end="cancelled", complete=False),
        "egress": How("egress", legs=(LEG,), end="disconnected", complete=False),
        "wire": How("wire", end="reset", complete=False),
    }
    found = verdict(path(WORDS[:9], WORDS[:9], WORDS[:9], **hows))
    assert (found["ending"]["by"], found["findings"]) == ("transport", [])
    assert found["why"]["seen"] == "gateway out sent 9 events"
    assert found["why"]["missing"] == "client received 9 events, then a connection reset"


@pytest.mark.parametrize(("role", "said"), [("any", True), (None, False)])
def test_an_ending_of_which_nobody_knows_who_told_it_is_not_proven(role: str | None, said: bool) -> None:
    """As no finding is."""
    hows = {p: replace(usual(p), complete=False, role=role) for p in ("ingress", "egress", "wire")}
    found = verdict(path(WORDS[:6], WORDS[:6], WORDS[:6], **hows))
    assert (found["ending"]["by"], found["ending"]["vouched"]) == ("source", said)
    assert ("proven, final" in render(found, Style()).splitlines()[0]) is said
    assert any(text.startswith("who sent these records") for text in found["why"]["unknown"]) is not said


def test_what_a_gateway_left_out_on_purpose_is_told_first() -> None:
    """Whoever misses a word reads it in the headline, and sees where it was."""
    got = without(WORDS, 4)
    egress = How("egress", legs=(LEG,), extra=((EDITED, ("filter",)),))
    found = verdict(path(WORDS, got, got, handed_on(got), used(handed_on(got)), egress=egress))
    assert (found["integrity"], found["findings"]) == ("intact", [])
    assert found["headline"] == "COMPLETED; THE GATEWAY LEFT OUT 1 EVENT ON PURPOSE"
    assert "left out 1 event on purpose. Beside that nothing was lost" in found["summary"]
    assert [row["cells"].index("e") for row in found["points"] if row["point"] != "ingress"] == [4] * 4
    assert render(found, Style()).splitlines()[0].endswith("ON PURPOSE   final")


def test_a_body_that_broke_off_is_told_as_a_connection() -> None:
    """Not as a format that somebody broke: its gateway may have died."""
    wire = How("wire", end="protocol_error", complete=False)
    found = verdict(path(None, None, WORDS[:7], wire=wire, expected=("egress", "wire")))
    assert (found["ending"]["class"], found["ending"]["by"]) == ("protocol_violation", None)
    assert found["headline"] == "THE CONNECTION ENDED EARLY AFTER EVENT 6"
    assert found["summary"].startswith("The body broke off; by whom was not seen.")


def test_what_was_recorded_as_counts_only_is_not_told_as_lost() -> None:
    """It is a level that somebody set."""
    hows = {p: replace(usual(p), level="counters") for p in ("wire", "parsed", "applied")}
    found = verdict(path(WORDS, WORDS, WORDS, handed_on(WORDS), used(handed_on(WORDS)), **hows))
    assert "client parsed → client applied: no single events were recorded there" in "; ".join(found["why"]["unknown"])
    assert "is lost" not in "; ".join(found["why"]["unknown"])


def test_a_difference_that_lost_records_do_not_hide_is_not_said_to_be_hidden_by_them() -> None:
    """The client stopped, all records are held, and an event is another: by whatever deed."""
    sent = answer(range(1, 55))
    got = [*sent[:15], *sent[16:46], sent[15], *sent[46:50]]
    found = verdict(path(None, sent, got, wire=How("wire", end="abandoned", complete=False)))
    assert [finding["kind"] for finding in found["findings"]] == ["mismatch"]
    assert found["headline"] == "THE TRANSPORT LOST, MOVED OR CHANGED AT LEAST 1 EVENT"
    assert found["findings"][0]["sentence"].endswith("; what exactly happened cannot be told.")


def broken_off(read: int = len(WORDS), sent: int = len(WORDS), **ends: How) -> dict[str, Any]:
    """A connection that broke with an event on its way, or with more."""
    got = handed_on(WORDS[:7])
    told: dict[str, Any] = {point: How(point, end="reset", complete=False) for point in ("wire", "parsed")}
    told["applied"] = How("applied", end="reset", of="parsed")
    return verdict(path(WORDS[:read], WORDS[:sent], WORDS[:7], got, used(got), **told | ends))


GONE = How("egress", legs=(LEG,), end="disconnected", complete=False)


def test_a_connection_that_broke_is_told_before_what_was_on_its_way() -> None:
    """That cost more than the last event, of what nobody sent any more."""
    found = broken_off(9, 8, ingress=How("ingress", leg=0, end="cancelled", complete=False), egress=GONE)
    assert (found["headline"], len(found["findings"])) == ("THE TRANSPORT BROKE OFF AFTER EVENT 6", 1)
    sent = "3 of the 21 text bytes that the gateway had sent never reached the application"
    assert f"{sent}; how much more the answer had, nobody saw" in found["summary"]


def test_a_connection_that_broke_with_the_whole_answer_on_its_way() -> None:
    """How much of it was lost is known then."""
    found = broken_off()
    assert found["headline"] == f"THE TRANSPORT BROKE OFF AFTER EVENT 6 AND LOST {len(WORDS) - 7} EVENTS"
    assert "text bytes never reached the application." in found["summary"]


def test_what_else_was_lost_is_told_behind_a_connection_that_broke() -> None:
    """By whomever."""
    got = without(WORDS[:7], 2)
    ends: dict[str, Any] = {"wire": How("wire", end="reset", complete=False), "egress": GONE}
    ends["ingress"] = How("ingress", leg=0, end="cancelled", complete=False)
    found = verdict(path(WORDS[:9], WORDS[:8], got, **ends))
    assert found["headline"] == "THE TRANSPORT BROKE OFF AFTER EVENT 6 AND LOST 1 EVENT"


def test_an_answer_that_was_closed_without_its_finish_was_not_cut() -> None:
    """What came behind the finish left the gateway."""
    sent = without(WORDS, len(WORDS) - 2)
    ends = {"egress": How("egress", legs=(LEG,), complete=False), "wire": How("wire", complete=False)}
    lost = len(WORDS) - 2
    found = verdict(path(WORDS, sent, sent, **ends))
    assert found["short"] == f"GATEWAY ended without a finish; GATEWAY lost event {lost}"


@pytest.mark.parametrize(
    ("event", "told"),
    [(Event(99), "What it says is another as well."), (replace(WORDS[5], payload=4711), "What it says is the same.")],
)
def test_bytes_that_changed_are_told_with_whether_the_words_did(event: Event, told: str) -> None:
    """The digest of what an event says is in both records."""
    got = [*WORDS[:5], event, *WORDS[6:]]
    found = verdict(path(WORDS, WORDS, got))
    assert [finding["kind"] for finding in found["findings"]] == ["corrupt"]
    assert found["findings"][0]["sentence"].endswith(f"that the gateway sent. {told}")


def test_of_bytes_that_changed_nothing_more_is_told_where_places_moved() -> None:
    """Which event is which is not known then."""
    got = [*WORDS[:3], *WORDS[4:8], Event(99), *WORDS[9:]]
    assert "What it says" not in str(verdict(path(WORDS, WORDS, got))["findings"])
