"""A finding's proof is data: which case holds, and the numbers that were compared, so that anybody can check it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import (
    FINISHED,
    LEG,
    Event,
    How,
    answer,
    handed_on,
    path,
    sums,
    used,
    usual,
)
from streamwitness.semconv import PROVIDER_NAME, TERMINAL, USAGE
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.judge.compare.change import CASES
from tests.analyzer.judge.test_hops import hop, without

WORDS = answer(range(1, 31))
SHORT = without(WORDS, 12)


def proof(verdict: dict[str, Any]) -> dict[str, Any]:
    """The proof of the first finding."""
    return dict(verdict["findings"][0]["proof"])


def _side(events: Sequence[Event], *, closed: bool = True, lost: int = 0) -> dict[str, Any]:
    """One side of a comparison by payload."""
    s, o = sums([event.digest for event in events])
    judged = sum(event.judged for event in events)
    return {
        "events": len(events), "judged": judged, "s": f"{s:016x}", "o": f"{o:016x}", "closed": closed,
        "lost_rows": lost,
    }  # fmt: skip


def test_both_totals_are_told_with_what_is_equal() -> None:
    """Case (a): the counts and sums of both points, the equal ends, and the rows that are not held between them."""
    assert proof(hop(WORDS, SHORT)) == {
        "case": "totals",
        "axis": "payload",
        "equal_prefix": 12,
        "equal_suffix": len(WORDS) - 13,
        "seen": _side(WORDS),
        "missing": _side(SHORT),
    }


def test_lost_rows_between_are_counted() -> None:
    """Case (a), with a block of each point lost."""
    found = proof(hop(WORDS, SHORT, cuts=(10, 20), lost=[("egress", 1), ("wire", 1)]))
    assert (found["case"], found["equal_prefix"], found["equal_suffix"]) == ("totals", 10, 12)
    assert (found["seen"]["lost_rows"], found["missing"]["lost_rows"]) == (10, 10)


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        ("order_at_known_place", lambda: hop(WORDS, SHORT[:25], end="cancelled")),
        ("more_than_sent", lambda: hop(WORDS, [*WORDS, Event(7)], end="cancelled")),
        ("fewer_than_sent", lambda: hop(WORDS, WORDS[:9], cuts=(20,), no_closing="egress")),
        ("by_count", lambda: hop(WORDS, SHORT, level="counters")),
    ],
)
def test_each_other_case_has_its_word(case: str, verdict: Any) -> None:
    """Cases (b), (c), (d), and counts where no digest was recorded."""
    assert proof(verdict())["case"] == case


def test_an_application_is_proven_by_name() -> None:
    """Its rows say which event they are of; no sums are compared."""
    applied = used(WORDS[:-1])
    blocks = path(WORDS, WORDS, WORDS, WORDS[:-1], without(applied, 5))
    found = proof(judge(blocks, settled=True))
    assert (found["case"], found["axis"], found["seen"]["s"]) == ("by_name", None, None)


def test_a_terminator_is_proven_by_the_envelope() -> None:
    """One that no upstream answer had."""
    broken = WORDS[:9]
    egress = How("egress", legs=(LEG,), expected=("ingress",))
    blocks = [*usual("ingress").blocks(broken), *egress.blocks([*broken, Event(parts=TERMINAL)])]
    assert proof(judge(blocks, settled=True))["case"] == "envelope"


def test_an_end_that_repeats_itself_is_not_said_to_be_lost_as_a_whole() -> None:
    """Which of ten equal events is lost, nobody knows: one of them, and not everything from the first on."""
    equal = answer([7] * 10, finish=False, done=False)
    verdict = hop(equal, without(equal, 4))
    assert verdict["findings"][0]["kind"] == "tail"
    assert verdict["short"].endswith("TRANSPORT lost 1 of events 1–10")
    assert verdict["findings"][0]["sentence"].startswith("1 event that the gateway sent never reached")


def test_every_case_is_explained() -> None:
    """A word that stands in a document has its sentence."""
    words = {"totals", "order_at_known_place", "more_than_sent", "fewer_than_sent", "by_count", "by_name", "by_number"}
    assert words <= CASES.keys()
    assert all(text for text in CASES.values())


@pytest.mark.parametrize(
    ("lost", "headline", "listed"),
    [
        (
            (3, 12),
            "THE TRANSPORT LOST 2 EVENTS",
            ["TRANSPORT lost event 3", "TRANSPORT lost event 12"],
        ),
        (
            (3, 9, 15, 21),
            "THE TRANSPORT LOST 4 EVENTS",
            ["TRANSPORT lost event 3", "TRANSPORT lost event 9", "2 more findings"],
        ),
    ],
)
def test_a_list_has_room_for_some_findings(lost: tuple[int, ...], headline: str, listed: list[str]) -> None:
    """The rest by their number, which is one of findings and not of events; a headline has the sum."""
    verdict = hop(WORDS, without(WORDS, *lost))
    assert verdict["headline"] == headline
    assert verdict["short"].split("; ")[-len(listed) :] == listed


@pytest.mark.parametrize(("sent", "noted"), [(True, []), (False, ["usage_kept"])])
def test_usage_that_a_gateway_keeps_is_noted(sent: bool, noted: list[str]) -> None:
    """Events without output may go, and nobody is accused; who counts tokens by them should know."""
    read = [*WORDS[:-1], Event(parts=USAGE), WORDS[-1]]
    passed = read if sent else WORDS
    verdict = judge(path(read, passed, passed), settled=True)
    assert (verdict["integrity"], [note["kind"] for note in verdict["notes"]]) == ("intact", noted)


@pytest.mark.parametrize(("done", "noted"), [(True, []), (False, ["no_terminator"])])
def test_a_terminator_that_a_provider_owes_is_noted(done: bool, noted: list[str]) -> None:
    """A finish and a clean end are the whole answer; that `[DONE]` did not follow is told."""
    words = answer(range(1, 10), done=done)
    ingress = How("ingress", leg=0, complete=True, extra=((PROVIDER_NAME, "openai"),))
    verdict = judge(path(words, words, words, ingress=ingress), settled=True)
    assert (verdict["integrity"], [note["kind"] for note in verdict["notes"]]) == ("intact", noted)


def test_an_end_of_which_the_terminator_came_is_no_end_that_never_came() -> None:
    """What stands behind the lost finish came: it is told as what is missing, with its neighbours."""
    sent = answer(range(1, 6))
    got = [event for event in sent if event.text != FINISHED]
    parsed = How("parsed")
    finding = judge(path(None, sent, sent, got, parsed=parsed), settled=True)["findings"][0]
    assert finding["kind"] == "tail"
    assert finding["sentence"] == "1 event (the finish) that the client received never came out of the client's parser."
    assert "parsed 5, then 7" in finding["evidence"]["missing"]


def test_a_finish_lost_by_a_gateway_is_seen_in_its_place() -> None:
    """However the gateway cut the rest: most of its events are those that it read."""
    sent = answer(range(1, 6))
    got = [event for event in sent if event.text != FINISHED]
    slots = ("0/text/0 00c0ffee 15",)
    ingress, egress = How("ingress", leg=0, slots=slots), How("egress", legs=(LEG,), slots=slots)
    verdict = judge(path(sent, got, got, ingress=ingress, egress=egress), settled=True)
    cells = {row["point"]: row["cells"] for row in verdict["points"]}
    assert (cells["ingress"], cells["egress"]) == ("oooooooF", "ooooooxF")


def test_a_point_whose_rows_are_lost_does_not_hide_where_another_lost_something() -> None:
    """Its totals prove it the same as its neighbours."""
    sent = answer(range(1, 6))
    blocks = path(None, sent, sent, handed_on([*sent[:3], *sent[4:]]))
    bare = [replace(b, rows=None, summary=True) if b.point == "egress" else b for b in blocks]
    cells = {row["point"]: row["cells"] for row in judge(bare, settled=True)["points"]}
    assert cells["parsed"][3] == "x"


def test_points_stand_in_the_order_of_the_way() -> None:
    """Also those of which no record came."""
    sent = answer(range(1, 6))
    blocks = [b for b in path(sent, sent, sent, handed_on(sent)) if b.point != "egress"]
    assert [row["point"] for row in judge(blocks, settled=True)["points"]] == ["ingress", "egress", "wire", "parsed"]


def test_a_place_behind_lost_rows_is_the_range_that_is_possible() -> None:
    """The network doubled an event in a stretch of which nothing is held: not "near event 0"."""
    sent = answer([1, 2, 3, 4, 5, 6] * 5)
    twice = [*sent[:20], sent[19], *sent[20:]]
    handed = handed_on(twice)
    applied = [*used(handed)[:15], used(handed)[14], *used(handed)[15:]]
    blocks = path(None, sent, twice, handed, applied, cuts=lambda n: [n - 2])
    held = [block for block in blocks if block.point != "wire" or block.final]
    (finding,) = [f for f in judge(held, settled=True)["findings"] if f["suspects"] == ["reducer"]]
    assert (finding["about"], finding["sequence"][0] <= 14 <= finding["sequence"][1]) == (True, True)


def told_in_a_row() -> dict[str, Any]:
    """A gateway, a parser and an application that lost an event each, two of them neighbours."""
    sent = without(WORDS, 3)
    parsed = without(handed_on(sent), 3)
    return judge(path(WORDS, sent, sent, parsed, without(used(parsed), 9)), settled=True)


def test_a_report_numbers_its_events_in_one_way() -> None:
    """Where a gateway lost one, what is told of the client has the numbers that the picture has, too."""
    verdict = told_in_a_row()
    rows = {row["point"]: row["cells"] for row in verdict["points"]}
    marked = [rows["egress"].rindex("x"), rows["parsed"].rindex("x"), rows["applied"].rindex("x")]
    assert marked == [3, 4, 11]
    assert verdict["short"] == "GATEWAY lost event 3; PARSER lost event 4; REDUCER lost event 11"
    seen = [finding["evidence"]["seen"] for finding in verdict["findings"]]
    assert [f"event {at}" in text for at, text in zip(marked, seen, strict=True)] == [True] * 3
    assert [finding["axis"] for finding in verdict["findings"]] == ["ingress", "egress", "egress"]


def test_neighbours_of_a_loss_are_those_that_its_point_had() -> None:
    """Not the number before it, of an event that had been lost on the way there."""
    _, parser, reducer = told_in_a_row()["findings"]
    assert "parsed 2, then 5" in parser["evidence"]["missing"]
    assert "applied 10, then 12" in reducer["evidence"]["missing"]


def test_an_early_end_is_told_by_the_numbers_of_the_findings() -> None:
    """The client had nine events when it cancelled; the last of them is the tenth of the picture."""
    got = without(WORDS, 3)[:9]
    blocks = path(WORDS, without(WORDS, 3), got, wire=How("wire", end="cancelled", complete=False))
    assert judge(blocks, settled=True)["short"] == "cancelled by the client after event 9; GATEWAY lost event 3"
